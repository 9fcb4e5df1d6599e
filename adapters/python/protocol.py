"""The adapter contract on paper: lines, the schedule, samples, templates and their stamps."""

from __future__ import annotations

import json
import re
import struct
from datetime import datetime, timedelta
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote_plus

from bson import Binary, Int64, ObjectId, json_util

HEADER = struct.Struct("<8sIIIIQ")
# Both have five fields (without a guid an empty one), so no reader asks which record it has.
RECORDS = {24: struct.Struct("<QQIB3x0s"), 40: struct.Struct("<QQIB3x16s")}
SAMPLE = struct.Struct("<QQQIBBH")
EXTENDED_JSON = json_util.CANONICAL_JSON_OPTIONS.with_options(tz_aware=False, tzinfo=None)

FIELDS = {
    "hello": {"protocol": dict, "epoch_ns": str},
    "open": {"uri": str, "database": str, "role": str},
    "prepare": {
        "role": str, "warmup": bool, "samples": str, "schedule": str, "pools": list,
        "document_form": str, "workers": int, "first_worker": int, "pacing": dict,
        "counter": dict, "errors_consecutive_max": int, "operations": list,
    },
    "consumer": {
        "role": str, "warmup": bool, "samples": str, "errors_consecutive_max": int,
        "consumer": dict,
    },
    "turn": {"start_ns": int, "until_ns": int},
    "render": {"document": dict, "stamps": list, "input": dict},
}  # fmt: skip


class Refusal(Exception):
    """A message that is answered with `error`."""

    def __init__(self, code: str, message: str):
        super().__init__(message)
        self.code = code


def parse(line: bytes) -> dict:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise Refusal("protocol", f"not a line of JSON: {fault}") from None
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise Refusal("protocol", "not an object with a type")
    consumes = message["type"] == "prepare" and message.get("role") == "consumer"
    fields = FIELDS["consumer"] if consumes else FIELDS.get(message["type"], {})
    for name, kind in fields.items():
        if not isinstance(message.get(name), kind):
            raise Refusal("protocol", f"{message['type']}: {name} is missing or of a wrong type")
    return message


def send(kind: str, **fields) -> None:
    print(json.dumps({"type": kind, **fields}, separators=(",", ":")), flush=True)


def masked(text: str, uri: str) -> str:
    """The text without the URI's credentials: drivers quote what they cannot parse."""
    user = uri.partition("://")[2].rpartition("@")[0]
    secrets = re.findall("(?i)(?:password|authmechanismproperties)=([^&]+)", uri)
    secrets += [user, user.partition(":")[2]]
    secrets += [unquote_plus(secret) for secret in secrets]
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


class Schedule:
    def __init__(self, path: str, slices: int, operations: int):
        self.data = Path(path).read_bytes()
        magic, self.record_bytes, records, found, _, self.lap_ns = HEADER.unpack_from(self.data)
        whole = len(self.data) == HEADER.size + self.record_bytes * records
        if magic != b"MDYNSCH1" or self.record_bytes not in RECORDS or not whole:
            raise Refusal("internal", f"{path} is no schedule, or not all of one")
        if found != slices or records < slices:
            raise Refusal("internal", f"{path}: {records} records in {found} slices, not {slices}")
        if max(self.data[HEADER.size + 20 :: self.record_bytes]) >= operations:
            raise Refusal("internal", f"{path} names an operation that prepare does not")
        self.slice_records = records // slices
        self.unpack_from = RECORDS[self.record_bytes].unpack_from

    def offset(self, part: int) -> int:
        return HEADER.size + part * self.slice_records * self.record_bytes


def key_rule(name: str, counter: dict, worker: int):
    """A function of the record's key and the number of documents made so far."""
    first, stride, loaded = counter["first"] + worker, counter["stride"], counter["loaded"]

    def latest(key: int, made: int) -> int:
        back = made - 1 - key
        return first + stride * back if back >= 0 else max(0, loaded + back)

    return {
        "schedule": lambda key, made: key,
        "counter": lambda key, made: first + stride * made,
        "latest": latest,
    }[name]


def guid(inputs) -> Binary:
    mask = (inputs.lap & 0xFFFFFFFF) << 96 | inputs.item & 0xFFFFFFFF
    return Binary((int.from_bytes(inputs.guid, "big") ^ mask).to_bytes(16, "big"), 4)


def compile_stamp(stamp: dict):
    """A function that stamps a document with its second argument, the inputs."""
    *parents, last = stamp["path"]
    prefix, width, add = stamp.get("prefix", ""), stamp.get("width", 0), stamp.get("add", 0)
    source = attrgetter(stamp["from"])
    convert = {
        "int32": int,
        "int64": Int64,
        "double": float,
        # A naive datetime is UTC to the driver, as in most applications.
        "date": lambda value: datetime(1970, 1, 1) + timedelta(milliseconds=value),
        "string": lambda value: prefix + str(value).zfill(width),
        "objectid": lambda value: ObjectId(bytes.fromhex(prefix) + value.to_bytes(8, "big")),
        "guid": None,
    }[stamp["as"]]

    def apply(document, inputs):
        for step in parents:
            document = document[int(step) if type(document) is list else step]
        step = int(last) if type(document) is list else last
        document[step] = convert(source(inputs) + add) if convert else guid(inputs)

    return apply


def copier(value):
    """A function that makes a fresh deep copy, sharing nothing that can be changed.

    copy.deepcopy takes several times as long as the driver's own encoding, and no application
    makes its documents that way: like a dict display, this one shares strings and numbers.
    """
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    nested = [(step, copier(inner)) for step, inner in steps if isinstance(inner, (dict, list))]

    def copy():
        fresh = value.copy()
        for step, inner in nested:
            fresh[step] = inner()
        return fresh

    return copy if nested else value.copy


def builder(copiers: list, stamps: list):
    """A function that makes the document of that number in a pool; a template is a pool of one."""
    applied = [compile_stamp(stamp) for stamp in stamps]

    def build(number, inputs):
        document = copiers[number % len(copiers)]()
        for apply in applied:
            apply(document, inputs)
        return document

    return build


def template_builder(template: dict):
    document = json_util.loads(json.dumps(template["document"]), json_options=EXTENDED_JSON)
    return builder([copier(document)], template["stamps"])


def render(message: dict) -> dict:
    names = ("key", "lap", "item", "sequence", "producer", "made_ns", "time_ms")
    inputs = SimpleNamespace(**{name: message["input"].get(name, 0) for name in names})
    inputs.guid = bytes.fromhex(message["input"].get("guid", ""))
    inputs.sequence += inputs.item
    return template_builder(message)(0, inputs)
