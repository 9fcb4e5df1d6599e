"""Where PyMongo's tailable cursors are odd: it ends them quietly. Needs a server, by MDYN_URI."""

from __future__ import annotations

import unittest
from pathlib import Path

from consumer import Consumer
from phase import Clients
from testing import ServerCase


class Consumes(ServerCase):
    def test_a_position_that_is_overwritten_while_it_is_looked_for(self):
        options = {"capped": True, "size": 4096}
        messages = self.client[self.name].create_collection("messages", **options)
        messages.insert_one({"sentinel": True})
        asked = {"collection": "messages", "expected": 9, "idle_ms": 9, "marker_field": "end"}
        message = {"consumer": asked, "errors_consecutive_max": 3}
        message["samples"] = str(Path(self.folder, "samples"))
        consumer = Consumer(message, Clients([self.client], "worker", self.name), 0)
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
        self.assertEqual(consumer.faults.named, {})
        consumer.end()


if __name__ == "__main__":
    unittest.main()
