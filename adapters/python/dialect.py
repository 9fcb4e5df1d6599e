"""The dialect of PyMongo 3.6 to 4, as its users write it: calls, options, types and errors.

dialect_asyncio.py has what differs for AsyncMongoClient.
"""

import warnings
from datetime import datetime, timedelta
from functools import partial

import bson
import pymongo
from bson import Binary, Int64, ObjectId
from pymongo import ReadPreference, WriteConcern, errors
from pymongo.collation import Collation
from pymongo.collection import Collection
from pymongo.read_concern import ReadConcern

AUTH_CODES = (18, 334, 8000)  # AuthenticationFailed, MechanismUnavailable, Atlas' own
TIMEOUT_CODES = (50, 262)
EXTRAS = ["write_concern", "read_concern", "read_preference", "command_concerns",
          "unacknowledged", "unordered", "clients", "lazy_insert",
          "sort", "hint", "collation", "max_time", "expect"]  # fmt: skip
if pymongo.version_tuple >= (3, 9):  # the first whose streams report their position
    EXTRAS.append("change_stream")
NUMBERS = {
    "int32": int,
    "int64": Int64,
    "double": float,
    # A naive datetime is UTC to the driver, as in most applications.
    "date": lambda value: datetime(1970, 1, 1) + timedelta(milliseconds=value),
}

encode = getattr(bson, "encode", bson.BSON.encode)  # from 3.9 on
decode, objectid, guid = bson.decode_all, ObjectId, partial(Binary, subtype=4)
# From 3.7 on; before, a count is a command. An instance has all names, as collections.
COUNTS_DOCUMENTS = hasattr(Collection, "count_documents")


class WrongAnswer(Exception):
    """The server answered, but not right by the contract."""


def binary_copier(value):
    """A function that makes the value anew: bytes of bytes would be the same object."""
    if isinstance(value, Binary):
        return partial(Binary, value, value.subtype)
    return partial(bytes, memoryview(value))


def driver():
    native = bson.has_c() and pymongo.has_c()
    return {"name": "pymongo", "version": pymongo.version, "native": native}


def connect(uri, Client=pymongo.MongoClient):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # for an option or a value that it ignores
        return Client(uri)


def refusal(fault):
    """The contract's code of a failed connection."""
    if isinstance(fault, (UserWarning, ValueError, errors.ConfigurationError)):
        return "unsupported"
    if isinstance(fault, errors.ConnectionFailure):
        return "connect"
    return "auth" if getattr(fault, "code", None) in AUTH_CODES else "internal"


def opened(client):
    # Before 4.0 the options are private, and the pool's are not.
    is_3 = not hasattr(pymongo.MongoClient, "options")
    options = client._MongoClient__options if is_3 else client.options
    pool = options.pool_options
    compression = getattr(pool, "compression_settings" if is_3 else "_compression_settings", None)
    resolved = {
        "max_pool_size": pool.max_pool_size,
        "min_pool_size": pool.min_pool_size,
        "write_concern": client.write_concern.document,
        "read_concern": client.read_concern.level,
        "read_preference": client.read_preference.mongos_mode,
        "compressors": compression.compressors if compression else [],
        "retry_writes": options.retry_writes,
        "retry_reads": getattr(options, "retry_reads", False),  # from 3.9 on
        # The driver exposes this and compressors by private properties only, from 4.0 to 4.20.
        "tls": (pool.ssl_context if is_3 else pool._ssl_context) is not None,
        "commands": {"count": "aggregate" if COUNTS_DOCUMENTS else "count"},
    }
    return {"acknowledged": client.write_concern.acknowledged, "resolved": resolved}


def failure(fault):
    """The sample's outcome, the server's code or 0, its name or the driver's class."""
    name = type(fault).__name__
    if isinstance(fault, WrongAnswer):
        return 1, 0, name
    if not isinstance(fault, errors.OperationFailure):
        # The property came with 4.2 and covers more than classes do; before that, the classes.
        classes = (errors.NetworkTimeout, errors.ServerSelectionTimeoutError)
        return 3 if getattr(fault, "timeout", isinstance(fault, classes)) else 2, 0, name
    details = fault.details or {}
    # A BulkWriteError has the driver's own code, 65; it contains the server's codes.
    inner = details.get("writeErrors") or details.get("writeConcernErrors") or [details]
    code = inner[0].get("code") or fault.code or 0
    return 3 if code in TIMEOUT_CODES else 2, code, inner[0].get("codeName") or name


