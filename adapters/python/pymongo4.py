"""The dialect of PyMongo 4: its calls, options, types and errors, as its users write them.

Each call is bound at `prepare` and returns the documents read and their sum, or None. All that
knows the driver is here and in pymongo4_asyncio.py, which has what differs for an event loop.
"""

from __future__ import annotations

import warnings
from datetime import datetime, timedelta
from functools import partial

import bson
import pymongo
from bson import Binary, Int64, ObjectId
from pymongo import (
    DeleteOne,
    InsertOne,
    ReadPreference,
    ReplaceOne,
    UpdateOne,
    WriteConcern,
    errors,
)
from pymongo.read_concern import ReadConcern

AUTH_CODES = (18, 334, 8000)  # AuthenticationFailed, MechanismUnavailable, Atlas' own
EXTRAS = ["write_concern", "read_concern", "read_preference", "command_concerns",
          "unacknowledged", "unordered", "clients", "lazy_insert"]  # fmt: skip
NUMBERS = {
    "int32": int,
    "int64": Int64,
    "double": float,
    # A naive datetime is UTC to the driver, as in most applications.
    "date": lambda value: datetime(1970, 1, 1) + timedelta(milliseconds=value),
}

encode, decode, objectid = bson.encode, bson.decode_all, ObjectId


class WrongAnswer(Exception):
    """The server answered, but not what the contract calls right."""


def guid(data: bytes) -> Binary:
    return Binary(data, 4)


def binary_copier(value: bytes):
    """A function that makes the value anew: bytes of bytes would be the same object."""
    if isinstance(value, Binary):
        return partial(Binary, value, value.subtype)
    return partial(bytes, memoryview(value))


def driver() -> dict:
    native = bson.has_c() and pymongo.has_c()
    return {"name": "pymongo", "version": pymongo.version, "native": native}


def connect(target: dict, Client=pymongo.MongoClient):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of an option that is not known
        return Client(target["uri"])


def refused(fault: Exception) -> str | None:
    """The contract's code of a failed connection."""
    if isinstance(fault, UserWarning):
        return "unsupported"
    if isinstance(fault, errors.ConnectionFailure):
        return "connect"
    return "auth" if getattr(fault, "code", None) in AUTH_CODES else None


def opened(client) -> dict:
    pool = client.options.pool_options
    # The driver tells these two by private properties only, which 4.0 to 4.20 all have.
    compression = getattr(pool, "_compression_settings", None)
    resolved = {
        "max_pool_size": pool.max_pool_size,
        "min_pool_size": pool.min_pool_size,
        "write_concern": client.write_concern.document,
        "read_concern": client.read_concern.level,
        "read_preference": client.read_preference.mongos_mode,
        "compressors": compression.compressors if compression else [],
        "retry_writes": client.options.retry_writes,
        "retry_reads": client.options.retry_reads,
        "commands": {"count": "aggregate"},  # count_documents
    }
    if hasattr(pool, "_ssl_context"):
        resolved["tls"] = pool._ssl_context is not None
    return {"acknowledged": client.write_concern.acknowledged, "resolved": resolved}


def describe(fault: Exception) -> tuple[int, str, bool]:
    """The server's error code or 0, its name for it or the driver's class, whether a timeout.

    Of the server's errors the code alone tells timeouts.
    """
    name = type(fault).__name__
    if not isinstance(fault, errors.OperationFailure):
        # The property came with 4.2 and sees more than classes do; before that, the classes.
        classes = (errors.NetworkTimeout, errors.ServerSelectionTimeoutError)
        return 0, name, getattr(fault, "timeout", isinstance(fault, classes))
    details = fault.details or {}
    # A BulkWriteError has a code of the driver's own, 65; the server's codes are inside.
    inner = details.get("writeErrors") or details.get("writeConcernErrors") or [details]
    code = inner[0].get("code") or fault.code or 0
    return code, inner[0].get("codeName") or name, False


# What comes of an answer: documents and their sum, or nothing. All raise for a wrong one.


def nothing(result):
    """The driver raises unless all is done; with w:0 nothing is told."""


def number(result):
    return result, 0


def require_one(result):
    if result.acknowledged and result.matched_count != 1 and result.upserted_id is None:
        raise WrongAnswer(f"{result.matched_count} matched")


def require_deleted(result):
    if result.acknowledged and result.deleted_count != 1:
        raise WrongAnswer(f"{result.deleted_count} deleted")


def require_parts(result, asked: int):
    if result.acknowledged:
        done = result.inserted_count + result.matched_count + result.upserted_count
        if done + result.deleted_count != asked:
            raise WrongAnswer(f"{done + result.deleted_count} of {asked} parts did something")


