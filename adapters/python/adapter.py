"""mongodyno's adapter of PyMongo: reads a line, does it, answers a line. SPEC sections 1 to 3.

`adapter.py asyncio` has tasks as workers, otherwise they are threads.
"""

import json
import os
import platform
import select
import signal
import sys
import time
import traceback
from threading import Thread

import dialect
from consumer import Consumer, StreamConsumer
from documents import clock_ns, render
from phase import told

PROTOCOL = 2
PACINGS = ["awaited", "think", "window", "rate", "burst"]


class Refusal(Exception):
    """A message that is answered with an `error` of this code."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def require(condition, reason, code="unsupported"):
    if not condition:
        raise Refusal(code, reason)


def parse(line):
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise Refusal("protocol", f"not a line of JSON: {fault}") from None
    require(isinstance(message, dict), "not a JSON object", "protocol")
    return message


def send(kind, **fields):
    print("\x1e" + json.dumps({"type": kind, **fields}, separators=(",", ":")), flush=True)


class Adapter:
    def __init__(self, model):
        self.model, self.current = model, None
        # No-ops may come before `open`.
        self.session = {"clients": [None], "deal": "worker", "database": ""}
        self.in_turn = self.stopped = False

    def run(self):
        signal.signal(signal.SIGTERM, self.stop)
        Thread(target=self.watch, daemon=True).start()
        self.model.run(self.converse)

    def converse(self):
        for line in iter(sys.stdin.buffer.readline, b""):
            try:
                message = parse(line)
                handle = getattr(self, f"on_{message.get('type')}", None)
                require(handle, "a message of unknown type", "protocol")
                handle(message)
            except Exception as fault:
                traceback.print_exception(type(fault), fault, fault.__traceback__)
                code = fault.code if isinstance(fault, Refusal) else "internal"
                send("error", code=code, message=told(fault))
        os._exit(0)

    def watch(self):
        """Ends the process at the end of stdin in a turn, when the reader of lines is waiting."""
        hangup = select.poll()
        hangup.register(sys.stdin, 0)  # poll reports a hangup in any case
        hangup.poll()
        while not self.in_turn:
            time.sleep(0.05)
        os._exit(0)

    def stop(self, *_):
        self.stopped = True  # first: the turn may end in another thread meanwhile
        if not self.in_turn:
            os._exit(0)
        self.current.deadline_ns = 0  # nothing new is begun; the turn ends as every turn does

    def on_hello(self, message):
        require(message["protocol"] == PROTOCOL, f"protocol {PROTOCOL} only", "protocol")
        self.epoch_ns = int(message["epoch_ns"])
        send("hello", protocol=PROTOCOL, adapter="python", driver=dialect.driver(), runtime={
            "name": platform.python_implementation(),
            "version": platform.python_version(),
            "flags": getattr(sys, "orig_argv", [])[1 : -len(sys.argv)],  # 3.9 does not report them
        }, clock={
            "source": "CLOCK_MONOTONIC",  # of time.monotonic_ns on Linux
            "resolution_ns": round(time.get_clock_info("monotonic").resolution * 1e9),
        }, capabilities={
            "operations": list(dialect.KINDS), "pacing": PACINGS, "extras": dialect.EXTRAS,
            "shapes": [], "alters": [], "uri": "standard", "consumer_ns": self.model.consumer_ns,
            "concurrency": self.model.concurrency,
        })  # fmt: skip

    def on_clock(self, message):
        send("clock", now_ns=clock_ns() - self.epoch_ns)

    def on_open(self, message):
        clients = []
        try:
            for target in message["clients"]:
                clients.append(self.model.wait(self.model.api.connect(target["uri"])))
                self.model.wait(clients[-1].admin.command("ping"))
        except Exception as fault:
            for client in clients:
                self.model.wait(client.close())
            raise Refusal(dialect.refusal(fault), str(fault)) from fault
        self.session = {**message, "clients": clients}
        send("opened", **dialect.opened(clients[0]))

    def on_prepare(self, message):
        if "consumer" in message:
            streams = message["consumer"].get("change_stream")
            reader = StreamConsumer if streams else Consumer
            self.current = reader(message, self.session, self.epoch_ns)
        else:
            mode = message["pacing"]["mode"]
            require(mode in PACINGS, f"pacing {mode}")
            for operation in message["operations"]:
                kind, shape = operation["kind"], operation.get("shape")
                require(kind in dialect.KINDS and not shape, f"operation {kind}, shape {shape}")
            self.current = self.model(message, self.session, self.epoch_ns)
        send("ready")

    def on_turn(self, message):
        self.current.deadline_ns = message["until_ns"] + self.epoch_ns
        self.in_turn = True
        try:
            done = self.model.wait(self.current.turn())
        finally:
            self.in_turn = False
            if self.stopped:
                os._exit(0)  # the samples are written; a stopped turn has no answer
        send("turn_done", **done)

    def on_end(self, message):
        send("ended", **self.model.wait(self.current.end()))

    def on_close(self, message):
        for client in filter(None, self.session["clients"]):
            self.model.wait(client.close())
        send("closed")
        os._exit(0)

    def on_render(self, message):
        send("rendered", bson=render(message).hex())


if __name__ == "__main__":
    if sys.argv[1:] == ["asyncio"]:
        from tasks import TaskPhase as Phase
    else:
        from threads import ThreadPhase as Phase
    Adapter(Phase).run()
