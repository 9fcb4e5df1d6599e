"""The consumer: reads messages through a tailable cursor, or from a change stream. SPEC 9."""

import time

import dialect
from documents import clock_ns
from phase import HELD_NS, Errors, Samples

AWAIT_MS = 100  # limit of one await, so that the other ends are noticed in time
REOPEN_S = 0.010


class Consumer:
    def __init__(self, message, session, epoch_ns):
        asked = message["consumer"]
        self.collection = session["clients"][0][session["database"]][asked["collection"]]
        self.expected, self.idle_ns = asked["expected"], asked["idle_ms"] * 1_000_000
        self.marker_field = asked["marker_field"]
        self.failures_max = message["errors_consecutive_max"]
        self.epoch_ns, self.errors = epoch_ns, Errors()
        self.messages = self.failures = self.cursors = self.positions_lost = 0
        self.exhausted = False
        self.last_id = None  # before the oldest document
        self.cursor = self.in_position()
        self.file = open(message["samples"], "wb", buffering=0)
        self.samples = Samples(self.file, epoch_ns)

    def in_position(self):
        cursor = self.tail()
        sentinel = next(cursor, {})
        if not is_sentinel(sentinel):
            cursor.close()
            raise LookupError(f"no sentinel stands first in {self.collection.name}")
        self.last_id = sentinel["_id"]
        return cursor

    def tail(self):
        self.cursors += 1
        return dialect.tail(self.collection, AWAIT_MS)

    def next(self):
        """The next document; None if an await, or a cursor, has ended without one."""
        try:
            if self.cursor is None:
                self.cursor = self.reopened()
            document = self.read()
            if document is None and not self.cursor.alive:
                raise dialect.CursorDied("the cursor is no longer alive")
        except dialect.DriverError as fault:
            self.errors.note(fault)
            self.failures += 1
            self.cursor = None
            time.sleep(REOPEN_S)
            return None
        self.failures = 0
        if document is not None:
            self.last_id = document["_id"]
        return document

    def read(self):
        return next(self.cursor, None)

    def reopened(self):
        """A cursor after the last document read if that exists, otherwise at the oldest one."""
        if self.last_id is None:
            return self.tail()
        # Asked first, because a scan alone would have to keep all it passes in memory.
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

    def turn(self):
        began_ns = now_ns = heard_ns = clock_ns()
        self.samples.due_ns = began_ns + HELD_NS
        while (
            now_ns < self.deadline_ns
            and now_ns - heard_ns < self.idle_ns
            and self.failures < self.failures_max
            and not self.exhausted
        ):
            document = self.next()
            now_ns = clock_ns()
            if document is None or is_sentinel(document):
                continue
            self.exhausted = self.marker_field in document
            if not self.exhausted:
                heard_ns, made_ns = now_ns, document["made_ns"] + self.epoch_ns
                index, producer = document["sequence"], document["producer"]
                self.samples.add((made_ns, now_ns, now_ns, index, 0, 0, producer))
                self.messages += 1
                self.exhausted = self.messages >= self.expected
        self.samples.flush()
        return {
            "began_ns": began_ns - self.epoch_ns,
            "exhausted": self.exhausted,
            "gave_up": self.failures >= self.failures_max,
        }

    def end(self):
        if self.cursor is not None:
            self.cursor.close()
        self.file.close()
        return {
            "totals": {"documents": self.messages, "sum": 0},
            "errors": list(self.errors.named.values()),
            "consumer": {"cursors": self.cursors, "positions_lost": self.positions_lost},
        }


class StreamConsumer(Consumer):
    """A change stream. Its driver resumes it; the adapter only has to open it anew."""

    token = None  # token of the last change read

    def in_position(self):
        return self.reopened()

    def read(self):
        change = self.cursor.try_next()
        self.token = self.cursor.resume_token
        return change and change["fullDocument"]

    def reopened(self):
        self.cursors += 1
        return dialect.watch(self.collection, AWAIT_MS, self.token)


def is_sentinel(document):
    return document.get("sentinel") is True
