"""The consumer on a server: its four ends, and cursors that die."""

from __future__ import annotations

import threading
import time
import unittest

from bson import Int64

from consumer import Consumer
from testing import ServerCase


class Consumes(ServerCase):
    def setUp(self):
        super().setUp()
        self.messages = self.client[self.name]["messages"]

    def prepared(self, size_bytes: int = 1 << 20, **changes):
        """A consumer that has read the sentinel."""
        options = {"capped": True, "size": size_bytes}
        self.client[self.name].create_collection("messages", **options)
        self.messages.insert_one({"sentinel": True})
        process = self.opened("consumer")
        answer = self.prepare(process, **changes)
        self.assertEqual(answer, {"type": "armed"})
        return process

    def prepare(self, process, **changes):
        consumer = {
            "collection": "messages", "expected": 1000, "idle_ms": 5000, "marker_field": "end",
        }  # fmt: skip
        return process.ask(
            "prepare", phase="p", role="consumer", warmup=False, errors_consecutive_max=3,
            samples=str(process.folder / "samples"), consumer={**consumer, **changes},
        )  # fmt: skip

    def produce(self, process, sequences, producer: int = 0, **fields) -> None:
        for sequence in sequences:
            made_ns = Int64(process.now_ns())
            self.messages.insert_one(
                {"producer": producer, "sequence": Int64(sequence), "made_ns": made_ns, **fields}
            )

    def read(self, process, count: int) -> None:
        """Short turns until so many messages have been read."""
        while count > 0:
            turned = process.turn(process.now_ns() + 50_000_000)
            self.assertEqual((turned["exhausted"], turned["errors"]), (False, 0))
            count -= turned["operations"]
        self.assertEqual(count, 0)

    def mark(self) -> None:
        self.messages.insert_one({"end": True})

    def kill_cursors(self) -> None:
        """Kills the consumer's cursor, be it waiting for data or idle."""
        pipeline = [{"$currentOp": {"idleCursors": True, "allUsers": True}}]
        ids = set()
        while not ids:  # on its way from one to the other it is in neither list
            ids = {
                operation["cursor"]["cursorId"]
                for operation in self.client.admin.aggregate(pipeline)
                if operation.get("ns") == self.messages.full_name and "cursor" in operation
            }
        self.client[self.name].command("killCursors", "messages", cursors=list(ids))

    def received(self, process) -> list:
        return [(sample[6], sample[3]) for sample in process.samples()]

    def ended(self, process, cursors: int, lost: int) -> dict:
        ended = process.ask("end")
        self.assertEqual(ended["consumer"], {"cursors": cursors, "positions_lost": lost}, ended)
        samples = process.samples()
        counts = (ended["samples"], ended["operations"], ended["totals"]["documents"])
        self.assertEqual(counts, (len(samples),) * 3)
        return ended

    def test_samples_of_messages_up_to_the_marker(self):
        process = self.prepared()
        before_ns = process.now_ns()
        self.produce(process, range(5), producer=0)
        self.produce(process, range(3), producer=4)
        self.mark()
        self.produce(process, [99])
        turned = process.turn()
        self.assertEqual((turned["operations"], turned["completed_by_deadline"]), (8, 8))
        self.assertEqual((turned["exhausted"], turned["gave_up"]), (True, False))
        self.assertEqual(process.turn()["operations"], 0)
        ended = self.ended(process, 1, 0)
        self.assertEqual(ended["errors"], [])
        expected = [(0, index) for index in range(5)] + [(4, index) for index in range(3)]
        self.assertEqual(self.received(process), expected)
        starts_ns = [sample[1] for sample in process.samples()]
        self.assertEqual(starts_ns, sorted(set(starts_ns)), "a reading for each message")
        for made_ns, start_ns, service_ns, _, operation, outcome, _ in process.samples():
            self.assertEqual((service_ns, operation, outcome), (0, 0, 0))
            self.assertLess(before_ns, made_ns)
            self.assertLess(made_ns, start_ns)
            self.assertLessEqual(start_ns, turned["ended_ns"])

    def test_expected_ends_it(self):
        process = self.prepared(expected=4)
        self.produce(process, range(6))
        turned = process.turn()
        self.assertEqual((turned["operations"], turned["exhausted"]), (4, True))
        self.ended(process, 1, 0)

    def test_messages_that_come_while_it_waits(self):
        process = self.prepared(expected=20)
        produce = threading.Thread(target=self.produce, args=(process, range(20)))
        waiting = threading.Timer(0.25, produce.start)  # behind two awaits without data
        waiting.start()
        self.assertEqual(process.turn()["operations"], 20)
        waiting.join()
        produce.join()
        self.assertEqual(self.received(process), [(0, index) for index in range(20)])

    def test_idle_ends_it(self):
        process = self.prepared(idle_ms=300)
        self.produce(process, range(2))
        turned = process.turn()
        self.assertEqual((turned["operations"], turned["exhausted"]), (2, False))
        idle_ns = process.now_ns() - turned["ended_ns"]
        self.assertGreaterEqual(idle_ns, 300_000_000)
        self.ended(process, 1, 0)

    def test_until_ends_it_and_the_next_turn_goes_on(self):
        process = self.prepared()
        self.produce(process, range(2))
        self.read(process, 2)
        until_ns = process.now_ns() + 150_000_000
        turned = process.turn(until_ns)
        self.assertEqual((turned["operations"], turned["exhausted"]), (0, False))
        self.assertGreaterEqual(process.now_ns(), until_ns)
        self.produce(process, range(2, 5))
        self.mark()
        self.assertEqual(process.turn()["operations"], 3)
        self.assertEqual(self.received(process), [(0, index) for index in range(5)])

    def test_a_killed_cursor_delivers_nothing_twice(self):
        process = self.prepared()
        self.produce(process, range(3))
        self.read(process, 3)
        self.produce(process, range(3, 6))
        self.kill_cursors()
        self.mark()
        turned = process.turn()
        self.assertEqual((turned["operations"], turned["errors"]), (3, 1))
        self.assertEqual(self.received(process), [(0, index) for index in range(6)])
        ended = self.ended(process, 2, 0)
        self.assertEqual([error["count"] for error in ended["errors"]], [1])

    def test_a_cursor_killed_while_it_waits(self):
        process = self.prepared()

        def kill_and_go_on():
            self.kill_cursors()
            self.produce(process, range(3))
            self.mark()

        killing = threading.Timer(0.25, kill_and_go_on)
        killing.start()
        turned = process.turn()
        killing.join()
        self.assertEqual((turned["operations"], turned["errors"]), (3, 1))
        self.ended(process, 2, 0)

    def test_a_position_that_was_overwritten(self):
        process = self.prepared(size_bytes=4096)
        self.produce(process, range(3))
        self.read(process, 3)
        self.produce(process, range(3, 60), filler="x" * 400)
        self.mark()
        left = [each["sequence"] for each in self.messages.find({"sequence": {"$exists": True}})]
        self.assertGreater(left[0], 3)
        turned = process.turn()
        self.assertEqual((turned["operations"], turned["exhausted"]), (len(left), True))
        self.assertEqual(self.received(process)[3:], [(0, sequence) for sequence in left])
        self.ended(process, 2, 1)

    def test_a_position_that_is_overwritten_while_it_is_looked_for(self):
        process = self.prepared(size_bytes=4096)
        asked = {"collection": "messages", "expected": 9, "idle_ms": 9, "marker_field": "end"}
        message = {"consumer": asked, "errors_consecutive_max": 3, "warmup": False}
        message["samples"] = str(process.folder / "own")
        consumer = Consumer(message, self.client[self.name], process.epoch_ns)
        tail = consumer.tail

        def overwritten_before():
            consumer.tail = tail
            self.produce(process, range(60), filler="x" * 400)
            return tail()

        consumer.cursor.close()
        consumer.cursor, consumer.tail = None, overwritten_before
        oldest = consumer.next()
        self.assertEqual(oldest["_id"], self.messages.find_one()["_id"])
        self.assertEqual((consumer.cursors, consumer.positions_lost), (3, 1))
        self.assertEqual(consumer.faults.count, 0)
        consumer.end()

    def test_it_gives_up(self):
        process = self.prepared()
        self.messages.drop()
        turned = process.turn()
        self.assertEqual((turned["errors"], turned["gave_up"]), (3, True))
        self.assertFalse(turned["exhausted"])
        ended = process.ask("end")
        self.assertEqual(sum(error["count"] for error in ended["errors"]), 3)

    def test_without_a_sentinel(self):
        process = self.opened("consumer")
        options = {"capped": True, "size": 4096}
        self.client[self.name].create_collection("messages", **options)
        self.assertEqual(self.prepare(process)["code"], "internal")
        self.produce(process, range(1))
        self.assertEqual(self.prepare(process)["code"], "internal")
        self.messages.drop()
        self.messages.insert_one({"sentinel": True})  # not capped
        self.assertEqual(self.prepare(process)["code"], "internal")

    def test_stop_in_a_turn_writes_the_samples(self):
        process = self.prepared()
        self.produce(process, range(4))
        process.write('{"type":"turn","start_ns":0,"until_ns":9007199254740991}')
        time.sleep(0.4)
        process.child.terminate()
        self.assertEqual(process.child.wait(5), 0)
        self.assertEqual(self.received(process), [(0, index) for index in range(4)])


if __name__ == "__main__":
    unittest.main()
