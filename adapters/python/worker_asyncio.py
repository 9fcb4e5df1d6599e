"""Workers that are tasks of one event loop, for the driver's coroutines."""

from __future__ import annotations

import asyncio
import sys
from functools import cached_property
from itertools import cycle

from alarm import Alarm
from operations_asyncio import KINDS
from phase import NAP_NS, Phase, Samples, Worker, clock_ns

PAUSE_NS = 250_000


class TaskWorker(Worker):
    alarm = None

    def __init__(self, phase: TaskPhase, *rest):
        super().__init__(phase, *rest)
        if phase.pacing["mode"] == "rate" or phase.pacing.get("think_ns"):
            self.alarm = Alarm()

    async def drive(self, now_ns: int) -> None:
        """Awaited, with think time, and by rate: one operation after the other."""
        phase, due_of, due_ns = self.phase, self.phase.due_of, None
        while now_ns < phase.deadline_ns and not self.gave_up:
            taken = self.take()
            if taken is None:
                return
            if due_of:
                due_ns = due_of(taken, self.ended_ns)
                if not await phase.sleep_until(due_ns, self.alarm):
                    self.held = taken
                    return
            now_ns = await self.perform(taken, due_ns, *self.make(taken))

    async def drive_window(self, now_ns: int) -> None:
        """A ring of tasks: the next operation begins when the oldest one has ended."""
        ring = [None] * self.phase.pacing["size"]
        for slot in cycle(range(len(ring))):
            if ring[slot] is not None:
                now_ns = await ring[slot]
            if now_ns >= self.phase.deadline_ns or self.gave_up:
                break
            taken = self.take()
            if taken is None:
                break
            ring[slot] = asyncio.create_task(self.perform(taken, None, *self.make(taken, slot)))
        await asyncio.gather(*filter(None, ring))

    async def perform(self, taken: tuple, due_ns, call, arguments) -> int:
        phase, fault = self.phase, None
        start_ns = clock_ns()
        try:
            await call(*arguments)
            end_ns = clock_ns()
        except Exception as raised:
            end_ns, fault = clock_ns(), raised
        self.note(taken, due_ns, start_ns, end_ns, fault)
        if end_ns >= phase.pause_due_ns:
            await phase.pause(end_ns)
        return end_ns


class TaskPhase(Phase):
    def __init__(self, message: dict, database, epoch_ns: int):
        # Calls that await nothing never let the loop turn, and others, or a signal, would starve.
        # These are those without an answer; all the others wait for one.
        asked = [database.write_concern.document] if database is not None else []
        asked += [each.get("write_concern") or {} for each in message["operations"]]
        unanswered = any(concern.get("w") == 0 for concern in asked)
        unanswered |= any(each["kind"] == "noop" for each in message["operations"])
        self.pause_due_ns = 0 if unanswered else sys.maxsize
        super().__init__(message, database, epoch_ns, KINDS)

    @cached_property
    def shared_samples(self) -> Samples:
        return self.samples()

    def worker(self, number: int, part: int, plans: list) -> TaskWorker:
        return TaskWorker(self, number, part, plans, self.shared_samples)

    async def pause(self, now_ns: int) -> None:
        """Let the loop turn once: some 10 us, so not behind each operation."""
        self.pause_due_ns = now_ns + PAUSE_NS
        await asyncio.sleep(0)

    async def sleep_until(self, due_ns: int, alarm: Alarm) -> bool:
        """Sleep; False if the turn ends before. Nobody spins, for it would take a whole CPU."""
        while due_ns < self.deadline_ns:
            now_ns = clock_ns()
            if due_ns <= now_ns:
                return True
            await alarm.until(min(due_ns, now_ns + NAP_NS))
        return False

    async def burst(self, workers: list, began_ns: int) -> None:
        """All of them, as gather over a list of coroutines issues them; they go round the workers.

        The first await comes when every document is made and every task is there, in that order:
        what happens to them then, the loop and the driver decide.
        """
        flying, now_ns = [], began_ns
        for worker in cycle(workers):
            taken = worker.take() if now_ns < self.deadline_ns else None
            if taken is None:
                break
            made = worker.make(taken)
            flying.append(asyncio.create_task(worker.perform(taken, self.origin_ns, *made)))
            now_ns = clock_ns()
        await asyncio.gather(*flying)

    async def turn(self, start_ns: int, until_ns: int) -> dict:
        start_ns, until_ns = start_ns + self.epoch_ns, until_ns + self.epoch_ns
        ahead = start_ns > clock_ns()
        if ahead:
            self.deadline_ns = sys.maxsize
            alarm = Alarm()
            await self.sleep_until(start_ns, alarm)
            alarm.close()
        began_ns = self.begin(start_ns, until_ns, ahead)
        willing = [worker for worker in self.workers if not worker.gave_up]
        if self.pacing["mode"] == "burst":
            await self.burst(willing, began_ns)
        elif self.pacing["mode"] == "window":
            await asyncio.gather(*(worker.drive_window(began_ns) for worker in willing))
        else:
            await asyncio.gather(*(worker.drive(began_ns) for worker in willing))
        self.shared_samples.flush()
        return self.turned(began_ns)

    def end(self) -> dict:
        for worker in self.workers:
            if worker.alarm:
                worker.alarm.close()
        return self.ended()
