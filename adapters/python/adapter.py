"""mongodyno's adapter of PyMongo: reads a line, does it, answers a line."""

from __future__ import annotations

import platform
import signal
import sys
import time
import traceback

import bson
import pymongo
from pymongo.errors import ConnectionFailure, OperationFailure

from consumer import Consumer
from operations import KINDS
from phase import clock_ns
from protocol import Refusal, masked, parse, render, send
from worker import ThreadPhase

PROTOCOL = 1
AUTH_CODES = (18, 334, 8000)  # AuthenticationFailed, MechanismUnavailable, Atlas' own


def require(condition: bool, reason: str, code: str = "protocol") -> None:
    if not condition:
        raise Refusal(code, reason)


class Adapter:
    phases = {"worker": ThreadPhase, "consumer": Consumer}  # by role
    capabilities = {
        "operations": list(KINDS),
        "roles": list(phases),
        "pacing": ["awaited", "window", "rate", "burst"],
        "document_forms": ["native"],
        "concurrency": {"kind": "threads", "max": None},
        "stop": "sigterm",
        "noop_makes": True,
    }

    def __init__(self):
        self.epoch_ns = self.client = self.database = self.phase = None
        self.uri = ""
        self.done = False

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self.stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the core's, which then tells us
        while not self.done:
            line = sys.stdin.buffer.readline()
            if not line:
                return
            self.answer(line)

    def stop(self, *_) -> None:
        self.done = True
        if self.phase is None or not self.phase.running:
            raise SystemExit(0)
        self.phase.deadline_ns = 0  # nothing new is issued; the turn ends as every turn does

    def answer(self, line: bytes) -> None:
        try:
            handle, message = self.handler(line)
            kind, fields = handle(message)
        except Exception as fault:
            self.refuse(fault)
        else:
            send(kind, **fields)

    def handler(self, line: bytes):
        """The method for a line, and the message in it."""
        message = parse(line)
        handle = getattr(self, f"on_{message['type']}", None)
        require(handle is not None, f"unknown type {message['type']}")
        early = self.epoch_ns is None and message["type"] not in ("hello", "close")
        require(not early, f"{message['type']} before hello")
        return handle, message

    def refuse(self, fault: Exception) -> None:
        if isinstance(fault, Refusal):
            code, message = fault.code, str(fault)
        elif isinstance(fault, KeyError):
            code, message = "protocol", f"missing or unknown: {fault}"
        else:
            code, message = "internal", f"{type(fault).__name__}: {fault}"
            trace = "".join(traceback.format_exception(type(fault), fault, fault.__traceback__))
            print(masked(trace, self.uri), file=sys.stderr, flush=True)
        send("error", code=code, message=masked(message, self.uri))

    def require_supported(self, name: str, values) -> None:
        for value in values:
            require(value in self.capabilities[name], f"{name}: {value}", "unsupported")

    def on_hello(self, message: dict):
        versions = message["protocol"]
        require(self.epoch_ns is None, "hello a second time")
        require(versions["min"] <= PROTOCOL <= versions["max"], f"protocol {PROTOCOL} only")
        self.epoch_ns = int(message["epoch_ns"])
        clock = time.get_clock_info("monotonic")
        posix = "CLOCK_MONOTONIC" in clock.implementation
        source = "CLOCK_MONOTONIC" if posix else clock.implementation
        arguments = getattr(sys, "orig_argv", sys.argv)  # 3.9 does not tell its own flags
        flags = arguments[1 : len(arguments) - len(sys.argv)]
        native = bson.has_c() and pymongo.has_c()
        python = platform.python_implementation()
        return "hello", {
            "protocol": PROTOCOL,
            "adapter": "python",
            "driver": {"name": "pymongo", "version": pymongo.version, "native": native},
            "runtime": {"name": python, "version": platform.python_version(), "flags": flags},
            "clock": {"source": source, "resolution_ns": max(1, round(clock.resolution * 1e9))},
            "capabilities": self.capabilities,
        }

    def on_clock(self, message: dict):
        return "clock", {"now_ns": clock_ns() - self.epoch_ns}

    def on_open(self, message: dict):
        self.before_open(message)
        client = None
        try:
            client = pymongo.MongoClient(self.uri)
            client.admin.command("ping")
            return self.opened(client, client.server_info(), message["database"])
        except Exception as fault:
            if client is not None:
                client.close()
            raise refused(fault) from None

    def before_open(self, message: dict) -> None:
        require(self.client is None, "open a second time")
        self.require_supported("roles", [message["role"]])
        self.uri = message["uri"]

    def opened(self, client, server_info: dict, database: str):
        described = client.topology_description.server_descriptions().values()
        wire = max(each.max_wire_version for each in described)
        server = {"version": server_info["version"], "max_wire_version": wire}
        answer = {"resolved": resolved(client), "server": server}
        self.client, self.database = client, client[database]
        return "opened", answer

    def on_prepare(self, message: dict):
        require(self.phase is None, "prepare before the end of the last phase")
        self.require_supported("roles", [message["role"]])
        needs_server = message["role"] == "consumer"
        if not needs_server:
            kinds = {operation["kind"] for operation in message["operations"]}
            self.require_supported("operations", kinds)
            self.require_supported("pacing", [message["pacing"]["mode"]])
            self.require_supported("document_forms", [message["document_form"]])
            needs_server = not kinds <= {"noop"}
        require(self.client is not None or not needs_server, "prepare before open")
        self.phase = self.phases[message["role"]](message, self.database, self.epoch_ns)
        return "armed", {}

    def on_turn(self, message: dict):
        return "turned", self.armed().turn(message["start_ns"], message["until_ns"])

    def armed(self):
        require(self.phase is not None, "turn before prepare")
        return self.phase

    def on_end(self, message: dict):
        require(self.phase is not None, "end before prepare")
        phase, self.phase = self.phase, None
        ended = phase.end()
        for error in ended["errors"]:
            # Masked first and cut then, or half a password may be left at the cut.
            error["message"] = masked(error["message"], self.uri)[:500]
        return "ended", ended

    def on_close(self, message: dict):
        if self.client is not None:
            self.client.close()
        self.done = True
        return "closed", {}

    def on_render(self, message: dict):
        return "rendered", {"bson": bson.encode(render(message)).hex()}


def resolved(client) -> dict:
    pool = client.options.pool_options
    # The driver tells these two by private properties only, which 4.0 to 4.20 all have.
    compression = getattr(pool, "_compression_settings", None)
    tls = pool._ssl_context is not None if hasattr(pool, "_ssl_context") else None
    return {
        "max_pool_size": pool.max_pool_size,
        "min_pool_size": pool.min_pool_size,
        "write_concern": client.write_concern.document,
        "read_concern": client.read_concern.level,
        "read_preference": client.read_preference.mongos_mode,
        "compressors": compression.compressors if compression else [],
        "retry_writes": client.options.retry_writes,
        "retry_reads": client.options.retry_reads,
        "tls": tls,
        "commands": {"count": "aggregate"},  # count_documents
    }


def refused(fault: Exception) -> Exception:
    """The error of a failed connection."""
    if isinstance(fault, ConnectionFailure):
        return Refusal("connect", str(fault))
    if isinstance(fault, OperationFailure) and fault.code in AUTH_CODES:
        return Refusal("auth", str(fault))
    return fault


if __name__ == "__main__":
    Adapter().run()
