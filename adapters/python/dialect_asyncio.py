"""The API of AsyncMongoClient: the same calls as coroutines."""

from inspect import isawaitable

from pymongo import AsyncMongoClient

import dialect


async def connect(uri):
    return dialect.connect(uri, AsyncMongoClient)


async def noop(field, documents=()):
    return dialect.noop(field, documents)


async def drain(method, field, *given):
    documents = total = 0
    cursor = method(*given)
    async for document in await cursor if isawaitable(cursor) else cursor:  # for aggregate
        documents += 1
        total += document.get(field, 0)
    return documents, total


async def bulk_write(method, requests):
    dialect.require_parts(await method(requests), len(requests))


async def read_modify_write(collection, filter, update):
    found = await collection.find_one(filter)
    if found is not None:
        dialect.require_one(await collection.update_one(filter, update))
    return found


def is_unanswered(client, operation):
    """Whether its call waits for nothing."""
    if operation["kind"] == "noop":
        return True
    concern = operation.get("write_concern") or client.write_concern.document
    return concern.get("w") == 0
