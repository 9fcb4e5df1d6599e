"""The operations for an event loop: each the driver's own call, as users of asyncio write it."""

from __future__ import annotations

import operations
from operations import WrongAnswer, require_deleted, require_one


async def noop(_, options, answers, *documents):
    operations.noop(_, options, answers, *documents)


async def insert_one(collection, options, answers, document):
    await collection.insert_one(document)


async def insert_many(collection, options, answers, documents):
    await collection.insert_many(documents, **options)


async def find_one(collection, options, answers, filter):
    document = await collection.find_one(filter)
    if document is None:
        raise WrongAnswer("no document found")
    answers.add(document)


async def find(collection, options, answers, filter):
    async for document in collection.find(filter, **options):
        answers.add(document)


async def update_one(collection, options, answers, filter, update):
    require_one(await collection.update_one(filter, update, **options))


async def replace_one(collection, options, answers, filter, document):
    require_one(await collection.replace_one(filter, document, **options))


async def delete_one(collection, options, answers, filter):
    require_deleted(await collection.delete_one(filter))


async def count(collection, options, answers, filter):
    found = await collection.count_documents(filter)
    answers.documents += found  # in a step of its own: other tasks add while this one waits


async def aggregate(collection, options, answers, template):
    async for document in await collection.aggregate(template["pipeline"]):
        answers.add(document)


async def command(database, options, answers, document):
    await database.command(document, **options)


# Their arguments and options are the same in both ways to call the driver.
FUNCTIONS = (
    noop, insert_one, insert_many, find_one, find, update_one, replace_one, delete_one, count,
    aggregate, command,
)  # fmt: skip
KINDS = {each.__name__: (each, *operations.KINDS[each.__name__][1:]) for each in FUNCTIONS}
