"""PyMongo's peculiarities; `mongodyno check` replays the vectors. MDYN_URI adds a server's."""

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from bson import Binary
from pymongo import MongoClient, errors

import dialect
from consumer import Consumer
from documents import copier

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
        (self.folder / "pool").write_bytes(b"".join(map(dialect.encode, pool)))
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


class Dialect(unittest.TestCase):
    def test_failures_have_the_code_of_the_server(self):
        write = {"index": 0, "code": 11000, "errmsg": "E11000"}
        bulk = errors.BulkWriteError({"writeErrors": [write], "writeConcernErrors": []})
        for fault, expected in (
            (bulk, (2, 11000, "BulkWriteError")),
            (errors.OperationFailure("no", 59, {"codeName": "CommandNotFound"}),
             (2, 59, "CommandNotFound")),
            (errors.WTimeoutError("late", 64, {"code": 64}), (2, 64, "WTimeoutError")),
            (errors.ExecutionTimeout("late", 50, {"code": 50}), (3, 50, "ExecutionTimeout")),
            (errors.AutoReconnect("connection closed"), (2, 0, "AutoReconnect")),
            (errors.NetworkTimeout("late"), (3, 0, "NetworkTimeout")),
        ):  # fmt: skip
            self.assertEqual(dialect.failure(fault), expected)

    def test_acknowledged_and_resolved(self):
        for options, acknowledged, concern in (
            ("", True, {}), ("w=0", False, {"w": 0}),
            ("w=majority&journal=true", True, {"w": "majority", "j": True}),
        ):  # fmt: skip
            with self.subTest(options):
                opened = dialect.opened(MongoClient(f"mongodb://h/?{options}", connect=False))
                self.assertEqual(opened["acknowledged"], acknowledged)
                self.assertEqual(opened["resolved"]["write_concern"], concern)
        uri = "mongodb://h/?maxPoolSize=7&readConcernLevel=local&compressors=zlib&retryWrites=false"
        resolved = dialect.opened(MongoClient(uri, connect=False))["resolved"]
        self.assertEqual((resolved["max_pool_size"], resolved["read_concern"]), (7, "local"))
        zlib = ["zlib"] if dialect.COUNTS_DOCUMENTS else []  # both came with 3.7
        self.assertEqual((resolved["compressors"], resolved["retry_writes"]), (zlib, False))

    def test_copies_share_no_binary_value(self):
        document = {"a": b"12", "b": Binary(b"34", 5), "c": [{"d": b"56"}]}
        [pool] = dialect.decode(dialect.encode(document))
        copy = copier(pool)()
        self.assertEqual(copy, pool)
        self.assertEqual(copy["b"].subtype, 5)
        self.assertIsNot(copy["a"], pool["a"])
        self.assertIsNot(copy["b"], pool["b"])
        self.assertIsNot(copy["c"][0]["d"], pool["c"][0]["d"])


class Program(Case):
    def test_sigterm_in_sleep(self):
        process = self.start()
        process.prepare([NOOP], [(0, 0, 0), (60_000_000_000, 0, 0)], pacing={"mode": "rate"})
        process.write("turn", until_ns=FOREVER_NS)
        time.sleep(0.3)
        process.child.send_signal(signal.SIGTERM)
        self.assertEqual(process.child.wait(5), 0)
        self.assertEqual(len(process.samples()), 1)

    def test_refused_connections(self):
        process = self.start()
        for options in ("minPoolSize=9&maxPoolSize=3", "w=0&journal=true", "journal=maybe"):
            self.assertEqual(process.open(f"mongodb://h/?{options}")["code"], "unsupported")
        nobody = process.open("mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=300")
        self.assertEqual(nobody["code"], "connect")
        self.assertEqual(process.ask("clock")["type"], "clock")


class Server(ServerCase):
    def test_refused_credentials(self):
        process = self.start()
        uri = "mongodb://me:hush@" + URI.partition("://")[2].rpartition("@")[2]
        self.assertEqual(process.open(uri)["code"], "auth")
        self.assertEqual(process.open(URI)["type"], "opened")

    def test_a_timeout_of_the_socket(self):
        self.items.insert_one({"_id": 1})
        function = {"body": "function() { sleep(2000); return true }", "args": [], "lang": "js"}
        slow = {"pool": 0, "document": 0, "stamps": []}
        process = self.opened("socketTimeoutMS=250&retryReads=false")
        find = {"name": "find", "kind": "find", "collection": "items", "filter": slow}
        process.prepare([find], [(0, 0, 0)], [{"$expr": {"$function": function}}])
        process.turn()
        self.assertEqual(process.samples()[0][5], 3, process.ask("end"))

    def test_concerns_of_commands_are_fields(self):
        process = self.opened()
        ping = {"name": "count", "kind": "command", "read_concern": "local",
                "read_preference": "nearest",
                "command": {"pool": 0, "document": 0, "stamps": []}}  # fmt: skip
        wrong = {**ping, "read_concern": "nonsense"}
        process.prepare([ping, wrong], [(0, 0, 0), (0, 0, 1)], [{"count": "items"}])
        process.turn()
        self.assertEqual([sample[5] for sample in process.samples()], [0, 2])


class Consumes(ServerCase):
    """PyMongo ends tailable cursors silently."""

    def test_a_position_that_is_overwritten_while_it_is_looked_for(self):
        options = {"capped": True, "size": 4096}
        messages = self.client[self.name].create_collection("messages", **options)
        messages.insert_one({"sentinel": True})
        asked = {"collection": "messages", "expected": 9, "idle_ms": 9, "marker_field": "end"}
        message = {"consumer": asked, "errors_consecutive_max": 3,
                   "samples": str(Path(self.folder, "samples"))}  # fmt: skip
        consumer = Consumer(message, {"clients": [self.client], "database": self.name}, 0)
        tail = consumer.tail

        def overwritten_before():
            consumer.tail = tail
            messages.insert_many([{"producer": 0, "body": "x" * 400} for _ in range(60)])
            return tail()

        consumer.cursor.close()
        consumer.cursor, consumer.tail = None, overwritten_before
        oldest = consumer.next()
        self.assertEqual(oldest["_id"], messages.find_one()["_id"])
        self.assertEqual((consumer.cursors, consumer.positions_lost), (3, 1))
        self.assertEqual(consumer.errors.named, {})
        consumer.end()
