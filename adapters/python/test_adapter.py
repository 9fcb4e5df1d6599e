"""The vectors of the contract, and tests beyond them. MDYN_URI adds the tests on a server."""

from __future__ import annotations

import json
import signal
import tempfile
import time
import unittest
from pathlib import Path

import bson

from protocol import Refusal, Schedule, key_rule, masked, render
from testing import NOOP, URI, VECTORS, Case, Process, ServerCase, schedule


class Vectors(Case):
    def test_documents_to_the_byte(self):
        cases = 0
        for file in sorted(VECTORS.glob("documents/*.jsonl")):
            for case in map(json.loads, file.read_text("utf-8").splitlines()):
                with self.subTest(case["name"]):
                    self.assertEqual(case["bson"], bson.encode(render(case)).hex())
                cases += 1
        self.assertGreater(cases, 0)


class Conversations(Case):
    def test_conversations(self):
        files = sorted(VECTORS.glob("*valid/*.jsonl"))
        self.assertGreater(len(files), 0)
        for file in files:
            with self.subTest(file.name), tempfile.TemporaryDirectory() as folder:
                self.converse(file, folder)

    def converse(self, file: Path, folder: str):
        records = [(0, key, 0, 0) for key in range(64)]
        Path(folder, "noop.schedule").write_bytes(schedule(records, slices=2))
        with Process(folder, self.program) as process:
            text = file.read_text("utf-8").replace("{dir}", folder)
            text = text.replace("{epoch}", str(process.epoch_ns))
            for step in map(json.loads, text.splitlines()):
                if "expect" in step:
                    self.assert_answers(step["expect"], process.read())
                else:
                    process.write(step.get("send_line") or json.dumps(step["send"]))
            self.assertEqual(process.child.wait(5), 0)


class Parts(Case):
    def test_schedule(self):
        file = Path(self.folder, "s")
        file.write_bytes(schedule([(5, 2**53 - 1, 7, 1, bytes(range(16)))] * 4, 2, True, 9))
        read = Schedule(str(file), 2, 2)
        self.assertEqual((read.slice_records, read.lap_ns), (2, 9))
        self.assertEqual(read.offset(1), 32 + 2 * 40)
        record = read.unpack_from(read.data, read.offset(1))
        self.assertEqual(record, (5, 2**53 - 1, 7, 1, bytes(range(16))))

    def test_schedule_that_is_refused(self):
        file = Path(self.folder, "s")
        good = schedule([(0, 0, 0, 0)] * 4, 2)
        for name, data, slices in (
            ("magic", b"X" + good[1:], 2), ("cut", good[:-1], 2), ("slices", good, 4),
            ("operation", schedule([(0, 0, 0, 1)] * 2, 2), 2), ("empty", schedule([], 1), 1),
        ):  # fmt: skip
            file.write_bytes(data)
            with self.subTest(name), self.assertRaises(Refusal):
                Schedule(str(file), slices, 1)

    def test_key_rules(self):
        counter = {"first": 100, "stride": 4, "loaded": 50}
        self.assertEqual(key_rule("schedule", counter, 2)(7, 9), 7)
        self.assertEqual(key_rule("counter", counter, 2)(7, 9), 100 + 2 + 4 * 9)
        latest = key_rule("latest", counter, 2)
        self.assertEqual(latest(0, 9), 102 + 4 * 8)  # the newest
        self.assertEqual(latest(8, 9), 102)  # the first
        self.assertEqual(latest(9, 9), 49)  # the last of those loaded
        self.assertEqual(latest(1000, 9), 0)

    def test_credentials_are_masked(self):
        uri = "mongodb://me:s%40crt@h/?tlsCertificateKeyFilePassword=hush&w=1"
        masked_text = masked(f"{uri} s@crt hush", uri)
        for secret in ("s%40crt", "s@crt", "hush"):
            self.assertNotIn(secret, masked_text)