# Results of answers: documents read and their sum, or None. All raise for a wrong one.


def counted(result):
    return result, 0


def require_one(result):
    if result.acknowledged and result.matched_count != 1 and result.upserted_id is None:
        raise WrongAnswer(f"{result.matched_count} matched")


def matched_many(result):
    return (result.matched_count, 0) if result.acknowledged else None


def deleted_many(result):
    return (result.deleted_count, 0) if result.acknowledged else None


def read_values(field):
    return lambda values: (len(values), sum(values) if field else 0)


def require_deleted(result):
    if result.acknowledged and result.deleted_count != 1:
        raise WrongAnswer(f"{result.deleted_count} deleted")


def require_parts(result, asked):
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


def require_none(document):
    if document is not None:
        raise WrongAnswer("a document was found")


def require_unmatched(result):
    if result.acknowledged and (result.matched_count or result.upserted_id is not None):
        raise WrongAnswer(f"{result.matched_count} matched")


def require_kept(result):
    if result.acknowledged and result.deleted_count:
        raise WrongAnswer(f"{result.deleted_count} deleted")


def duplicates(fault):
    """Documents that were there already. Every other failure is raised."""
    details = fault.details or {}
    refused = details.get("writeErrors", [{"code": fault.code}])
    if details.get("writeConcernErrors") or any(each["code"] != 11000 for each in refused):
        raise fault
    return len(refused), 0


# Calls that are more than a method.


def noop(field, documents=()):
    total = sum([document.get(field, 0) for document in documents]) if field else 0
    return len(documents), total


def insert(method, documents):
    try:
        method(documents)
    except errors.OperationFailure as fault:
        return duplicates(fault)
    return 0, 0


def drain(method, field, *given):
    documents = total = 0
    for document in method(*given):
        documents += 1
        total += document.get(field, 0)
    return documents, total


def bulk_write(method, requests):
    require_parts(method(requests), len(requests))


def read_modify_write(collection, filter, update):
    found = collection.find_one(filter)
    if found is not None:
        require_one(collection.update_one(filter, update))
    return found


def transaction(client, options, calls, retries, parts):
    """By the driver's own loop, which tries again what may be tried again: the same documents."""
    attempts = 0

    def attempt(session):
        nonlocal attempts
        attempts += 1
        if attempts > 1:
            next(retries)
        answers = [(0, 0)]
        for number, given in parts:
            call, finish = calls[number]
            answer = call(*given, session=session)
            answers.append((finish(answer) if finish else None) or (0, 0))
        return [sum(each) for each in zip(*answers)]

    with client.start_session() as session:
        return session.with_transaction(attempt, **options)


# For each kind: the method; what reads its answer (None: nothing, because a call that fails raises;
# tuple: the call has counted; read_*: made for the field that is added up); the given arguments, in
# their order.
KINDS = {
    "noop": (None, tuple),
    "insert_one": ("insert_one", None, "documents"),
    "insert_many": ("insert_many", None, "documents"),
    "find_one": ("find_one", read_one, "filter", "projection"),
    "find": ("find", tuple, "filter", "projection"),
    "update_one": ("update_one", require_one, "filter", "update"),
    "update_many": ("update_many", matched_many, "filter", "update"),
    "delete_one": ("delete_one", require_deleted, "filter"),
    "delete_many": ("delete_many", deleted_many, "filter"),
    "distinct": ("distinct", read_values, "filter"),
    "count": ("count_documents" if COUNTS_DOCUMENTS else "count", counted, "filter"),
    "estimated_count": ("estimated_document_count" if COUNTS_DOCUMENTS else "count", counted),
    "replace_one": ("replace_one", require_one, "filter", "documents"),
    "find_one_and_update": ("find_one_and_update", read_one, "filter", "update"),
    "read_modify_write": (None, read_one, "filter", "update"),
    "bulk_write": ("bulk_write", None),
    "aggregate": ("aggregate", tuple, "pipeline"),
    "command": ("command", None, "command"),
    "drop": ("drop", None),
}
if pymongo.version_tuple >= (3, 9):  # the first whose sessions have with_transaction
    KINDS["transaction"] = (None, tuple)
