"""The calls of PyMongo 4 for an event loop: each the driver's own, as users of asyncio write it."""

from __future__ import annotations

import pymongo4
from pymongo4 import read_one, require_deleted, require_one, require_parts


async def noop(_, options, read, documents=()):
    return pymongo4.noop(_, options, read, documents)


async def insert_one(collection, options, read, document):
    await collection.insert_one(document)


async def insert_many(collection, options, read, documents):
    await collection.insert_many(documents, **options)


async def find_one(collection, options, read, *filter):
    return read_one(read, await collection.find_one(*filter))


async def find(collection, options, read, limit, *filter):
    documents = total = 0
    async for document in collection.find(*filter, limit=limit, **options):
        documents += 1
        total += read(document)[1]
    return documents, total


async def update_one(collection, options, read, filter, update):
    require_one(await collection.update_one(filter, update, **options))


async def replace_one(collection, options, read, filter, document):
    require_one(await collection.replace_one(filter, document, **options))


async def delete_one(collection, options, read, filter):
    require_deleted(await collection.delete_one(filter))


async def count(collection, options, read, filter):
    return await collection.count_documents(filter), 0


async def estimated_count(collection, options, read):
    return await collection.estimated_document_count(), 0


async def find_one_and_update(collection, options, read, filter, update):
    return read_one(read, await collection.find_one_and_update(filter, update))


async def read_modify_write(collection, options, read, filter, update):
    answer = await find_one(collection, options, read, filter)
    await update_one(collection, options, read, filter, update)
    return answer


async def bulk_write(collection, options, read, requests):
    require_parts(await collection.bulk_write(requests, **options), len(requests))


async def aggregate(collection, options, read, template):
    documents = total = 0
    async for document in await collection.aggregate(template["pipeline"]):
        documents += 1
        total += read(document)[1]
    return documents, total


async def command(database, options, read, document):
    await database.command(document, **options)


async def drop(collection, options, read):
    await collection.drop()


CALLS = {name: globals()[name] for name in pymongo4.CALLS}
