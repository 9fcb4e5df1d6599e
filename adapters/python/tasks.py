"""Workers that are tasks of one event loop, for the driver's coroutines."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from functools import cached_property
from inspect import isawaitable
from itertools import cycle

from pymongo import AsyncMongoClient

import pymongo4 as dialect
from alarm import Alarm
from documents import clock_ns
from harness import NO_CLIENTS, Adapter, refused
from phase import NAP_NS, Phase, Samples, Worker
from pymongo4_asyncio import AsyncioCalls

LINE_BYTES_MAX = (1 << 20) + 1  # with its end
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
            ring[slot] = asyncio.create_task(self.perform(taken, None, *self.make(taken)))
        await asyncio.gather(*filter(None, ring))

    async def perform(self, taken: tuple, due_ns, call, given) -> int:
        phase, answer, fault = self.phase, None, None
        start_ns = clock_ns()
        try:
            answer = await call(*given)
            end_ns = clock_ns()
        except Exception as raised:
            end_ns, fault = clock_ns(), raised
        self.note(taken, due_ns, start_ns, end_ns, answer, fault)
        if end_ns >= phase.pause_due_ns:
            await phase.pause(end_ns)
        return end_ns


class TaskPhase(Phase):
    calls = AsyncioCalls

    def __init__(self, message: dict, clients, epoch_ns: int):
        # Calls that await nothing never let the loop turn, and others, or a signal, would starve.
        # These are those without an answer; all the others wait for one.
        unanswered = any(
            dialect.is_unanswered(clients.all[0], each) for each in message["operations"]
        )
        self.pause_due_ns = 0 if unanswered else sys.maxsize
        super().__init__(message, clients, epoch_ns)

    @cached_property
    def shared_samples(self) -> Samples:
        return self.samples()

    def worker(self, place: int, plans: list) -> TaskWorker:
        return TaskWorker(self, place, plans, self.shared_samples)

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

    async def turn(self, until_ns: int) -> dict:
        began_ns = self.begin(until_ns)
        willing = [worker for worker in self.workers if not worker.gave_up]
        if self.pacing["mode"] == "burst":
            await self.burst(willing, began_ns)
        elif self.pacing["mode"] == "window":
            await asyncio.gather(*(worker.drive_window(began_ns) for worker in willing))
        else:
            await asyncio.gather(*(worker.drive(began_ns) for worker in willing))
        self.shared_samples.flush(clock_ns())
        return self.done(began_ns)

    def end(self) -> dict:
        for worker in self.workers:
            if worker.alarm:
                worker.alarm.close()
        return self.ended()


class Input(asyncio.StreamReaderProtocol):
    def __init__(self, lines: asyncio.StreamReader, adapter: TaskAdapter):
        super().__init__(lines)
        self.adapter = adapter

    def eof_received(self) -> bool | None:
        if self.adapter.in_turn():
            os._exit(0)  # the core is gone
        return super().eof_received()


class TaskAdapter(Adapter):
    phase = TaskPhase
    concurrency = {"kind": "tasks", "max": None, "threads": 1}

    def run(self) -> None:
        asyncio.run(self.converse())

    async def converse(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the core's, which then tells us
        # Not a blocking read: between the turns the driver's monitors need the loop.
        lines = asyncio.StreamReader(limit=LINE_BYTES_MAX)
        await loop.connect_read_pipe(lambda: Input(lines, self), sys.stdin)
        while not self.done:
            line = await lines.readline()
            if not line:
                return
            try:
                handle, message = self.handler(line)
                answer = handle(message)
                kind, fields = await answer if isawaitable(answer) else answer
            except Exception as fault:
                self.refuse(fault)
            else:
                self.reply(kind, fields)

    async def on_open(self, message: dict):
        clients = []
        try:
            for target in message["clients"]:
                clients.append(dialect.connect(target, AsyncMongoClient))
                await clients[-1].admin.command("ping")
        except Exception as fault:
            for client in clients:
                await client.close()
            raise refused(fault) from None
        return self.opened(clients, message)

    async def on_turn(self, message: dict):
        return "turn_done", await self.current.turn(message["until_ns"])

    async def on_close(self, message: dict):
        if self.clients is not NO_CLIENTS:
            for client in self.clients.all:
                await client.close()
        self.done = True
        return "closed", {}
