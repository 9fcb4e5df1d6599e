"""A phase: its workers, the turns they are let go for, and the samples they leave."""

from __future__ import annotations

import sys
import time
from operator import length_hint
from queue import SimpleQueue
from threading import Thread

import bson

from operations import KINDS, Answers, WrongAnswer, bind, identify, is_timeout
from protocol import SAMPLE, Refusal, Schedule, builder, copier, key_rule, template_builder

# The contract allows 32,768 samples. Fewer cost no more (one write every few ms of no-ops), and
# 100 workers take 13 MB of what is measured as the driver's memory, not 105.
BUFFER_BYTES = 4_096 * SAMPLE.size
NAP_NS = 100_000_000  # no signal wakes a thread that is not the main one, so sleep is cut up

clock_ns = time.monotonic_ns


class Inputs:
    """What the stamps of one worker take their values from."""

    key = lap = item = sequence = made = 0  # made: documents made for insertion in this phase
    guid = b""
    made_ns = property(lambda self: clock_ns() - self.epoch_ns)
    time_ms = property(lambda self: time.time_ns() // 1_000_000)

    def __init__(self, epoch_ns: int, producer: int):
        self.epoch_ns = epoch_ns
        self.producer = producer


def arguments_maker(operation: dict, pools: list, counter: dict, inputs: Inputs):
    """A function that makes an operation's arguments, before the clock is read."""
    parts = KINDS[operation["kind"]][1]
    if not parts:
        return lambda record, lap, sequence: ()
    rule = key_rule(operation["key"], counter, inputs.producer)
    builders = [
        builder(pools[operation[part]["pool"]], operation[part]["stamps"])
        if part == "documents"
        else template_builder(operation[part])
        for part in parts
    ]

    def make(record, lap, sequence, item=0):
        inputs.guid, inputs.lap, inputs.item = record[4], lap, item
        inputs.sequence = sequence + item
        inputs.key = rule(record[1], inputs.made)
        return [build(record[2] + item, inputs) for build in builders]

    def make_inserts(record, lap, sequence):
        documents = []
        for item in range(operation.get("batch", 1)):
            documents += make(record, lap, sequence, item)
            inputs.made += 1
        return [documents] if operation["kind"] == "insert_many" else documents

    return make_inserts if operation["kind"].startswith("insert") else make


class Worker:
    def __init__(self, phase: Phase, number: int, part: int, plans: list):
        self.phase = phase
        self.number = number
        self.numbers = phase.numbers[part]
        self.offset = phase.schedule.offset(part)
        self.plans = plans  # of each operation: what makes its arguments, and the call itself
        self.held = None  # the number of a record whose time lies behind the turn's end
        self.sequence = self.ended_ns = self.failed_in_a_row = self.failed = self.filled = 0
        self.errors = {}  # (code, name): [count, first message]
        self.buffer = bytearray(b"\xff") * BUFFER_BYTES  # written to, hence resident from here on
        self.turns = SimpleQueue()
        # A daemon: at the end of stdin the process exits, whatever its workers wait for.
        self.thread = Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self) -> None:
        for began_ns in iter(self.turns.get, None):
            try:
                if not self.gave_up:
                    self.drive(began_ns)
                self.flush()
                self.phase.finished.put(None)
            except Exception as fault:
                self.phase.finished.put(fault)

    @property
    def gave_up(self) -> bool:
        return self.failed_in_a_row >= self.phase.failures_max

    def drive(self, now_ns: int) -> None:
        # The hot path: what does not change is local, and a sample is packed where it stays.
        phase, schedule = self.phase, self.phase.schedule
        clock, pack_into, unpack_from = clock_ns, SAMPLE.pack_into, schedule.unpack_from
        length, size = schedule.slice_records, schedule.record_bytes
        epoch_ns, flag, due_of, queued = phase.epoch_ns, phase.flag, phase.due_of, phase.queued
        while now_ns < phase.deadline_ns and not self.gave_up:
            number, self.held = self.held, None
            if number is None:
                number = next(self.numbers, None)
                if number is None:
                    return
            lap, position = divmod(number, length)
            record = unpack_from(schedule.data, self.offset + position * size)
            if due_of:
                due_ns = due_of(record, lap, self.ended_ns)
                if not phase.sleep_until(due_ns):
                    self.held = number
                    return
            make, call = self.plans[record[3]]
            arguments = make(record, lap, self.sequence)
            start_ns = clock()
            try:
                call(*arguments)
                now_ns = clock()
                outcome = self.failed_in_a_row = 0
            except Exception as fault:
                now_ns = clock()
                outcome = self.note(fault)
            intended_ns = due_ns if queued else start_ns
            pack_into(self.buffer, self.filled, intended_ns - epoch_ns, start_ns - epoch_ns,
                      now_ns - start_ns, number, record[3], outcome | flag,
                      self.number)  # fmt: skip
            self.ended_ns = now_ns
            self.sequence += 1
            self.filled += SAMPLE.size
            if self.filled == BUFFER_BYTES:
                self.flush()

    def note(self, fault: Exception) -> int:
        """Count the fault under its name, and answer the sample's outcome."""
        self.failed += 1
        self.failed_in_a_row += 1
        name = identify(fault)
        if name not in self.errors:
            self.errors[name] = [0, str(fault)]
        self.errors[name][0] += 1
        return 1 if isinstance(fault, WrongAnswer) else 3 if is_timeout(fault) else 2

    def flush(self) -> None:
        # An unbuffered write is whole or an error: workers share the file without a lock.
        if self.phase.file.write(memoryview(self.buffer)[: self.filled]) != self.filled:
            raise OSError("the sample file takes no more")
        self.filled = 0


