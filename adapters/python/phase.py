"""A phase with threads or tasks: its workers, their documents, their samples."""

from __future__ import annotations

import sys
import time
from operator import length_hint

import bson

from operations import Answers, WrongAnswer, bind, identify, is_timeout
from protocol import SAMPLE, Refusal, Schedule, builder, copier, key_rule, template_builder

# The contract allows 32,768 samples. Fewer cost no more (one write every few ms of no-ops), and
# 100 workers take 13 MB of the driver's measured memory, not 105.
BUFFER_BYTES = 4_096 * SAMPLE.size
NAP_NS = 100_000_000  # a sleeper looks this often whether it has been stopped
QUEUED = ("rate", "burst")  # pacings whose workers share one queue

clock_ns = time.monotonic_ns


class Inputs:
    """The values for the stamps of one worker."""

    key = lap = item = sequence = made = 0  # made: documents made for insertion in this phase
    guid = b""
    made_ns = property(lambda self: clock_ns() - self.epoch_ns)
    time_ms = property(lambda self: time.time_ns() // 1_000_000)

    def __init__(self, epoch_ns: int, producer: int):
        self.epoch_ns = epoch_ns
        self.producer = producer


def arguments_maker(operation: dict, parts: tuple, pools: list, counter: dict, inputs: Inputs):
    """A function that makes an operation's arguments, before the clock is read."""
    if not parts:
        return lambda record, lap, index: ()
    rule = key_rule(operation["key"], counter, inputs.producer)
    builders = [
        builder(pools[operation[part]["pool"]], operation[part]["stamps"])
        if part == "documents"
        else template_builder(operation[part])
        for part in parts
    ]

    def make(record, lap, index, item=0):
        inputs.guid, inputs.lap, inputs.item = record[4], lap, item
        inputs.sequence = index + item
        inputs.key = rule(record[1], inputs.made)
        return [build(record[2] + item, inputs) for build in builders]

    def make_inserts(record, lap, index):
        documents = []
        for item in range(operation.get("batch", 1)):
            documents += make(record, lap, index, item)
            inputs.made += 1
        return [documents] if operation["kind"] == "insert_many" else documents

    return make_inserts if operation["kind"].startswith("insert") else make


class Samples:
    """Samples on their way to the file, of one thread."""

    def __init__(self, file, epoch_ns: int, warmup: bool):
        self.file, self.epoch_ns = file, epoch_ns
        self.flag = 128 if warmup else 0
        self.buffer = bytearray(b"\xff") * BUFFER_BYTES  # written to, hence resident from here on
        self.filled = 0

    def add(self, intended_ns, start_ns, service_ns, index, operation, outcome, worker) -> None:
        SAMPLE.pack_into(self.buffer, self.filled, intended_ns - self.epoch_ns,
                         start_ns - self.epoch_ns, service_ns, index, operation,
                         outcome | self.flag, worker)  # fmt: skip
        self.filled += SAMPLE.size
        if self.filled == BUFFER_BYTES:
            self.flush()

    def flush(self) -> None:
        # An unbuffered write is whole or an error: threads share the file without a lock.
        if self.file.write(memoryview(self.buffer)[: self.filled]) != self.filled:
            raise OSError("the sample file takes no more")
        self.filled = 0


class Faults:
    """Failures by code and name."""

    def __init__(self):
        self.count = self.in_a_row = 0
        self.named = {}  # (code, name): [count, first message]

    def note(self, fault: Exception) -> int:
        """Count the fault under its name, and return the sample's outcome."""
        self.count += 1
        self.in_a_row += 1
        name = identify(fault)
        if name not in self.named:
            self.named[name] = [0, str(fault)]
        self.named[name][0] += 1
        return 1 if isinstance(fault, WrongAnswer) else 3 if is_timeout(fault) else 2


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

    def __init__(self, phase: Phase, number: int, part: int, plans: list, samples: Samples):
        self.phase = phase
        # No two calls of a window add to the same answers: threads would need a lock for that.
        width = phase.pacing["size"] if phase.pacing["mode"] == "window" else 1
        self.answers = [[Answers(field) for field in phase.sum_fields] for _ in range(width)]
        self.number = number
        self.numbers = phase.numbers[part]
        self.offset = phase.schedule.offset(part)
        self.plans = plans  # of each operation: the maker of its arguments, and the call itself
        self.samples = samples
        self.held = None  # a record whose time lies behind the turn's end
        self.operations = self.late = self.ended_ns = 0
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

    def make(self, taken: tuple, slot: int = 0):
        """The call of the operation taken, and its arguments."""
        number, lap, record = taken
        make, call = self.plans[record[3]]
        return call, (self.answers[slot][record[3]], *make(record, lap, number))

    def note(self, taken: tuple, due_ns, start_ns: int, end_ns: int, fault) -> int:
        """Keep the sample of an operation, and return its end."""
        number, _, record = taken
        if fault is None:
            outcome = self.faults.in_a_row = 0
        else:
            outcome = self.faults.note(fault)
            self.gave_up = self.faults.in_a_row >= self.phase.failures_max
        intended_ns = due_ns if self.phase.queued else start_ns
        self.samples.add(
            intended_ns, start_ns, end_ns - start_ns, number, record[3], outcome, self.number
        )
        self.operations += 1
        self.late += end_ns > self.phase.until_ns
        if end_ns > self.ended_ns:
            self.ended_ns = end_ns
        return end_ns


class Phase:
    """A phase between its turns. `worker` makes a worker."""

    def __init__(self, message: dict, database, epoch_ns: int, kinds: dict):
        self.pacing, self.epoch_ns = message["pacing"], epoch_ns
        self.warmup = message["warmup"]
        self.failures_max = message["errors_consecutive_max"]
        self.queued = self.pacing["mode"] in QUEUED
        self.origin_ns = self.due_of = None
        self.deadline_ns = self.until_ns = 0  # the same, but that a stop moves the deadline
        self.running = False
        workers, operations = message["workers"], message["operations"]
        slices = 1 if self.queued else workers
        limits = message.get("limits") or [sys.maxsize] * slices
        if workers < 1 or len(limits) != slices:
            raise Refusal("protocol", "prepare: no workers, or not a limit for each slice")
        # A range knows how much is left, and taking its next number needs no lock but Python's.
        self.numbers = [iter(range(limit)) for limit in limits]
        self.schedule = Schedule(message["schedule"], slices, len(operations))
        pools = []
        for path in message["pools"]:
            with open(path, "rb") as file:
                pools.append([copier(document) for document in bson.decode_all(file.read())])
        self.sum_fields = [each.get("sum_field") for each in operations]
        plans = []
        for number in range(message["first_worker"], message["first_worker"] + workers):
            inputs, plan = Inputs(epoch_ns, number), []
            for each in operations:
                parts = kinds[each["kind"]][1]
                if each["kind"] == "noop" and each.get("documents"):
                    parts = ("documents",)
                make = arguments_maker(each, parts, pools, message["counter"], inputs)
                plan.append((make, bind(database, each, kinds)))
            plans.append((number, plan))
        self.file = open(message["samples"], "wb", buffering=0)
        self.workers = [
            self.worker(number, index % slices, plan) for index, (number, plan) in enumerate(plans)
        ]

    def worker(self, number: int, part: int, plans: list) -> Worker:
        raise NotImplementedError

    def samples(self) -> Samples:
        return Samples(self.file, self.epoch_ns, self.warmup)

    def pace(self):
        """When an operation is due; None: at once."""
        origin_ns, lap_ns = self.origin_ns, self.schedule.lap_ns
        if self.pacing["mode"] == "rate":
            return lambda taken, ended_ns: origin_ns + taken[2][0] + taken[1] * lap_ns
        if self.pacing["mode"] == "burst":
            return lambda taken, ended_ns: origin_ns
        think_ns = self.pacing.get("think_ns", 0)
        return (lambda taken, ended_ns: ended_ns + think_ns) if think_ns else None

    def begin(self, start_ns: int, until_ns: int, ahead: bool) -> int:
        """Set the turn's end and, in the first, T0; return its begin."""
        self.deadline_ns = self.until_ns = until_ns
        self.running = True
        began_ns = clock_ns()
        if self.origin_ns is None:
            self.origin_ns = start_ns if ahead else began_ns
            self.due_of = self.pace()
        self.before = self.counts()
        return began_ns

    def counts(self) -> list:
        each = ((worker.operations, worker.late, worker.faults.count) for worker in self.workers)
        return [sum(column) for column in zip(*each)]

    def turned(self, began_ns: int) -> dict:
        self.running = False
        now = zip(self.counts(), self.before)
        operations, late, errors = [after - before for after, before in now]
        ended_ns = max(began_ns, *(worker.ended_ns for worker in self.workers))
        held = any(worker.held is not None for worker in self.workers)
        return {
            "began_ns": began_ns - self.epoch_ns,
            "ended_ns": ended_ns - self.epoch_ns,
            "operations": operations,
            "completed_by_deadline": operations - late,
            "errors": errors,
            "exhausted": not held and not any(map(length_hint, self.numbers)),
            "gave_up": any(worker.gave_up for worker in self.workers),
        }

    def ended(self) -> dict:
        samples = self.file.tell() // SAMPLE.size
        self.file.close()
        slots = [slot for worker in self.workers for slot in worker.answers]
        answers = [each for slot in slots for each in slot]
        return {
            "operations": self.counts()[0],
            "samples": samples,
            "totals": {
                "documents": sum(each.documents for each in answers),
                "sum": sum(each.sum for each in answers),
            },
            "errors": errors_of([worker.faults for worker in self.workers]),
        }
