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
URI = os.environ.get("MDYN_URI")
FOREVER_NS = 2**53 - 1
NOOP = {"name": "noop", "kind": "noop"}
KEY = [{"path": ["_id"], "as": "int64", "from": "key"}]


class Process:
    """An adapter as a child; `records` of a prepare are (intended_ns, key, operation)."""

    def __init__(self, folder: str, arguments: list):
        self.folder = Path(folder)
        self.epoch_ns = time.monotonic_ns()
        self.child = subprocess.Popen(
            [sys.executable, "adapter.py", *arguments], cwd=HERE, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self.ask("hello", protocol=2, epoch_ns=str(self.epoch_ns))["type"] == "hello"

    def end(self) -> None:
        self.child.kill()
        self.child.wait()
        self.child.stdin.close()
        self.child.stdout.close()

    def write(self, kind: str, **fields) -> None:
        self.child.stdin.write(json.dumps({"type": kind, **fields}).encode() + b"\n")
        self.child.stdin.flush()

    def ask(self, kind: str, **fields) -> dict:
        self.write(kind, **fields)
        return json.loads(self.child.stdout.readline()[1:])

    def open(self, uri: str, database: str = "mdyn_x") -> dict:
        client = {"uri": uri, "hosts": [], "user": None, "password": None, "options": {}}
        return self.ask("open", clients=[client], deal="worker", database=database)

    def prepare(self, operations, records, pool=(), **changes) -> None:
        queued = changes.get("pacing", {}).get("mode") in ("rate", "burst")
        slices = 1 if queued else changes.get("workers", 1)
        head = struct.pack("<8sIIIIQ", b"MDYNSCH2", 32, len(records), slices, 0, 0)
        rows = [struct.pack("<QQIIB7x", at, key, 0, 1, number) for at, key, number in records]
        (self.folder / "schedule").write_bytes(head + b"".join(rows))
        (self.folder / "pool").write_bytes(b"".join(map(bson.encode, pool)))
        message = {
            "samples": str(self.folder / "samples"), "schedule": str(self.folder / "schedule"),
            "pools": [str(self.folder / "pool")], "workers": 1, "first_worker": 0,
            "limits": [len(records) // slices] * slices, "pacing": {"mode": "awaited"},
            "lap_step": 0, "item_step": 0, "errors_consecutive_max": 10, "operations": operations,
        }  # fmt: skip
        answer = self.ask("prepare", **{**message, **changes})
        assert answer == {"type": "ready"}, answer

    def turn(self, until_ns: int = FOREVER_NS) -> dict:
        return self.ask("turn", until_ns=until_ns)

    def now_ns(self) -> int:
        return time.monotonic_ns() - self.epoch_ns

    def samples(self) -> list:
        return list(struct.iter_unpack("<QQQIBBH", (self.folder / "samples").read_bytes()))


class Case(unittest.TestCase):
    arguments = []

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self) -> Process:
        process = Process(self.folder, self.arguments)
        self.addCleanup(process.end)
        return process


@unittest.skipUnless(URI, "MDYN_URI names no server")
class ServerCase(Case):
    def setUp(self):
        super().setUp()
        self.client = MongoClient(URI)
        self.addCleanup(self.client.close)
        self.name = f"mdyn_python_{os.getpid()}"
        self.addCleanup(self.client.drop_database, self.name)
        self.items = self.client[self.name]["items"]

    def opened(self, options: str = "") -> Process:
        process = self.start()
        separator = "&" if "?" in URI else "?" if URI.endswith("/") else "/?"
        opened = process.open(URI + (separator + options if options else ""), self.name)
        self.assertEqual(opened["type"], "opened", opened)
        return process
