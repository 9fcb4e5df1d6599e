"""The calls of PyMongo 4 for an event loop."""

from __future__ import annotations

from inspect import isawaitable

import pymongo4
from pymongo4 import require_parts


class AsyncioCalls:
    @staticmethod
    def simple(method, options, finish):
        async def call(*given):
            return finish(await method(*given, **options))

        return call

    @staticmethod
    def noop(field):
        made = pymongo4.Calls.noop(field)

        async def call(*given):
            return made(*given)

        return call

    @staticmethod
    def cursor(method, options, field):
        async def call(*given, **more):
            documents = total = 0
            cursor = method(*given, **options, **more)
            async for document in await cursor if isawaitable(cursor) else cursor:  # aggregate's
                documents += 1
                total += document.get(field, 0)
            return documents, total

        return call

    @staticmethod
    def bulk(method, options):
        async def call(requests):
            require_parts(await method(requests, **options), len(requests))

        return call

    @staticmethod
    def both(find, update):
        async def call(filter, change):
            answer = await find(filter)
            await update(filter, change)
            return answer

        return call
