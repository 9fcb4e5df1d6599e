"""A phase with threads or tasks: its schedule, its workers, their samples."""

from __future__ import annotations

import struct
import sys
from operator import length_hint
from pathlib import Path

import pymongo4 as dialect
from documents import Maker, clock_ns, copier

HEADER = struct.Struct("<8sIIIIQ")
# Both have seven fields (without a guid an empty one), so no reader asks which record it has.
RECORDS = {32: struct.Struct("<QQIIBB6x0s"), 48: struct.Struct("<QQIIBB6x16s")}
SAMPLE = struct.Struct("<QQQIBBH")
# The contract allows 32,768 samples. Fewer cost no more (one write every few ms of no-ops), and
# 100 workers take 13 MB of the driver's measured memory, not 105.
BUFFER_BYTES = 4_096 * SAMPLE.size
HELD_NS = 1_000_000_000  # a buffer is written at the latest so long after it was begun
NAP_NS = 100_000_000  # a sleeper looks this often whether it has been stopped
QUEUED = ("rate", "burst")  # pacings whose workers share one queue
TIMEOUT_CODES = (50, 262)
MESSAGE_MAX = 4_096  # characters that are told of an error


class Refusal(Exception):
    """A message that is answered with `error`."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


class Schedule:
    def __init__(self, path: str):
        self.data = Path(path).read_bytes()
        magic, self.record_bytes, records, slices, parts, self.lap_ns = HEADER.unpack_from(
            self.data
        )
        whole = HEADER.size + self.record_bytes * (records + parts)
        if magic != b"MDYNSCH2" or self.record_bytes not in RECORDS or len(self.data) != whole:
            raise Refusal("internal", f"{path} is no schedule, or not all of one")
        self.slice_records = records // slices
        self.parts_offset = HEADER.size + records * self.record_bytes
        self.unpack_from = RECORDS[self.record_bytes].unpack_from

    def offset(self, part: int) -> int:
        return HEADER.size + part * self.slice_records * self.record_bytes

    def part(self, number: int) -> tuple:
        """A part of a bulk."""
        return self.unpack_from(self.data, self.parts_offset + number * self.record_bytes)


class Samples:
    """Samples on their way to the file, of one thread."""

    def __init__(self, file, epoch_ns: int):
        self.file, self.epoch_ns = file, epoch_ns
        self.buffer = bytearray(b"\xff") * BUFFER_BYTES  # written to, hence resident from here on
        self.filled = self.due_ns = 0

    def add(self, intended_ns, start_ns, end_ns, index, operation, outcome, worker) -> None:
        SAMPLE.pack_into(self.buffer, self.filled, intended_ns - self.epoch_ns,
                         start_ns - self.epoch_ns, end_ns - start_ns, index, operation, outcome,
                         worker)  # fmt: skip
        self.filled += SAMPLE.size
        if self.filled == BUFFER_BYTES or end_ns >= self.due_ns:
            self.flush(end_ns)

    def flush(self, now_ns: int) -> None:
        # An unbuffered write is whole or an error: threads share the file without a lock.
        if self.file.write(memoryview(self.buffer)[: self.filled]) != self.filled:
            raise OSError("the sample file takes no more")
        self.filled, self.due_ns = 0, now_ns + HELD_NS


class Faults:
    """Failures by code and name."""

    def __init__(self):
        self.in_a_row = 0
        self.named = {}  # (code, name): [count, first message]

    def note(self, fault: Exception) -> int:
        """Count the fault under its name, and return the sample's outcome."""
        self.in_a_row += 1
        code, name, is_timeout = dialect.describe(fault)
        if (code, name) not in self.named:
            self.named[code, name] = [0, str(fault)[:MESSAGE_MAX]]
        self.named[code, name][0] += 1
        if isinstance(fault, dialect.WrongAnswer):
            return 1
        return 3 if is_timeout or code in TIMEOUT_CODES else 2


def errors_of(all_faults: list) -> list:
    """The `errors` of `ended`."""
    errors = {}
    for faults in all_faults:
        for (code, name), (count, message) in faults.named.items():
            first = {"code": code, "name": name, "count": 0, "message": message}
            errors.setdefault((code, name), first)["count"] += count
    return list(errors.values())


