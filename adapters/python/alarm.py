"""A timer of the kernel for an event loop, whose own timers count whole milliseconds."""

from __future__ import annotations

import asyncio
import ctypes
import os
import time

ABSOLUTE = 1  # TFD_TIMER_ABSTIME

# The module os has these only since Python 3.13.
libc = ctypes.CDLL(None, use_errno=True)


class Alarm:
    """Wakes its one sleeper when a time of CLOCK_MONOTONIC has come: some 0.1 ms late, not 1."""

    def __init__(self):
        flags = os.O_NONBLOCK | os.O_CLOEXEC
        self.timer = libc.timerfd_create(time.CLOCK_MONOTONIC, flags)
        if self.timer < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(self.timer, self.ring)
        self.sleeper = None

    def ring(self) -> None:
        os.read(self.timer, 8)
        if not self.sleeper.done():
            self.sleeper.set_result(None)

    async def until(self, due_ns: int) -> None:
        self.sleeper = self.loop.create_future()
        # No interval, and when it ends: seconds and nanoseconds of each.
        times = (ctypes.c_long * 4)(0, 0, *divmod(due_ns, 1_000_000_000))
        libc.timerfd_settime(self.timer, ABSOLUTE, times, None)
        await self.sleeper

    def close(self) -> None:
        self.loop.remove_reader(self.timer)
        os.close(self.timer)