def read_one(field):
    def read(document):
        if document is None:
            raise WrongAnswer("no document found")
        return 1, document.get(field, 0)

    return read


class Calls:
    """How a call is made of the driver's method and its options, for each way to wait."""

    @staticmethod
    def simple(method, options, finish):
        return lambda *given: finish(method(*given, **options))

    @staticmethod
    def noop(field):
        def call(documents=()):
            total = sum([document.get(field, 0) for document in documents]) if field else 0
            return len(documents), total

        return call

    @staticmethod
    def cursor(method, options, field):
        def call(*given, **more):
            documents = total = 0
            for document in method(*given, **options, **more):
                documents += 1
                total += document.get(field, 0)
            return documents, total

        return call

    @staticmethod
    def bulk(method, options):
        return lambda requests: require_parts(method(requests, **options), len(requests))

    @staticmethod
    def both(find, update):
        def call(filter, change):
            answer = find(filter)
            update(filter, change)
            return answer

        return call


SIMPLE = {  # the method of a collection, and what comes of its answer
    "insert_one": ("insert_one", nothing),
    "insert_many": ("insert_many", nothing),
    "update_one": ("update_one", require_one),
    "replace_one": ("replace_one", require_one),
    "delete_one": ("delete_one", require_deleted),
    "count": ("count_documents", number),
    "estimated_count": ("estimated_document_count", number),
    "drop": ("drop", nothing),
}
OPTIONS = {
    "insert_many": ("ordered",),
    "find": ("batch_size",),
    "update_one": ("upsert",),
    "replace_one": ("upsert",),
    "bulk_write": ("ordered",),
}
BULK_PARTS = {
    "insert_one": InsertOne,
    "update_one": UpdateOne,
    "replace_one": ReplaceOne,
    "delete_one": DeleteOne,
}
READ_PREFERENCES = {
    mode.mongos_mode: mode
    for mode in (
        ReadPreference.PRIMARY, ReadPreference.PRIMARY_PREFERRED, ReadPreference.SECONDARY,
        ReadPreference.SECONDARY_PREFERRED, ReadPreference.NEAREST,
    )
}  # fmt: skip


def options_of(operation: dict) -> dict:
    """Only those that were asked for."""
    names = OPTIONS.get(operation["kind"], ())
    return {name: operation[name] for name in names if operation.get(name) is not None}


def bulk_part(operation: dict):
    return partial(BULK_PARTS[operation["kind"]], **options_of(operation))


def bind(calls, client, database: str, operation: dict):
    """The operation as a function of what it is given."""
    kind, field = operation["kind"], operation.get("sum_field")
    if kind == "noop":
        return calls.noop(field)
    write, level = operation.get("write_concern"), operation.get("read_concern")
    given = {}
    if operation.get("read_preference"):
        given["read_preference"] = READ_PREFERENCES[operation["read_preference"]]
    if kind == "command":
        # Database.command takes concerns as fields of the command, not from the database.
        given.update({"writeConcern": write} if write else {})
        given.update({"readConcern": {"level": level}} if level else {})
        return calls.simple(client[database].command, given, nothing)
    given.update({"write_concern": WriteConcern(**write)} if write else {})
    given.update({"read_concern": ReadConcern(level)} if level else {})
    collection = client[database].get_collection(operation["collection"], **given)
    options = options_of(operation)
    if kind == "find":
        find = calls.cursor(collection.find, options, field)
        return lambda limit, *filter: find(*filter, limit=limit)
    if kind == "aggregate":
        aggregate = calls.cursor(collection.aggregate, options, field)
        return lambda template: aggregate(template["pipeline"])
    if kind == "bulk_write":
        return calls.bulk(collection.bulk_write, options)
    find_one = calls.simple(collection.find_one, {}, read_one(field))
    if kind == "find_one":
        return find_one
    if kind == "find_one_and_update":
        return calls.simple(collection.find_one_and_update, {}, read_one(field))
    if kind == "read_modify_write":
        return calls.both(find_one, calls.simple(collection.update_one, {}, require_one))
    method, finish = SIMPLE[kind]
    return calls.simple(getattr(collection, method), options, finish)


def is_unanswered(client, operation: dict) -> bool:
    """Whether its call waits for nothing."""
    if operation["kind"] == "noop":
        return True
    concern = operation.get("write_concern") or client.write_concern.document
    return concern.get("w") == 0


# The consumer's.


def tail(collection, await_ms: int):
    # Natural order is the only one that a tailable cursor has.
    cursor = collection.find(cursor_type=pymongo.CursorType.TAILABLE_AWAIT)
    return cursor.max_await_time_ms(await_ms)


class CursorDied(errors.PyMongoError):
    """The driver ends a tailable cursor quietly, and keeps the server's reason to itself."""


DriverError = errors.PyMongoError
