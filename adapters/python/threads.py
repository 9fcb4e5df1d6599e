"""Workers that are threads, for the driver's blocking calls."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import Barrier, Thread

import pymongo4 as dialect
from consumer import Consumer
from documents import clock_ns
from harness import Adapter
from phase import NAP_NS, Phase, Worker


def timed(call, given) -> tuple:
    """Both readings of a call, its answer and its exception."""
    start_ns = clock_ns()
    try:
        answer = call(*given)
    except Exception as fault:
        return start_ns, clock_ns(), None, fault
    return start_ns, clock_ns(), answer, None


class ThreadWorker(Worker):
    def __init__(self, phase: ThreadPhase, place: int, plans: list):
        super().__init__(phase, place, plans, phase.samples())
        drive = self.drive
        if phase.pacing["mode"] == "window":
            self.size = phase.pacing["size"]
            self.slots = slots_started(self.size)
            drive = self.drive_window
        self.turns = SimpleQueue()
        # A daemon: at the end of stdin the process exits, whatever its workers wait for.
        self.thread = Thread(target=self.work, args=[drive], daemon=True)
        self.thread.start()

    def work(self, drive) -> None:
        for began_ns in iter(self.turns.get, None):
            try:
                if not self.gave_up:
                    drive(began_ns)
                self.samples.flush(self.ended_ns)
                self.phase.finished.put(None)
            except Exception as fault:
                self.phase.finished.put(fault)

    def drive(self, now_ns: int) -> None:
        phase, due_of, due_ns = self.phase, self.phase.due_of, None
        while now_ns < phase.deadline_ns and not self.gave_up:
            taken = self.take()
            if taken is None:
                return
            if due_of:
                due_ns = due_of(taken, self.ended_ns)
                if not phase.sleep_until(due_ns):
                    self.held = taken
                    return
            now_ns = self.note(taken, due_ns, *timed(*self.make(taken)))

    def drive_window(self, now_ns: int) -> None:
        """Documents and samples are made here: the threads of the slots only call and wait."""
        flying = deque()
        while True:
            if len(flying) == self.size:
                now_ns = self.land(flying)
            if now_ns >= self.phase.deadline_ns or self.gave_up:
                break
            taken = self.take()
            if taken is None:
                break
            flying.append((taken, self.slots.submit(timed, *self.make(taken))))
        while flying:
            self.land(flying)

    def land(self, flying: deque) -> int:
        taken, oldest = flying.popleft()
        return self.note(taken, None, *oldest.result())

    def close(self) -> None:
        self.turns.put(None)
        self.thread.join()
        if self.phase.pacing["mode"] == "window":
            self.slots.shutdown()


def slots_started(size: int) -> ThreadPoolExecutor:
    """A pool with all its threads: it would start them within the measurement."""
    slots, all_there = ThreadPoolExecutor(size), Barrier(size)
    for begun in [slots.submit(all_there.wait) for _ in range(size)]:
        begun.result()
    return slots


class ThreadPhase(Phase):
    calls = dialect.Calls

    def __init__(self, *arguments):
        self.finished = SimpleQueue()
        super().__init__(*arguments)

    def worker(self, place: int, plans: list) -> ThreadWorker:
        return ThreadWorker(self, place, plans)

    def sleep_until(self, due_ns: int) -> bool:
        """Sleep, for spinning would hold the interpreter's lock; False if the turn ends before."""
        while due_ns < self.deadline_ns:
            left_ns = due_ns - clock_ns()
            if left_ns <= 0:
                return True
            time.sleep(min(left_ns, NAP_NS) / 1e9)
        return False

    def turn(self, until_ns: int) -> dict:
        began_ns = self.begin(until_ns)
        for worker in self.workers:
            worker.turns.put(began_ns)
        faults = [fault for fault in [self.finished.get() for _ in self.workers] if fault]
        done = self.done(began_ns)
        if faults:
            raise faults[0]
        return done

    def end(self) -> dict:
        for worker in self.workers:
            worker.close()
        return self.ended()


class ThreadAdapter(Adapter):
    phase, consumer, consumer_ns = ThreadPhase, Consumer, 3_300
    concurrency = {"kind": "threads", "max": None, "threads": None}
