"""The operations: each the driver's own call, as its users write it.

Each function takes the collection (`command`: the database), the options the operation sets, what
collects the answers, and the documents made for it beforehand. operations_asyncio.py has the same
functions for an event loop, and takes from here what neither waits nor is waited for.
"""

from __future__ import annotations

from functools import partial

from pymongo import ReadPreference, WriteConcern, errors
from pymongo.read_concern import ReadConcern


class WrongAnswer(Exception):
    """The server answered, but not what the contract calls right."""


class Answers:
    """The reads of one of a worker's operations in flight."""

    def __init__(self, sum_field: str | None):
        self.sum_field = sum_field
        self.documents = 0
        self.sum = 0

    def add(self, document: dict) -> None:
        self.documents += 1
        self.sum += document.get(self.sum_field, 0)


def noop(_, options, answers, *documents):
    answers.documents += len(documents)  # made to measure their cost


def insert_one(collection, options, answers, document):
    collection.insert_one(document)  # raises unless acknowledged; with w:0 nothing is told


def insert_many(collection, options, answers, documents):
    collection.insert_many(documents, **options)  # raises unless all were inserted


def find_one(collection, options, answers, filter):
    document = collection.find_one(filter)
    if document is None:
        raise WrongAnswer("no document found")
    answers.add(document)


def find(collection, options, answers, filter):
    for document in collection.find(filter, **options):
        answers.add(document)


def update_one(collection, options, answers, filter, update):
    require_one(collection.update_one(filter, update, **options))


def replace_one(collection, options, answers, filter, document):
    require_one(collection.replace_one(filter, document, **options))


def delete_one(collection, options, answers, filter):
    require_deleted(collection.delete_one(filter))


def count(collection, options, answers, filter):
    answers.documents += collection.count_documents(filter)


def aggregate(collection, options, answers, template):
    for document in collection.aggregate(template["pipeline"]):
        answers.add(document)


def command(database, options, answers, document):
    database.command(document, **options)  # raises unless ok is 1


def require_one(result) -> None:
    if result.acknowledged and result.matched_count != 1 and result.upserted_id is None:
        raise WrongAnswer(f"{result.matched_count} matched")


def require_deleted(result) -> None:
    if result.acknowledged and result.deleted_count != 1:
        raise WrongAnswer(f"{result.deleted_count} deleted")


# kind: its function, the parts that make its arguments, the options it may set
KINDS = {
    "noop": (noop, (), ()),
    "insert_one": (insert_one, ("documents",), ()),
    "insert_many": (insert_many, ("documents",), ("ordered",)),
    "find_one": (find_one, ("filter",), ()),
    "find": (find, ("filter",), ("limit", "batch_size")),
    "update_one": (update_one, ("filter", "update"), ("upsert",)),
    "replace_one": (replace_one, ("filter", "documents"), ("upsert",)),
    "delete_one": (delete_one, ("filter",), ()),
    "count": (count, ("filter",), ()),
    "aggregate": (aggregate, ("pipeline",), ()),
    "command": (command, ("command",), ()),
}
READ_PREFERENCES = {
    "primary": ReadPreference.PRIMARY,
    "primaryPreferred": ReadPreference.PRIMARY_PREFERRED,
    "secondary": ReadPreference.SECONDARY,
    "secondaryPreferred": ReadPreference.SECONDARY_PREFERRED,
    "nearest": ReadPreference.NEAREST,
}


def bind(database, operation: dict, kinds: dict):
    """The operation as a function of its answers and its documents; only given options are set."""
    function, _, names = kinds[operation["kind"]]
    options = {name: operation[name] for name in names if operation.get(name) is not None}
    write, read = operation.get("write_concern"), operation.get("read_concern")
    given = {}
    if operation.get("read_preference"):
        given["read_preference"] = READ_PREFERENCES[operation["read_preference"]]
    if operation["kind"] in ("noop", "command"):
        # Database.command takes concerns as fields of the command, not from the database.
        given.update({"writeConcern": write} if write else {})
        given.update({"readConcern": {"level": read}} if read else {})
        return partial(function, database, given)
    given.update({"write_concern": WriteConcern(**write)} if write else {})
    given.update({"read_concern": ReadConcern(read)} if read else {})
    collection = database.get_collection(operation["collection"], **given)
    return partial(function, collection, options)


def is_timeout(fault: Exception) -> bool:
    # The property came with 4.2 and sees more than classes do; before that, the classes.
    classes = (errors.NetworkTimeout, errors.ExecutionTimeout, errors.WTimeoutError)
    classes += (errors.ServerSelectionTimeoutError,)
    return getattr(fault, "timeout", isinstance(fault, classes))


def identify(fault: Exception) -> tuple[int, str]:
    """The server's error code or 0, and its name for it or the driver's class."""
    name = type(fault).__name__
    if not isinstance(fault, errors.OperationFailure):
        return 0, name
    details = fault.details or {}
    # A BulkWriteError has a code of the driver's own, 65; the server's codes are inside.
    inner = details.get("writeErrors") or details.get("writeConcernErrors") or [details]
    return inner[0].get("code") or fault.code or 0, inner[0].get("codeName") or name
