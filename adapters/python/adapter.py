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

from operations import KINDS
from protocol import Refusal, masked, parse, render, send
from worker import Phase, clock_ns

PROTOCOL = 1
CAPABILITIES = {
    "operations": list(KINDS),
    "roles": ["worker"],
    "pacing": ["awaited", "rate", "burst"],  # no window: a call blocks its worker
    "document_forms": ["native"],
    "concurrency": {"kind": "threads", "max": None},
    "stop": "sigterm",
}
AUTH_CODES = (18, 334, 8000)  # AuthenticationFailed, MechanismUnavailable, Atlas' own


def require(condition: bool, reason: str, code: str = "protocol") -> None:
    if not condition:
        raise Refusal(code, reason)


def require_supported(name: str, values: list) -> None:
    for value in values:
        require(value in CAPABILITIES[name], f"{name}: {value}", "unsupported")


class Adapter:
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

    def stop(self, signum, frame) -> None:
        self.done = True
        if self.phase is None or not self.phase.running:
            raise SystemExit(0)
        self.phase.deadline_ns = 0  # nothing new is issued; the turn ends as every turn does

    def answer(self, line: bytes) -> None:
        try:
            message = parse(line)
            handle = getattr(self, f"on_{message['type']}", None)
            require(handle is not None, f"unknown type {message['type']}")
            early = self.epoch_ns is None and message["type"] not in ("hello", "close")
            require(not early, f"{message['type']} before hello")
            kind, fields = handle(message)
        except Refusal as refusal:
            self.refuse(refusal.code, str(refusal))
        except KeyError as missing:
            self.refuse("protocol", f"missing or unknown: {missing}")
        except Exception as fault:
            print(masked(traceback.format_exc(), self.uri), file=sys.stderr, flush=True)
            self.refuse("internal", f"{type(fault).__name__}: {fault}")
        else:
            send(kind, **fields)

    def refuse(self, code: str, message: str) -> None:
        send("error", code=code, message=masked(message, self.uri))

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
            "capabilities": CAPABILITIES,
        }

    def on_clock(self, message: dict):
        return "clock", {"now_ns": clock_ns() - self.epoch_ns}

    def on_open(self, message: dict):
        require(self.client is None, "open a second time")
        require_supported("roles", [message["role"]])
        self.uri = message["uri"]
        client = None
        try:
            client = pymongo.MongoClient(self.uri)
            self.database = client[message["database"]]
            client.admin.command("ping")
            answer = {"resolved": resolved(client), "server": server(client)}
        except Exception as fault:
            self.database = None
            if client is not None:
                client.close()
            require(not isinstance(fault, ConnectionFailure), str(fault), "connect")
            refused = isinstance(fault, OperationFailure) and fault.code in AUTH_CODES
            require(not refused, str(fault), "auth")
            raise
        self.client = client
        return "opened", answer

    def on_prepare(self, message: dict):
        require(self.phase is None, "prepare before the end of the last phase")
        kinds = [operation["kind"] for operation in message["operations"]]
        require_supported("roles", [message["role"]])
        require_supported("operations", kinds)
        require_supported("pacing", [message["pacing"]["mode"]])
        require_supported("document_forms", [message["document_form"]])
        require(self.client is not None or {*kinds} <= {"noop"}, "prepare before open")
        self.phase = Phase(message, self.database, self.epoch_ns)
        return "armed", {}

    def on_turn(self, message: dict):
        require(self.phase is not None, "turn before prepare")
        return "turned", self.phase.turn(message["start_ns"], message["until_ns"])

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
        "compressors": compression.compressors if compression else None,
        "retry_writes": client.options.retry_writes,
        "retry_reads": client.options.retry_reads,
        "tls": tls,
    }


def server(client) -> dict:
    described = client.topology_description.server_descriptions().values()
    return {
        "version": client.server_info()["version"],
        "max_wire_version": max(each.max_wire_version for each in described),
    }


if __name__ == "__main__":
    Adapter().run()
