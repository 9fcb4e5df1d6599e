"""A phase with threads or tasks: its schedule, its workers, their samples. SPEC 5, 7 and 8."""

import struct
import sys
from functools import partial
from itertools import count
from operator import length_hint
from pathlib import Path
from threading import Lock

import dialect
from documents import COUNT, DOCUMENT, DUE_NS, OPERATION, PRODUCER, SEQUENCE, Makers, clock_ns

HEADER = struct.Struct("<8sIIIIQ")
# Both have seven fields (without a guid an empty one), so readers need not ask for the kind.
RECORDS = {32: struct.Struct("<QQIIBB6x0s"), 48: struct.Struct("<QQIIBB6x16s")}
SAMPLE = struct.Struct("<QQQIBBH")
# Operations are read and samples packed in blocks. One by one, each would run code that the driver
# has pushed out of the CPU's caches since the last: 2 us instead of 0.5. A larger block would stop
# the worker for longer: one of 512 samples took 0.35 ms, a latency in itself.
BLOCK = 32
# The contract allows 32,768 samples. Fewer cost no more: one write every few ms of no-ops.
BUFFER_BYTES = 4_096 * SAMPLE.size
HELD_NS = 1_000_000_000  # a buffer is written at the latest this long after the last write
NAP_NS = 100_000_000  # a sleeper looks this often whether it has been stopped
MESSAGE_MAX = 4_096  # characters that are kept of an error


def told(fault):
    return str(fault)[:MESSAGE_MAX]


class Schedule:
    def __init__(self, path, lap_step):
        self.data, self.lap_step = Path(path).read_bytes(), lap_step
        _, size, self.records, slices, _, self.lap_ns = HEADER.unpack_from(self.data)
        self.length, self.record = self.records // slices, RECORDS[size]

    def items(self, place, count, number, producer):
        """The records from that place on, the first of which has that number in its slice."""
        lap = number // self.length
        shift, begun_ns = lap * self.lap_step, lap * self.lap_ns
        begin, size = HEADER.size + place * self.record.size, count * self.record.size
        records = self.record.iter_unpack(self.data[begin : begin + size])
        return [
            (key + by, sequence, producer, guid, by, document, count, operation, begun_ns + at)
            for sequence, record in enumerate(records, number)
            for at, key, document, count, operation, flags, guid in [record]
            for by in [shift * (flags & 1)]
        ]

    def block(self, slice, number, count, producer):
        """The item of that number in the slice, and some that follow in its lap."""
        position = number % self.length
        count = min(count, self.length - position)
        return self.items(slice * self.length + position, count, number, producer)

    def parts(self, bulk):
        """The items of a bulk's parts, which follow the records."""
        place, count = self.records + bulk[DOCUMENT], bulk[COUNT]
        return self.items(place, count, bulk[SEQUENCE], bulk[PRODUCER])


class Samples:
    """Samples of one thread on their way to the file."""

    def __init__(self, file, epoch_ns):
        self.file, self.epoch_ns = file, epoch_ns
        self.block, self.buffer, self.due_ns = [], bytearray(), 0

    def add(self, sample):
        """A tuple of intended_ns, start_ns, end_ns, index, operation, outcome and worker."""
        self.block.append(sample)
        if len(self.block) == BLOCK or sample[2] >= self.due_ns:
            self.pack()
            if len(self.buffer) >= BUFFER_BYTES or sample[2] >= self.due_ns:
                self.flush()
                self.due_ns = sample[2] + HELD_NS

    def pack(self):
        pack, epoch_ns = SAMPLE.pack, self.epoch_ns
        self.buffer += b"".join([
            pack(intended_ns - epoch_ns, start_ns - epoch_ns, end_ns - start_ns,
                 index, operation, outcome, worker)
            for intended_ns, start_ns, end_ns, index, operation, outcome, worker in self.block
        ])  # fmt: skip
        self.block.clear()

    def flush(self):
        self.pack()
        # An unbuffered write is whole or an error: threads share the file without a lock.
        if self.file.write(self.buffer) != len(self.buffer):
            raise OSError("the sample file takes no more")
        self.buffer.clear()


class Errors:
    """Failures by code and name, of all workers."""

    def __init__(self):
        self.named, self.lock = {}, Lock()

    def note(self, fault):
        """Count the fault under its name, and return the sample's outcome."""
        outcome, code, name = dialect.failure(fault)
        with self.lock:
            if (code, name) not in self.named:
                error = {"code": code, "name": name, "count": 0, "message": told(fault)}
                self.named[code, name] = error
            self.named[code, name]["count"] += 1
        return outcome


def rotated(calls, first):
    first %= len(calls)
    return calls[first:] + calls[:first]


