"""Workers that are tasks of one event loop, for the driver's coroutines."""

import asyncio
import ctypes
import os
import sys
import time
from collections import deque
from functools import partial
from itertools import cycle
from threading import Thread

import dialect_asyncio
from documents import SEQUENCE, clock_ns
from phase import NAP_NS, Phase, Worker

PAUSE_NS = 250_000
TIMER_ABSTIME = 1
LIBC = ctypes.CDLL(None)  # the module os has timers only since Python 3.13
LOOP = asyncio.new_event_loop()


class Alarm:
    """A timer of the kernel, some 0.1 ms late: the loop's own timers count whole milliseconds."""

    def __init__(self):
        self.timer = LIBC.timerfd_create(time.CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        LOOP.add_reader(self.timer, self.ring)

    def ring(self):
        os.read(self.timer, 8)
        self.sleeper.set_result(None)

    async def until(self, due_ns):
        self.sleeper = LOOP.create_future()
        # No interval, and the time when it ends: seconds and nanoseconds of each.
        times = (ctypes.c_long * 4)(0, 0, *divmod(due_ns, 1_000_000_000))
        LIBC.timerfd_settime(self.timer, TIMER_ABSTIME, times, None)
        await self.sleeper

    def close(self):
        LOOP.remove_reader(self.timer)
        os.close(self.timer)


class TaskWorker(Worker):
    alarm = None

    async def drive(self, began_ns):
        """Awaited, with think time, and by rate: one operation after the other."""
        for due_ns, item in self.items(began_ns):
            if due_ns and not await self.sleep_until(due_ns):
                return
            await self.perform(due_ns, item)

    async def keep_flying(self, began_ns):
        flying = deque()
        for due_ns, item in self.items(began_ns):
            flying.append(asyncio.create_task(self.perform(due_ns, item)))
            if len(flying) == self.phase.size:
                await flying.popleft()
        await asyncio.gather(*flying)

    async def sleep_until(self, due_ns):
        """Sleep; False if it is stopped before. Spinning would take a whole CPU."""
        while due_ns < self.phase.deadline_ns:
            now_ns = clock_ns()
            if due_ns <= now_ns:
                return True
            self.alarm = self.alarm or Alarm()
            await self.alarm.until(min(due_ns, now_ns + NAP_NS))
        return False

    def perform(self, due_ns, item):
        """A coroutine of the call, whose arguments are made here, before any other task runs."""
        make, method, finish = self.plan(item)
        return self.call(due_ns, item, method, finish, make(item))

    async def call(self, due_ns, item, method, finish, given):
        phase, answer, fault = self.phase, None, None
        start_ns = clock_ns()
        try:
            answer = await method(*given)
            answer = finish(answer) if finish else None
            end_ns = clock_ns()
        except Exception as raised:
            end_ns, fault = clock_ns(), raised
        self.note(due_ns, item, start_ns, end_ns, answer, fault)
        if end_ns >= phase.pause_due_ns:
            # Yield to the loop once: some 10 us, so not after each operation.
            phase.pause_due_ns = end_ns + PAUSE_NS
            await asyncio.sleep(0)


class TaskPhase(Phase):
    api, worker, consumer_ns = dialect_asyncio, TaskWorker, None
    concurrency = {"kind": "tasks", "max": None, "threads": 1}
    shares_samples = True

    def __init__(self, message, session, epoch_ns):
        super().__init__(message, session, epoch_ns)
        # Calls that await nothing never yield to the loop, and other workers would starve. These
        # are the calls without an answer; all others wait for one.
        is_unanswered = partial(dialect_asyncio.is_unanswered, session["clients"][0])
        unanswered = any(map(is_unanswered, message["operations"]))
        self.pause_due_ns = 0 if unanswered else sys.maxsize

    async def burst(self, began_ns):
        """All operations, issued as gather over a list of coroutines does; the workers take them in
        turn.

        The first await comes when every document is made and every task exists, in that order; from
        then on the loop and the driver decide.
        """
        flying, taker = [], self.workers[0]
        willing = [worker for worker in self.workers if not worker.gave_up]
        for worker, (due_ns, taken) in zip(cycle(willing), taker.items(began_ns)):
            [item] = worker.read(taken[SEQUENCE])  # with this worker's number
            flying.append(asyncio.create_task(worker.perform(due_ns, item)))
            taker.last_ns = clock_ns()
        await asyncio.gather(*flying)

    async def turn(self):
        began_ns = self.begin()
        if self.mode == "burst":
            await self.burst(began_ns)
        else:
            drive = TaskWorker.keep_flying if self.size else TaskWorker.drive
            await asyncio.gather(*(drive(worker, began_ns) for worker in self.workers))
        self.workers[0].samples.flush()
        return self.done(began_ns)

    async def end(self):
        for worker in self.workers:
            if worker.alarm:
                worker.alarm.close()
        return super().end()

    @staticmethod
    def run(conversation):
        """The loop runs in the main thread, as in a program; between turns the monitors do."""
        Thread(target=conversation, daemon=True).start()
        LOOP.run_forever()

    @staticmethod
    def wait(answer):
        return asyncio.run_coroutine_threadsafe(answer, LOOP).result()