class Turns(Case):
    def test_samples(self):
        process = self.ready()
        process.prepare([NOOP], [(0, 0, 0, 0)] * 6, workers=2, first_worker=5, warmup=True)
        turned = process.turn()
        self.assertEqual((turned["operations"], turned["exhausted"]), (6, True))
        self.assertEqual(process.ask("end")["samples"], 6)
        samples = process.samples()
        expected = {(index, worker) for index in range(3) for worker in (5, 6)}
        self.assertEqual({(sample[3], sample[6]) for sample in samples}, expected)
        for intended_ns, start_ns, service_ns, _, operation, outcome, _ in samples:
            self.assertEqual((intended_ns, operation, outcome), (start_ns, 0, 128))
            self.assertGreaterEqual(start_ns, turned["began_ns"])
            self.assertLessEqual(start_ns + service_ns, turned["ended_ns"])

    def test_turns_go_on_and_stop_at_their_end(self):
        process = self.ready()
        process.prepare([NOOP], [(0, 0, 0, 0)] * 10, limits=None)
        total = 0
        for _ in range(3):
            until_ns = process.now_ns() + 20_000_000
            turned = process.turn(until_ns)
            total += turned["operations"]
            # The end before is compared, so a start may lie behind by the bookkeeping.
            _, start_ns, service_ns, *_ = process.samples()[-2]
            self.assertLess(start_ns + service_ns, until_ns)
            self.assertGreaterEqual(turned["operations"] - turned["completed_by_deadline"], 0)
            self.assertFalse(turned["exhausted"])
        self.assertEqual([s[3] for s in process.samples()], list(range(total)))

    def test_a_turn_that_is_over_issues_nothing(self):
        process = self.ready()
        process.prepare([NOOP], [(0, 0, 0, 0)])
        turned = process.turn(1)
        self.assertEqual((turned["operations"], turned["completed_by_deadline"]), (0, 0))
        self.assertFalse(turned["exhausted"])

    def test_start_ahead(self):
        process = self.ready()
        process.prepare([NOOP], [(0, 0, 0, 0)])
        start_ns = process.now_ns() + 50_000_000
        turned = process.turn(start_ns=start_ns)
        self.assertGreaterEqual(turned["began_ns"], start_ns)

    def test_think_time_goes_on_behind_a_turn(self):
        process = self.ready()
        pacing = {"mode": "awaited", "think_ns": 30_000_000}
        process.prepare([NOOP], [(0, 0, 0, 0)] * 4, pacing=pacing)
        while not process.turn(process.now_ns() + 20_000_000)["exhausted"]:
            pass
        starts_ns = [sample[1] for sample in process.samples()]
        for earlier_ns, later_ns in zip(starts_ns, starts_ns[1:]):
            self.assertGreaterEqual(later_ns - earlier_ns, 30_000_000)

    def test_rate_is_one_queue_in_laps(self):
        process = self.ready()
        process.prepare(
            [NOOP], [(0, 0, 0, 0), (3_000_000, 0, 0, 0)], workers=3, limits=[6],
            pacing={"mode": "rate"}, lap_ns=10_000_000,
        )  # fmt: skip
        first = process.turn(process.now_ns() + 8_000_000)
        self.assertFalse(first["exhausted"])
        second = process.turn()
        self.assertTrue(second["exhausted"])
        self.assertEqual(first["operations"] + second["operations"], 6)
        offsets = {s[3]: s[0] - first["began_ns"] for s in process.samples()}
        due_ms = (0, 3, 10, 13, 20, 23)
        self.assertEqual(offsets, {index: ms * 1_000_000 for index, ms in enumerate(due_ms)})
        self.assertTrue(all(s[1] >= s[0] for s in process.samples()))

    def test_burst_is_intended_at_once(self):
        process = self.ready()
        records = [(index * 1_000_000_000, 0, 0, 0) for index in range(9)]
        process.prepare([NOOP], records, workers=3, pacing={"mode": "burst"})
        start_ns = process.now_ns() + 20_000_000
        self.assertTrue(process.turn(start_ns=start_ns)["exhausted"])
        self.assertEqual([s[0] for s in process.samples()], [start_ns] * 9)
        self.assertEqual(sorted(s[3] for s in process.samples()), list(range(9)))

    def test_window_keeps_its_samples_in_order(self):
        process = self.ready()
        pacing = {"mode": "window", "size": 3}
        process.prepare([NOOP], [(0, 0, 0, 0)] * 20, workers=2, pacing=pacing)
        self.assertEqual(process.turn(1)["operations"], 0)
        turned = process.turn()
        self.assertEqual((turned["operations"], turned["exhausted"]), (20, True))
        for worker in (0, 1):
            indices = [sample[3] for sample in process.samples() if sample[6] == worker]
            self.assertEqual(indices, list(range(10)))