class Phase:
    def __init__(self, message: dict, database, epoch_ns: int):
        self.pacing, self.epoch_ns = message["pacing"], epoch_ns
        self.flag = 128 if message["warmup"] else 0
        self.failures_max = message["errors_consecutive_max"]
        self.queued = self.pacing["mode"] != "awaited"
        self.origin_ns = self.due_of = None
        self.deadline_ns = 0
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
        self.answers, plans = [], []
        for number in range(message["first_worker"], message["first_worker"] + workers):
            inputs, plan = Inputs(epoch_ns, number), []
            for each in operations:
                self.answers.append(Answers(each.get("sum_field")))
                make = arguments_maker(each, pools, message["counter"], inputs)
                plan.append((make, bind(database, each, self.answers[-1])))
            plans.append((number, plan))
        self.finished = SimpleQueue()
        self.file = open(message["samples"], "wb", buffering=0)
        self.workers = [
            Worker(self, number, index % slices, plan)
            for index, (number, plan) in enumerate(plans)
        ]

    def pace(self):
        """When an operation is due; None where that is at once."""
        origin_ns, lap_ns = self.origin_ns, self.schedule.lap_ns
        if self.pacing["mode"] == "rate":
            return lambda record, lap, ended_ns: origin_ns + record[0] + lap * lap_ns
        if self.pacing["mode"] == "burst":
            return lambda record, lap, ended_ns: origin_ns
        think_ns = self.pacing.get("think_ns", 0)
        return (lambda record, lap, ended_ns: ended_ns + think_ns) if think_ns else None

    def sleep_until(self, due_ns: int) -> bool:
        """Sleep, for spinning would hold the interpreter's lock; False if the turn ends before."""
        while due_ns < self.deadline_ns:
            left_ns = due_ns - clock_ns()
            if left_ns <= 0:
                return True
            time.sleep(min(left_ns, NAP_NS) / 1e9)
        return False

    def turn(self, start_ns: int, until_ns: int) -> dict:
        start_ns, until_ns = start_ns + self.epoch_ns, until_ns + self.epoch_ns
        operations, errors = self.total("sequence"), self.total("failed")
        ahead_ns = start_ns - clock_ns()
        if ahead_ns > 0:
            time.sleep(ahead_ns / 1e9)
        self.deadline_ns = until_ns
        self.running = True
        began_ns = clock_ns()
        if self.origin_ns is None:
            self.origin_ns = start_ns if ahead_ns > 0 else began_ns
            self.due_of = self.pace()
        for worker in self.workers:
            worker.turns.put(began_ns)
        faults = [fault for fault in [self.finished.get() for _ in self.workers] if fault]
        self.running = False
        if faults:
            raise faults[0]
        operations = self.total("sequence") - operations
        ends_ns = [worker.ended_ns for worker in self.workers]
        # A worker goes on before the deadline only, so only its last operation ends behind it.
        late = sum(end_ns > max(until_ns, began_ns) for end_ns in ends_ns)
        held = any(worker.held is not None for worker in self.workers)
        return {
            "began_ns": began_ns - self.epoch_ns,
            "ended_ns": max(began_ns, *ends_ns) - self.epoch_ns,
            "operations": operations,
            "completed_by_deadline": operations - late,
            "errors": self.total("failed") - errors,
            "exhausted": not held and not any(map(length_hint, self.numbers)),
            "gave_up": any(worker.gave_up for worker in self.workers),
        }

    def total(self, name: str) -> int:
        return sum(getattr(worker, name) for worker in self.workers)

    def end(self) -> dict:
        for worker in self.workers:
            worker.turns.put(None)
            worker.thread.join()
        samples = self.file.tell() // SAMPLE.size
        self.file.close()
        errors = {}
        for worker in self.workers:
            for (code, name), (count, message) in worker.errors.items():
                first = {"code": code, "name": name, "count": 0, "message": message}
                errors.setdefault((code, name), first)["count"] += count
        documents = sum(answers.documents for answers in self.answers)
        return {
            "operations": self.total("sequence"),
            "samples": samples,
            "totals": {"documents": documents, "sum": sum(each.sum for each in self.answers)},
            "errors": list(errors.values()),
        }
