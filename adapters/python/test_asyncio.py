"""The same tests for the program of asyncio, and those of an event loop alone."""

from __future__ import annotations

import unittest

import test_adapter
from testing import ServerCase


class Program:
    program = "adapter_asyncio.py"


class Conversations(Program, test_adapter.Conversations):
    pass


class Turns(Program, test_adapter.Turns):
    pass


class Stops(Program, test_adapter.Stops):
    pass


class Refusals(Program, test_adapter.Refusals):
    pass


class Server(Program, test_adapter.Server):
    def test_burst_creates_all_tasks_before_the_first_one_begins(self):
        made = {"path": ["number"], "as": "int64", "from": "made_ns"}
        documents = {"pool": 0, "stamps": [*self.KEY, made]}
        insert = self.operation("insert_one", "counter", documents=documents)
        counter = {"first": 0, "stride": 2, "loaded": 0}
        self.run_all(
            self.opened(), [insert], [(0, 0, 0, 0)] * 300, workers=2, pacing={"mode": "burst"},
            counter=counter,
        )  # fmt: skip
        samples = sorted(self.process.samples(), key=lambda sample: sample[3])
        made_ns = [each["number"] for each in self.items.find()]
        self.assertEqual(len(made_ns), 300)
        self.assertLess(max(made_ns), min(sample[1] for sample in samples))
        self.assertEqual([sample[6] for sample in samples], [0, 1] * 150)


class Shares(Program, ServerCase):
    def test_roles_and_concurrency(self):
        capabilities = self.start().hello()["capabilities"]
        self.assertEqual(capabilities["concurrency"]["kind"], "tasks")
        self.assertEqual(capabilities["roles"], ["worker"])

    def test_workers_that_wait_for_nothing_share_the_loop(self):
        delete = self.operation("delete_one", filter=self.FILTER, write_concern={"w": 0})
        process = self.opened()
        process.prepare([delete], [(0, 0, 0, 0)] * 2, workers=2, limits=None)
        process.turn(process.now_ns() + 100_000_000)
        self.assertEqual({sample[6] for sample in process.samples()}, {0, 1})


if __name__ == "__main__":
    unittest.main()