class Stops(Case):
    def stop(self, process: Process) -> None:
        process.child.send_signal(signal.SIGTERM)
        self.assertEqual(process.child.wait(5), 0)

    def test_sigterm_between_messages(self):
        self.stop(self.ready())

    def test_sigterm_in_a_turn_writes_the_samples(self):
        process = self.ready()
        process.prepare([NOOP], [(0, 0, 0, 0)], limits=None)
        process.write('{"type":"turn","start_ns":0,"until_ns":9007199254740991}')
        time.sleep(0.2)
        self.stop(process)
        indices = [sample[3] for sample in process.samples()]
        self.assertGreater(len(indices), 0)
        self.assertEqual(indices, list(range(len(indices))))

    def test_sigterm_in_sleep(self):
        process = self.ready()
        pacing = {"mode": "rate"}
        process.prepare([NOOP], [(0, 0, 0, 0), (60_000_000_000, 0, 0, 0)], pacing=pacing)
        process.write('{"type":"turn","start_ns":0,"until_ns":9007199254740991}')
        time.sleep(0.2)
        self.stop(process)
        self.assertEqual(len(process.samples()), 1)

    def test_end_of_stdin(self):
        process = self.ready()
        process.prepare([NOOP], [(0, 0, 0, 0)])
        process.child.stdin.close()
        self.assertEqual(process.child.wait(5), 0)


class Refusals(Case):
    def test_no_server(self):
        process = self.ready()
        uri = "mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=300"
        answer = process.ask("open", uri=uri, database="mdyn_x", role="worker")
        self.assertEqual(answer["code"], "connect")
        self.assertEqual(process.ask("clock")["type"], "clock")

    def test_uri_that_cannot_be_parsed_keeps_its_secret(self):
        process = self.ready()
        for uri in ("mongodb://me:hush@h:hush/", "mongodb://me:hu/sh@h/", "hush://me:hush@h"):
            answer = process.ask("open", uri=uri, database="mdyn_x", role="worker")
            self.assertEqual(answer["type"], "error")
            self.assertNotIn("hush", answer["message"])
        self.assertNotIn("hush", (process.folder / "stderr").read_text())

    def test_shape_and_order(self):
        process = self.start()
        self.assertEqual(process.ask("clock")["code"], "protocol")
        process.hello()
        refused = process.prepare([{**NOOP, "kind": "find_one"}], [(0, 0, 0, 0)])
        self.assertEqual(refused["code"], "protocol")
        self.assertEqual(process.prepare([NOOP], [(0, 0, 0, 0)], warmup="1")["code"], "protocol")
        self.assertEqual(process.prepare([NOOP], [(0, 0, 0, 0)], limits=[1, 2])["code"], "protocol")
        judge = process.prepare([NOOP], [(0, 0, 0, 0)], role="judge")
        self.assertEqual(judge["code"], "unsupported")
        sprint = process.prepare([NOOP], [(0, 0, 0, 0)], pacing={"mode": "sprint"})
        self.assertEqual(sprint["code"], "unsupported")
        self.assertEqual(process.prepare([NOOP], [(0, 0, 0, 0)])["type"], "armed")
        self.assertEqual(process.prepare([NOOP], [(0, 0, 0, 0)])["code"], "protocol")
        self.assertEqual(process.turn()["operations"], 1)


