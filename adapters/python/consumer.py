"""The consumer: reads the messages of a capped collection through a tailable cursor."""

from __future__ import annotations

import time

import pymongo4 as dialect
from documents import clock_ns
from phase import HELD_NS, Faults, Refusal, Samples, errors_of

AWAIT_MS = 100  # one await lasts so long at most, so that the other ends are seen in time
REOPEN_S = 0.010


class Consumer:
    def __init__(self, message: dict, clients, epoch_ns: int):
        asked = message["consumer"]
        self.collection = clients.all[0][clients.database][asked["collection"]]
        self.expected, self.idle_ns = asked["expected"], asked["idle_ms"] * 1_000_000
        self.marker_field = asked["marker_field"]
        self.failures_max = message["errors_consecutive_max"]
        self.epoch_ns = epoch_ns
        self.faults = Faults()
        self.messages = self.cursors = self.positions_lost = self.deadline_ns = 0
        self.done = self.running = False
        self.cursor = self.tail()
        sentinel = next(self.cursor, {})
        if not is_sentinel(sentinel):
            self.cursor.close()
            raise Refusal("internal", f"no sentinel stands first in {asked['collection']}")
        self.last_id = sentinel["_id"]  # None: before the oldest document
        self.file = open(message["samples"], "wb", buffering=0)
        self.samples = Samples(self.file, epoch_ns)

    def tail(self):
        self.cursors += 1
        return dialect.tail(self.collection, AWAIT_MS)

    @property
    def gave_up(self) -> bool:
        return self.faults.in_a_row >= self.failures_max

    def next(self):
        """The next document; None if an await, or a cursor, has ended without one."""
        try:
            if self.cursor is None:
                self.cursor = self.reopened()
            document = next(self.cursor, None)
            if document is None and not self.cursor.alive:
                raise dialect.CursorDied("the cursor is no longer alive")
        except dialect.DriverError as fault:
            self.faults.note(fault)
            self.cursor = None
            time.sleep(REOPEN_S)
            return None
        self.faults.in_a_row = 0
        if document is not None:
            self.last_id = document["_id"]
        return document

    def reopened(self):
        """A cursor behind the last document read if that is there, else at the oldest one."""
        if self.last_id is None:
            return self.tail()
        # Asked for first, because a scan alone would have to keep all it passes in memory.
        if self.collection.find_one({"_id": self.last_id}) is not None:
            cursor = self.tail()
            for document in cursor:
                if document["_id"] == self.last_id:
                    return cursor
            if not cursor.alive:
                raise dialect.CursorDied("the cursor died on its way to the position")
            cursor.close()  # at its end, and the position was overwritten meanwhile
        self.positions_lost += 1
        self.last_id = None
        return self.tail()

    def turn(self, until_ns: int) -> dict:
        self.deadline_ns = until_ns + self.epoch_ns  # a stop moves it
        self.running = True
        began_ns = clock_ns()
        self.samples.due_ns = began_ns + HELD_NS
        try:
            self.read(began_ns)
        finally:
            self.running = False
            self.samples.flush(clock_ns())
        return {
            "began_ns": began_ns - self.epoch_ns,
            "exhausted": self.done,
            "gave_up": self.gave_up,
        }

    def read(self, began_ns: int) -> None:
        """Until one of the four ends."""
        now_ns = heard_ns = began_ns
        while now_ns < self.deadline_ns and not self.done and not self.gave_up:
            document = self.next()
            now_ns = clock_ns()
            if document is None:
                if now_ns - heard_ns >= self.idle_ns:
                    return
            elif self.marker_field in document:
                self.done = True
            elif not is_sentinel(document):
                heard_ns = now_ns
                self.take(document, now_ns)

    def take(self, message: dict, now_ns: int) -> None:
        made_ns = message["made_ns"] + self.epoch_ns
        self.samples.add(made_ns, now_ns, now_ns, message["sequence"], 0, 0, message["producer"])
        self.messages += 1
        self.done = self.messages >= self.expected

    def end(self) -> dict:
        if self.cursor is not None:
            self.cursor.close()
        self.file.close()
        return {
            "totals": {"documents": self.messages, "sum": 0},
            "errors": errors_of([self.faults]),
            "consumer": {"cursors": self.cursors, "positions_lost": self.positions_lost},
        }


def is_sentinel(document: dict) -> bool:
    return document.get("sentinel") is True