class Worker:
    """A worker's place in its slice of the schedule, and the results of its operations."""

    def __init__(self, phase: Phase, place: int, plans: list, samples: Samples):
        self.phase = phase
        part = 0 if phase.queued else place
        self.number = phase.first_worker + place
        # Clients are dealt to operations: that of number i uses the one of place + i.
        self.dealt, self.place = any(len(calls) > 1 for _, calls in plans), part
        self.numbers = phase.numbers[part]
        self.offset = phase.schedule.offset(part)
        self.plans = plans  # of each operation: the maker of what is given, its call by client
        self.samples = samples
        self.held = None  # a record whose time lies behind the turn's end
        self.documents = self.sum = self.ended_ns = 0
        self.faults = Faults()
        self.gave_up = False

    def take(self):
        """Number, lap and record of the next operation, None if there is no more."""
        taken, self.held = self.held, None
        if taken is not None:
            return taken
        number = next(self.numbers, None)
        if number is None:
            return None
        schedule = self.phase.schedule
        lap, position = divmod(number, schedule.slice_records)
        at = self.offset + position * schedule.record_bytes
        return number, lap, schedule.unpack_from(schedule.data, at)

    def make(self, taken: tuple):
        """The call of the operation taken, and what it is given."""
        number, lap, record = taken
        make, calls = self.plans[record[4]]
        call = calls[(self.place + number) % len(calls)] if self.dealt else calls[0]
        return call, make(record, lap, number)

    def note(self, taken: tuple, due_ns, start_ns: int, end_ns: int, answer, fault) -> int:
        """Keep the sample and the answer of an operation, and return its end."""
        number, _, record = taken
        if fault is None:
            outcome = self.faults.in_a_row = 0
            if answer is not None:
                self.documents += answer[0]
                self.sum += answer[1]
        else:
            outcome = self.faults.note(fault)
            self.gave_up = self.faults.in_a_row >= self.phase.failures_max
        intended_ns = due_ns if self.phase.queued else start_ns
        self.samples.add(intended_ns, start_ns, end_ns, number, record[4], outcome, self.number)
        if end_ns > self.ended_ns:
            self.ended_ns = end_ns
        return end_ns


class Phase:
    """A phase between its turns. `calls` binds an operation, `worker` makes a worker."""

    calls = None

    def __init__(self, message: dict, clients: Clients, epoch_ns: int):
        self.pacing, self.epoch_ns = message["pacing"], epoch_ns
        self.failures_max = message["errors_consecutive_max"]
        self.first_worker = message["first_worker"]
        self.queued = self.pacing["mode"] in QUEUED
        self.origin_ns = self.due_of = None
        self.deadline_ns = 0
        self.running = False
        workers, operations = message["workers"], message["operations"]
        slices = 1 if self.queued else workers
        # A range knows how much is left, and taking its next number needs no lock but Python's.
        self.numbers = [iter(range(limit)) for limit in message["limits"] or [sys.maxsize] * slices]
        self.schedule = Schedule(message["schedule"])
        pools = [
            [copier(document) for document in dialect.decode(Path(path).read_bytes())]
            for path in message["pools"]
        ]
        # Of each operation: its calls by client.
        bound = [clients.bind(self.calls, each) for each in operations]
        plans = []
        for place in range(workers):
            number = self.first_worker + place
            maker = Maker(message, self.schedule, pools, epoch_ns, number)
            dealt = [clients.dealt(calls, place) for calls in bound]
            plans.append(list(zip(map(maker.compiled, operations), dealt)))
        self.file = open(message["samples"], "wb", buffering=0)
        self.workers = [self.worker(place, plan) for place, plan in enumerate(plans)]

    def samples(self) -> Samples:
        return Samples(self.file, self.epoch_ns)

    def pace(self):
        """When an operation is due; None: at once."""
        origin_ns, lap_ns = self.origin_ns, self.schedule.lap_ns
        if self.pacing["mode"] == "rate":
            return lambda taken, ended_ns: origin_ns + taken[2][0] + taken[1] * lap_ns
        if self.pacing["mode"] == "burst":
            return lambda taken, ended_ns: origin_ns
        think_ns = self.pacing.get("think_ns", 0)
        return (lambda taken, ended_ns: ended_ns + think_ns) if think_ns else None

    def begin(self, until_ns: int) -> int:
        """Set the turn's end and, in the first, T0; return its begin."""
        self.deadline_ns = until_ns + self.epoch_ns
        self.running = True
        began_ns = clock_ns()
        if self.origin_ns is None:
            self.origin_ns = began_ns
            self.due_of = self.pace()
        for worker in self.workers:
            worker.samples.due_ns = began_ns + HELD_NS
            worker.ended_ns = -sys.maxsize  # think time does not go on from turn to turn
        return began_ns

    def done(self, began_ns: int) -> dict:
        self.running = False
        held = any(worker.held is not None for worker in self.workers)
        return {
            "began_ns": began_ns - self.epoch_ns,
            "exhausted": not held and not any(map(length_hint, self.numbers)),
            "gave_up": any(worker.gave_up for worker in self.workers),
        }

    def ended(self) -> dict:
        self.file.close()
        totals = {
            "documents": sum(worker.documents for worker in self.workers),
            "sum": sum(worker.sum for worker in self.workers),
        }
        return {"totals": totals, "errors": errors_of([each.faults for each in self.workers])}


class Clients:
    """The clients of `open`, and how workers and operations are dealt to them."""

    def __init__(self, clients: list, deal: str, database: str):
        self.all, self.by_operation, self.database = clients, deal == "operation", database

    def bind(self, calls, operation: dict) -> list:
        return [dialect.bind(calls, client, self.database, operation) for client in self.all]

    def dealt(self, calls: list, place: int) -> list:
        return calls if self.by_operation else [calls[place % len(calls)]]


NO_CLIENTS = Clients([None], "worker", "")  # of no-ops before `open`
