"""Shared by the adapter's tests: a program as a child process, spoken to line by line."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import bson
from pymongo import MongoClient

HERE = Path(__file__).resolve().parent
VECTORS = Path(os.environ.get("MDYN_VECTORS") or HERE / "../../protocol/vectors")
URI = os.environ.get("MDYN_URI")
FOREVER_NS = 2**53 - 1


def schedule(records, slices=1, guids=False, lap_ns=0) -> bytes:
    layout = struct.Struct("<QQIB3x16s" if guids else "<QQIB3x")
    head = struct.pack("<8sIIIIQ", b"MDYNSCH1", layout.size, len(records), slices, 0, lap_ns)
    return head + b"".join(layout.pack(*record) for record in records)


class Process:
    """An adapter as a child, spoken to line by line."""

    def __init__(self, folder: str, program: str):
        self.folder = Path(folder)
        self.log = (self.folder / "stderr").open("wb")
        self.epoch_ns = time.monotonic_ns()
        self.child = subprocess.Popen(
            [sys.executable, program],
            cwd=HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()
        self.log.close()

    def write(self, line: str) -> None:
        self.child.stdin.write(line.encode() + b"\n")
        self.child.stdin.flush()

    def read(self) -> dict:
        line = self.child.stdout.readline()
        assert line.startswith(b'{"type":'), line
        return json.loads(line)

    def ask(self, kind: str, **fields) -> dict:
        self.write(json.dumps({"type": kind, **fields}))
        return self.read()

    def hello(self) -> dict:
        return self.ask("hello", protocol={"min": 1, "max": 1}, epoch_ns=str(self.epoch_ns))

    def prepare(self, operations, records, pool=(), **changes) -> dict:
        workers = changes.get("workers", 1)
        queued = changes.get("pacing", {}).get("mode") in ("rate", "burst")
        slices = 1 if queued else workers
        written = schedule(records, slices, len(records[0]) == 5, changes.pop("lap_ns", 0))
        (self.folder / "schedule").write_bytes(written)
        (self.folder / "pool").write_bytes(b"".join(map(bson.encode, pool)))
        message = {
            "phase": "p", "role": "worker", "warmup": False, "document_form": "native",
            "samples": str(self.folder / "samples"), "schedule": str(self.folder / "schedule"),
            "pools": [str(self.folder / "pool")] if pool else [], "workers": 1,
            "first_worker": 0, "limits": [len(records) // slices] * slices,
            "pacing": {"mode": "awaited", "think_ns": 0}, "errors_consecutive_max": 10,
            "counter": {"first": 100, "stride": 4, "loaded": 100}, "operations": operations,
        }  # fmt: skip
        return self.ask("prepare", **{**message, **changes})

    def turn(self, last_ns: int = FOREVER_NS, start_ns: int = 0) -> dict:
        return self.ask("turn", start_ns=start_ns, until_ns=last_ns)

    def now_ns(self) -> int:
        return time.monotonic_ns() - self.epoch_ns

    def samples(self) -> list:
        return list(struct.iter_unpack("<QQQIBBH", (self.folder / "samples").read_bytes()))


NOOP = {"name": "noop", "kind": "noop", "key": "schedule"}


class Case(unittest.TestCase):
    program = "adapter.py"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self) -> Process:
        process = Process(self.folder, self.program)
        self.addCleanup(process.__exit__)
        return process

    def ready(self) -> Process:
        process = self.start()
        self.assertEqual(process.hello()["type"], "hello")
        return process

    def assert_answers(self, expected, answer):
        if expected == "$any":
            return
        if isinstance(expected, dict):
            for name, value in expected.items():
                self.assertIn(name, answer)
                self.assert_answers(value, answer[name])
        else:
            self.assertEqual(expected, answer)


@unittest.skipUnless(URI, "MDYN_URI names no server")
class ServerCase(Case):
    KEY = [{"path": ["_id"], "as": "int64", "from": "key"}]
    FILTER = {"document": {"_id": {"$numberLong": "0"}}, "stamps": KEY}
    POOL = ({"_id": bson.Int64(0), "number": 5, "in": {"list": [1, {"x": 2}]}},)

    def setUp(self):
        super().setUp()
        self.client = MongoClient(URI)
        self.addCleanup(self.client.close)
        self.name = f"mdyn_python_{os.getpid()}"
        self.addCleanup(self.client.drop_database, self.name)
        self.items = self.client[self.name]["items"]

    def opened(self, role: str = "worker") -> Process:
        process = self.ready()
        opened = process.ask("open", uri=URI, database=self.name, role=role)
        self.assertEqual(opened["type"], "opened", opened)
        self.assertEqual(opened["server"]["version"], self.client.server_info()["version"])
        pool = self.client.options.pool_options
        self.assertEqual(opened["resolved"]["max_pool_size"], pool.max_pool_size)
        return process

    def operation(self, kind: str, key: str = "schedule", **fields) -> dict:
        return {"name": kind, "kind": kind, "collection": "items", "key": key, **fields}