class Worker:
    """A worker's place in its slice of the schedule, and the results of its operations."""

    def __init__(self, phase, place, producer, samples):
        self.phase, self.producer, self.samples = phase, producer, samples
        self.slice = 0 if phase.queued else place
        self.numbers = phase.numbers[self.slice]
        # The worker's own client; if operations are dealt, the others after it in turn.
        own, some = (self.slice, None) if phase.deals else (place, 1)
        self.plans = [(make, rotated(calls, own)[:some]) for make, calls in phase.plans]
        self.held = None  # a number whose time is after the turn's end
        self.documents = self.sum = self.failures = self.last_ns = 0
        self.gave_up = False

    def read(self, number, count=1):
        return self.phase.schedule.block(self.slice, number, count, self.producer)

    def plan(self, item):
        """The maker of what its call is given, the call, and the function that reads the answer."""
        make, calls = self.plans[item[OPERATION]]
        return make, *calls[item[SEQUENCE] % len(calls)]

    def items(self, began_ns):
        """For each operation of a turn, when it is due (0: at once), and its item."""
        phase, numbers, due_ns = self.phase, self.numbers, 0
        # Local names, because this runs between any two operations.
        block, begin, queued, think_ns = [], 0, phase.queued, phase.think_ns
        count = 1 if queued else BLOCK  # the numbers that follow in a queue are other workers'
        self.last_ns, self.samples.due_ns = began_ns, began_ns + HELD_NS
        while self.last_ns < phase.deadline_ns and not self.gave_up:
            number, self.held = self.held, None
            if number is None and (number := next(numbers, None)) is None:
                return
            if number >= begin + len(block):
                block, begin = self.read(number, count), number
            item = block[number - begin]
            if queued:
                due_ns = phase.due_ns(item)
                if due_ns >= phase.deadline_ns:
                    self.held = number
                    return
            yield due_ns, item
            if think_ns:
                due_ns = self.last_ns + think_ns
                if due_ns >= phase.deadline_ns:
                    return

    def note(self, due_ns, item, start_ns, end_ns, answer, fault):
        """Keep the sample and the answer of an operation."""
        if fault is None:
            self.failures = outcome = 0
            if answer:
                self.documents += answer[0]
                self.sum += answer[1]
        else:
            outcome = self.phase.errors.note(fault)
            self.failures += 1
            self.gave_up = self.gave_up or self.failures >= self.phase.failures_max
        intended_ns = due_ns if self.phase.queued else start_ns
        number, operation = item[SEQUENCE], item[OPERATION]
        sample = intended_ns, start_ns, end_ns, number, operation, outcome, self.producer
        self.samples.add(sample)
        self.last_ns = end_ns


class Phase:
    """A phase between its turns.

    Its model of workers says what they are (`api`, `worker`, `concurrency`, `consumer_ns`), how the
    harness runs beside them, and how it waits for an answer of theirs.
    """

    origin_ns = None  # T0
    shares_samples = False

    def __init__(self, message, session, epoch_ns):
        pacing = message["pacing"]
        self.mode, self.size = pacing["mode"], pacing.get("size", 0)
        self.think_ns = pacing.get("think_ns", 0)
        self.queued = self.mode in ("rate", "burst")  # the workers share one queue
        self.deals, self.epoch_ns = session["deal"] == "operation", epoch_ns
        self.failures_max, self.errors = message["errors_consecutive_max"], Errors()
        slices = 1 if self.queued else message["workers"]
        # A range knows how much is left, and taking its next number needs no lock except Python's.
        self.numbers = [iter(range(limit)) for limit in message["limits"] or [sys.maxsize] * slices]
        self.schedule = Schedule(message["schedule"], message["lap_step"])
        makers, self.plans = Makers(message, self.schedule, epoch_ns), []
        # Taking the next number needs no lock except Python's.
        self.retries, operations = count(), message["operations"]
        self.commits = any(each["kind"] == "transaction" for each in operations)
        for each in operations:
            bind = partial(dialect.bind, self.api, session["database"], each)
            if each["kind"] == "transaction":
                bind = partial(dialect.bind_transaction, bind, operations, self.retries)
            self.plans.append((makers.maker(each), list(map(bind, session["clients"]))))
        self.file = open(message["samples"], "wb", buffering=0)
        samples, self.workers = None, []
        for place in range(message["workers"]):
            if not (samples and self.shares_samples):
                samples = Samples(self.file, epoch_ns)
            producer = message["first_worker"] + place
            self.workers.append(self.worker(self, place, producer, samples))

    def due_ns(self, item):
        return self.origin_ns + (item[DUE_NS] if self.mode == "rate" else 0)

    def begin(self):
        began_ns = clock_ns()
        self.origin_ns = self.origin_ns or began_ns
        return began_ns

    def done(self, began_ns):
        held = any(worker.held is not None for worker in self.workers)
        return {
            "began_ns": began_ns - self.epoch_ns,
            "exhausted": not held and not any(map(length_hint, self.numbers)),
            "gave_up": any(worker.gave_up for worker in self.workers),
        }

    def end(self):
        self.file.close()
        documents = sum(worker.documents for worker in self.workers)
        total = sum(worker.sum for worker in self.workers)
        errors = list(self.errors.named.values())
        totals = {"documents": documents, "sum": total}
        if self.commits:
            totals["retries"] = next(self.retries)
        return {"totals": totals, "errors": errors}
