"""The API of AsyncMongoClient: the same calls as coroutines."""

from inspect import isawaitable

from pymongo import AsyncMongoClient

import dialect


async def connect(uri):
    return dialect.connect(uri, AsyncMongoClient)


async def noop(field, documents=()):
    return dialect.noop(field, documents)


async def insert(method, documents):
    try:
        await method(documents)
    except dialect.errors.OperationFailure as fault:
        return dialect.duplicates(fault)
    return 0, 0


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


async def transaction(client, options, calls, retries, parts):
    attempts = 0

    async def attempt(session):
        nonlocal attempts
        attempts += 1
        if attempts > 1:
            next(retries)
        answers = [(0, 0)]
        for number, given in parts:
            call, finish = calls[number]
            answer = await call(*given, session=session)
            answers.append((finish(answer) if finish else None) or (0, 0))
        return [sum(each) for each in zip(*answers)]

    async with client.start_session() as session:
        return await session.with_transaction(attempt, **options)


def is_unanswered(client, operation):
    """Whether its call waits for nothing."""
    if operation["kind"] == "noop":
        return True
    concern = operation.get("write_concern") or client.write_concern.document
    return concern.get("w") == 0