TRANSACTION_PARTS = ("insert_one", "find_one", "update_one", "replace_one", "delete_one",
                     "find_one_and_update")  # fmt: skip
# What reads an answer where documents are expected to be missing.
MISSING = {"find_one": require_none, "update_one": require_unmatched, "delete_one": require_kept}
BULK_PARTS = {
    "insert_one": pymongo.InsertOne,
    "update_one": pymongo.UpdateOne,
    "replace_one": pymongo.ReplaceOne,
    "delete_one": pymongo.DeleteOne,
}
MODES = [ReadPreference.PRIMARY, ReadPreference.PRIMARY_PREFERRED, ReadPreference.SECONDARY,
         ReadPreference.SECONDARY_PREFERRED, ReadPreference.NEAREST]  # fmt: skip
READ_PREFERENCES = {mode.mongos_mode: mode for mode in MODES}


OPTIONS = {
    "sort": lambda document: list(document.items()),
    "hint": lambda document: list(document.items()),
    "collation": lambda document: Collation(**document),
}


def with_options(call, operation):
    """Only what was requested."""
    names = ("ordered", "upsert", "batch_size", "skip", "max_time_ms")
    asked = {name: operation[name] for name in names if name in operation}
    asked.update({name: OPTIONS[name](operation[name]) for name in OPTIONS if name in operation})
    if operation["kind"] == "find_one_and_update" and "max_time_ms" in asked:
        asked["maxTimeMS"] = asked.pop("max_time_ms")  # a field of the command
    return partial(call, **asked) if asked else call


def bulk_part(operation):
    return with_options(BULK_PARTS[operation["kind"]], operation)


def concerns(operation):
    write, level = operation.get("write_concern"), operation.get("read_concern")
    given = {"write_concern": WriteConcern(**write)} if write else {}
    return {**given, "read_concern": ReadConcern(level)} if level else given


def bind_transaction(bind, operations, retries, client):
    """As `bind`, which is that of the transaction with everything but the client and its parts."""
    api, database, operation = bind.args
    calls = {
        number: bind.func(api, database, part, client)
        for number, part in enumerate(operations)
        if part["kind"] in TRANSACTION_PARTS
    }
    return partial(api.transaction, client, concerns(operation), calls, retries), tuple


def bind(api, database, operation, client):
    """An operation's call, and the function that reads its answer, if any."""
    kind, field = operation["kind"], operation.get("sum_field")
    if kind == "noop":
        return partial(api.noop, field), tuple
    name, finish = KINDS[kind][:2]
    write, level = operation.get("write_concern"), operation.get("read_concern")
    given = {"read_preference": READ_PREFERENCES.get(operation.get("read_preference"))}
    if kind == "command":
        # Database.command takes concerns as fields of the command, not from the database.
        given.update({"writeConcern": write} if write else {})
        given.update({"readConcern": {"level": level}} if level else {})
        return partial(client[database].command, **given), finish
    given.update(concerns(operation))
    collection = client[database].get_collection(operation["collection"], **given)
    if kind == "read_modify_write":
        return partial(api.read_modify_write, collection), read_one(field)
    method = with_options(getattr(collection, name), operation)
    call = {
        "find": partial(api.drain, lambda limit, *given: method(*given, limit=limit), field),
        "aggregate": partial(api.drain, lambda template: method(template["pipeline"]), field),
        "bulk_write": partial(api.bulk_write, method),
        "distinct": partial(method, operation.get("field")),
    }.get(kind, method)
    if operation.get("expect") == "missing":
        return call, MISSING[kind]
    if operation.get("expect") == "duplicate":
        return partial(api.insert, call), tuple
    return call, finish(field) if finish in (read_one, read_values) else finish


# Opens the consumer's cursor.


def tail(collection, await_ms):
    # Natural order is the only one that a tailable cursor has.
    cursor = collection.find(cursor_type=pymongo.CursorType.TAILABLE_AWAIT)
    return cursor.max_await_time_ms(await_ms)


def watch(collection, await_ms, token):
    inserts = [{"$match": {"operationType": "insert"}}]
    return collection.watch(inserts, max_await_time_ms=await_ms, resume_after=token)


class CursorDied(errors.PyMongoError):
    """The driver ends a tailable cursor silently, and does not pass on the server's reason."""


DriverError = errors.PyMongoError
