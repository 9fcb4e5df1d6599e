"""Reads a line, does it, answers a line: SPEC sections 1 to 3."""

from __future__ import annotations

import json
import os
import platform
import select
import signal
import sys
import time
import traceback
from threading import Thread

import pymongo4 as dialect
from documents import PARTS, clock_ns, render
from phase import MESSAGE_MAX, NO_CLIENTS, Clients, Refusal

PROTOCOL = 2


def send(kind: str, **fields) -> None:
    print("\x1e" + json.dumps({"type": kind, **fields}, separators=(",", ":")), flush=True)


def parse(line: bytes) -> dict:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise Refusal("protocol", f"not a line of JSON: {fault}") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise Refusal("protocol", "not an object with a type")
    return message


def require(condition: bool, reason: str, code: str = "unsupported") -> None:
    if not condition:
        raise Refusal(code, reason)


class Adapter:
    """`phase` and `concurrency` are a program's own; so is `consumer`, where it has one."""

    phase = consumer = consumer_ns = None
    concurrency = {}

    def __init__(self):
        self.capabilities = {
            "operations": list(PARTS),
            "pacing": ["awaited", "think", "window", "rate", "burst"],
            "extras": dialect.EXTRAS,
            "shapes": [],
            "alters": [],
            "uri": "standard",
            "consumer_ns": self.consumer_ns,
            "concurrency": self.concurrency,
        }
        self.epoch_ns = self.current = None
        self.clients = NO_CLIENTS
        self.done = False

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self.stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the core's, which then tells us
        Thread(target=self.watch, daemon=True).start()
        while not self.done:
            line = sys.stdin.buffer.readline()
            if not line:
                return
            self.answer(line)

    def watch(self) -> None:
        """Ends the process at the end of stdin in a turn: who reads the lines waits for that."""
        hangup = select.poll()
        hangup.register(sys.stdin, 0)  # a hangup is told in any case
        hangup.poll()
        while not self.in_turn():
            time.sleep(0.05)
        os._exit(0)

    def in_turn(self) -> bool:
        return self.current is not None and self.current.running

    def stop(self, *_) -> None:
        self.done = True
        if not self.in_turn():
            raise SystemExit(0)
        self.current.deadline_ns = 0  # nothing new is begun; the turn ends as every turn does

    def answer(self, line: bytes) -> None:
        try:
            handle, message = self.handler(line)
            kind, fields = handle(message)
        except Exception as fault:
            self.refuse(fault)
        else:
            self.reply(kind, fields)

    def reply(self, kind: str, fields: dict) -> None:
        if kind != "turn_done" or not self.done:  # a turn that was stopped has no answer
            send(kind, **fields)

    def handler(self, line: bytes):
        """The method for a line, and the message in it."""
        message = parse(line)
        handle = getattr(self, f"on_{message['type']}", None)
        require(handle is not None, f"unknown type {message['type']}", "protocol")
        return handle, message

    def refuse(self, fault: Exception) -> None:
        code = fault.code if isinstance(fault, Refusal) else "internal"
        if code == "internal":
            traceback.print_exception(type(fault), fault, fault.__traceback__)
        message = str(fault) if isinstance(fault, Refusal) else f"{type(fault).__name__}: {fault}"
        send("error", code=code, message=message[:MESSAGE_MAX])

    def on_hello(self, message: dict):
        require(message["protocol"] == PROTOCOL, f"protocol {PROTOCOL} only", "protocol")
        self.epoch_ns = int(message["epoch_ns"])
        clock = time.get_clock_info("monotonic")
        posix = "CLOCK_MONOTONIC" in clock.implementation
        source = "CLOCK_MONOTONIC" if posix else clock.implementation
        arguments = getattr(sys, "orig_argv", sys.argv)  # 3.9 does not tell its own flags
        flags = arguments[1 : len(arguments) - len(sys.argv)]
        python = platform.python_implementation()
        return "hello", {
            "protocol": PROTOCOL,
            "adapter": "python",
            "driver": dialect.driver(),
            "runtime": {"name": python, "version": platform.python_version(), "flags": flags},
            "clock": {"source": source, "resolution_ns": max(1, round(clock.resolution * 1e9))},
            "capabilities": self.capabilities,
        }

    def on_clock(self, message: dict):
        return "clock", {"now_ns": clock_ns() - self.epoch_ns}

    def on_open(self, message: dict):
        clients = []
        try:
            for target in message["clients"]:
                clients.append(dialect.connect(target))
                clients[-1].admin.command("ping")
        except Exception as fault:
            for client in clients:
                client.close()
            raise refused(fault) from None
        return self.opened(clients, message)

    def opened(self, clients: list, message: dict):
        answer = dialect.opened(clients[0])
        self.clients = Clients(clients, message["deal"], message["database"])
        return "opened", answer

    def on_prepare(self, message: dict):
        if "consumer" in message:
            require(self.consumer is not None, "no consumer here")
            self.current = self.consumer(message, self.clients, self.epoch_ns)
            return "ready", {}
        for operation in message["operations"]:
            require(operation["kind"] in PARTS, f"operation {operation['kind']}")
            require(not operation.get("shape"), f"shape {operation.get('shape')}")
        mode = message["pacing"]["mode"]
        require(mode in self.capabilities["pacing"], f"pacing {mode}")
        self.current = self.phase(message, self.clients, self.epoch_ns)
        return "ready", {}

    def on_turn(self, message: dict):
        return "turn_done", self.current.turn(message["until_ns"])

    def on_end(self, message: dict):
        phase, self.current = self.current, None
        return "ended", phase.end()

    def on_close(self, message: dict):
        if self.clients is not NO_CLIENTS:
            for client in self.clients.all:
                client.close()
        self.done = True
        return "closed", {}

    def on_render(self, message: dict):
        return "rendered", {"bson": render(message).hex()}


def refused(fault: Exception) -> Exception:
    """The error of a failed connection."""
    code = dialect.refused(fault)
    return Refusal(code, str(fault)) if code else fault
