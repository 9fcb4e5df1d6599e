"""The adapter as a program of asyncio: api=asyncio, the driver's AsyncMongoClient."""

from __future__ import annotations

import asyncio
import signal
import sys
from inspect import isawaitable

from pymongo import AsyncMongoClient

from adapter import Adapter, refused
from protocol import send
from worker_asyncio import TaskPhase

LINE_BYTES_MAX = (1 << 20) + 1  # with its end


class AsyncioAdapter(Adapter):
    phases = {"worker": TaskPhase}
    capabilities = {
        **Adapter.capabilities,
        "roles": list(phases),
        "concurrency": {"kind": "tasks", "max": None, "threads": 1},
    }

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stop)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the core's, which then tells us
        # Not a blocking read: between the turns the driver's monitors need the loop.
        lines = asyncio.StreamReader(limit=LINE_BYTES_MAX)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while not self.done:
            line = await lines.readline()
            if not line:
                return
            await self.answer(line)

    async def answer(self, line: bytes) -> None:
        try:
            handle, message = self.handler(line)
            answer = handle(message)
            kind, fields = await answer if isawaitable(answer) else answer
        except Exception as fault:
            self.refuse(fault)
        else:
            send(kind, **fields)

    async def on_open(self, message: dict):
        self.before_open(message)
        client = None
        try:
            client = AsyncMongoClient(self.uri)
            await client.admin.command("ping")
            return self.opened(client, await client.server_info(), message["database"])
        except Exception as fault:
            if client is not None:
                await client.close()
            raise refused(fault) from None

    async def on_turn(self, message: dict):
        phase = self.armed()
        return "turned", await phase.turn(message["start_ns"], message["until_ns"])

    async def on_close(self, message: dict):
        if self.client is not None:
            await self.client.close()
        self.done = True
        return "closed", {}


if __name__ == "__main__":
    asyncio.run(AsyncioAdapter().run())
