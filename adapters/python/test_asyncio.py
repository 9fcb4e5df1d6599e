"""The same for the program of asyncio, and what only an event loop has."""

import test_adapter
from test_adapter import KEY, NOOP


class Program(test_adapter.Program):
    arguments = ["asyncio"]

    def test_workers_that_wait_for_nothing_share_the_loop(self):
        process = self.start()
        process.prepare([NOOP], [(0, 0, 0)] * 2, workers=2, limits=None)
        process.turn(process.now_ns() + 100_000_000)
        self.assertEqual({sample[6] for sample in process.samples()}, {0, 1})


class Server(test_adapter.Server):
    arguments = ["asyncio"]

    def test_burst_creates_all_tasks_before_the_first_one_begins(self):
        made = {"path": ["made"], "as": "int64", "from": "made_ns"}
        insert = {"name": "insert", "kind": "insert_one", "collection": "items",
                  "documents": {"pool": 0, "stamps": [*KEY, made]}}  # fmt: skip
        process, burst = self.opened(), {"mode": "burst"}
        records = [(0, key, 0) for key in range(300)]
        process.prepare([insert], records, [{"_id": 0, "made": 0}], workers=2, pacing=burst)
        process.turn()
        made_ns = [each["made"] for each in self.items.find()]
        self.assertEqual(len(made_ns), 300)
        self.assertLess(max(made_ns), min(sample[1] for sample in process.samples()))