class Server(ServerCase):
    def run_all(self, process, operations, records, **changes):
        self.process = process
        armed = process.prepare(operations, records, self.POOL, **changes)
        self.assertEqual(armed, {"type": "armed"})
        turned = process.turn()
        self.assertEqual(turned["type"], "turned")
        return turned, process.ask("end")

    def test_every_operation(self):
        documents = {"pool": 0, "stamps": self.KEY}
        update = {"document": {"$set": {"number": {"$numberInt": "7"}}}, "stamps": []}
        concerns = {"read_concern": "majority", "read_preference": "primaryPreferred"}
        pipeline = {"document": {"pipeline": [{"$match": {"number": {"$numberInt": "5"}}}]}}
        majority = {"w": "majority", "j": True}
        everything = {"document": {}, "stamps": []}
        ping = {"document": {"ping": {"$numberInt": "1"}}, "stamps": []}
        operations = [
            self.operation("insert_one", "counter", documents=documents, write_concern=majority),
            self.operation("insert_many", "counter", documents=documents, batch=3, ordered=False),
            self.operation("find_one", filter=self.FILTER, sum_field="number", **concerns),
            self.operation("update_one", filter=self.FILTER, update=update),
            self.operation("replace_one", filter=self.FILTER, documents=documents, upsert=True),
            self.operation("delete_one", filter=self.FILTER),
            self.operation("find", filter=everything, sum_field="number", batch_size=2),
            self.operation("count", filter=everything),
            self.operation("aggregate", pipeline={**pipeline, "stamps": []}, sum_field="number"),
            self.operation("command", command=ping, read_preference="nearest"),
            self.operation("find_one", "latest", filter=self.FILTER, sum_field="missing"),
        ]  # fmt: skip
        # 100 by one insert; 104, 108, 112 by three; 104 becomes 7; 200 is upserted; 100 goes.
        keys = (0, 0, 100, 104, 200, 100, 0, 0, 0, 0, 0)
        records = [(0, key, 0, index) for index, key in enumerate(keys)]
        turned, ended = self.run_all(self.opened(), operations, records)
        self.assertEqual((turned["errors"], ended["errors"]), (0, []))
        self.assertEqual([d["_id"] for d in self.items.find().sort("_id")], [104, 108, 112, 200])
        # find_one 1, find 4, count 4, aggregate 3, find_one 1; 5 + (7 + 3 * 5) + 3 * 5
        self.assertEqual(ended["totals"], {"documents": 13, "sum": 5 + 22 + 15})

    def test_failures_are_samples(self):
        self.items.insert_one({"_id": 1})
        process = self.opened()
        operations = [
            self.operation("insert_one", documents={"pool": 0, "stamps": self.KEY}),
            self.operation("find_one", filter=self.FILTER),
            self.operation("command", command={"document": {"nonsense": 1}, "stamps": []}),
        ]
        records = [(0, 1, 0, 0), (0, 404, 0, 1), (0, 0, 0, 2), (0, 1, 0, 1)]
        turned, ended = self.run_all(process, operations, records)
        self.assertEqual((turned["operations"], turned["errors"]), (4, 3))
        self.assertEqual([sample[5] for sample in process.samples()], [2, 1, 2, 0])
        names = {(error["code"], error["name"], error["count"]) for error in ended["errors"]}
        found = {(11000, "DuplicateKeyError", 1), (0, "WrongAnswer", 1), (59, "CommandNotFound", 1)}
        self.assertEqual(names, found)
        turned, _ = self.run_all(process, operations, [(0, 1, 0, 0)] * 9, errors_consecutive_max=3)
        self.assertEqual((turned["operations"], turned["gave_up"]), (3, True))

    def slow(self, sleep_ms: int) -> dict:
        """A filter that takes its time, once the collection has a document."""
        body = f"function() {{ sleep({sleep_ms}); return true }}"
        function = {"body": body, "args": [], "lang": "js"}
        return {"document": {"$expr": {"$function": function}}, "stamps": []}

    def test_timeout(self):
        self.items.insert_one({"_id": 1})
        slow = self.slow(2000)
        process = self.ready()
        separator = "&" if "?" in URI else "?" if URI.endswith("/") else "/?"
        uri = f"{URI}{separator}socketTimeoutMS=250&retryReads=false"
        opened = process.ask("open", uri=uri, database=self.name, role="worker")
        self.assertEqual(opened["type"], "opened", opened)
        _, ended = self.run_all(process, [self.operation("find", filter=slow)], [(0, 0, 0, 0)])
        self.assertEqual(process.samples()[0][5], 3, ended)

    def test_unacknowledged(self):
        self.items.insert_one({"_id": 9})
        documents = {"pool": 0, "stamps": self.KEY}
        operations = [
            self.operation("insert_one", documents=documents, write_concern={"w": 0}),
            self.operation("update_one", filter=self.FILTER, write_concern={"w": 0},
                           update={"document": {"$set": {"a": 1}}, "stamps": []}),
            self.operation("delete_one", filter=self.FILTER, write_concern={"w": 0}),
        ]  # fmt: skip
        records = [(0, 1, 0, 0), (0, 1, 0, 0), (0, 9, 0, 1), (0, 9, 0, 2)]
        _, ended = self.run_all(self.opened(), operations, records)
        self.assertEqual(ended["errors"], [])
        # Nobody has waited for the last one: it would be done behind the end of this test.
        give_up_s = time.monotonic() + 10
        while self.items.count_documents({"_id": 9}) and time.monotonic() < give_up_s:
            time.sleep(0.01)
        self.assertEqual([each["_id"] for each in self.items.find()], [1])

    def test_window_is_in_flight_at_once(self):
        self.items.insert_one({"_id": 1, "number": 7})
        find = self.operation("find", filter=self.slow(300), sum_field="number")
        pacing = {"mode": "window", "size": 3}
        turned, ended = self.run_all(self.opened(), [find], [(0, 0, 0, 0)] * 5, pacing=pacing)
        self.assertEqual((turned["errors"], ended["totals"]), (0, {"documents": 5, "sum": 35}))
        flights = [(start, start + service) for _, start, service, *_ in self.process.samples()]
        self.assertLess(flights[2][0], min(end for _, end in flights[:3]))
        for oldest, begun in zip(flights, flights[3:]):
            self.assertGreaterEqual(begun[0], oldest[1])

    def test_sequence_is_the_index_of_the_sample(self):
        stamps = [
            {"path": ["_id"], "as": "int64", "from": "sequence"},
            {"path": ["number"], "as": "int32", "from": "producer"},
        ]
        insert = self.operation("insert_one", documents={"pool": 0, "stamps": stamps})
        records = [(index * 1_000_000, 0, 0, 0) for index in range(40)]
        for mode in ("rate", "burst"):
            with self.subTest(mode):
                self.items.drop()
                pacing = {"mode": mode}
                self.run_all(self.opened(), [insert], records, workers=3, pacing=pacing)
                sampled = sorted((sample[3], sample[6]) for sample in self.process.samples())
                found = sorted((each["_id"], each["number"]) for each in self.items.find())
                self.assertEqual(found, sampled)
                self.assertEqual([index for index, _ in sampled], list(range(40)))

    def test_guids_in_laps(self):
        stamps = [{"path": ["_id"], "as": "guid", "from": "key"}]
        many = self.operation("insert_many", documents={"pool": 0, "stamps": stamps}, batch=4)
        records = [(0, 0, 0, 0, bytes(16)), (0, 0, 0, 0, b"\xff" * 16)]
        self.run_all(self.opened(), [many], records, limits=[6])
        self.assertEqual(self.items.count_documents({}), 6 * 4)

    def test_refused_credentials(self):
        process = self.ready()
        uri = "mongodb://me:hush@" + URI.partition("://")[2].rpartition("@")[2]
        answer = process.ask("open", uri=uri, database=self.name, role="worker")
        self.assertEqual(answer["code"], "auth")
        self.assertNotIn("hush", json.dumps(answer))
        again = process.ask("open", uri=URI, database=self.name, role="worker")
        self.assertEqual(again["type"], "opened")


if __name__ == "__main__":
    unittest.main()
