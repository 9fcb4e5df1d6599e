"""Documents of the pools, copied and stamped before a call: SPEC sections 4 to 6."""

from __future__ import annotations

import time
from operator import attrgetter

import pymongo4 as dialect

clock_ns = time.monotonic_ns


class Inputs:
    """The values for the stamps of one worker's operation."""

    key = shift = sequence = 0
    guid = b""
    made_ns = property(lambda self: clock_ns() - self.epoch_ns)
    time_ms = property(lambda self: time.time_ns() // 1_000_000)

    def __init__(self, epoch_ns: int, producer: int):
        self.epoch_ns = epoch_ns
        self.producer = producer


def guid(inputs) -> bytes:
    """The guid of the record with the shift's low half in its first bytes, the high in its last."""
    shift = inputs.shift
    mask = shift & 0xFFFFFFFF | shift >> 32 << 96
    return (int.from_bytes(inputs.guid, "little") ^ mask).to_bytes(16, "little")


def guid_string(inputs) -> str:
    digits = guid(inputs).hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def stamp_value(stamp: dict):
    """A function of the inputs."""
    form, prefix = stamp["as"], stamp.get("prefix", "")
    if form == "guid":
        return lambda inputs: dialect.guid(guid(inputs))
    if form == "guid_string":
        return guid_string
    head = bytes.fromhex(prefix) if form == "objectid" else b""
    source, add, width = attrgetter(stamp["from"]), stamp.get("add", 0), stamp.get("width", 0)
    convert = {
        "string": lambda value: prefix + str(value).zfill(width),
        "objectid": lambda value: dialect.objectid(head + value.to_bytes(8, "big")),
        **dialect.NUMBERS,
    }[form]
    return lambda inputs: convert(source(inputs) + add)


def compile_stamp(stamp: dict):
    """A function that stamps a document with its second argument, the inputs."""
    *parents, last = stamp["path"]
    value = stamp_value(stamp)

    def apply(document, inputs):
        document[last] = value(inputs)

    def apply_below(document, inputs):
        for step in parents:
            document = document[int(step) if type(document) is list else step]
        document[int(last) if type(document) is list else last] = value(inputs)

    return apply_below if parents else apply


def copier(value):
    """A function that makes a fresh deep copy of a dict or a list.

    copy.deepcopy takes several times as long as the driver's own encoding, and no application
    makes its documents that way: like a dict display, this one shares strings and numbers.
    """
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    nested = [
        (step, dialect.binary_copier(inner) if isinstance(inner, bytes) else copier(inner))
        for step, inner in steps
        if isinstance(inner, (dict, list, bytes))
    ]

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


def render(message: dict) -> bytes:
    given = {name: message["input"].get(name, 0) for name in
             ("key", "shift", "sequence", "producer", "made_ns", "time_ms")}  # fmt: skip
    given["guid"] = bytes.fromhex(message["input"].get("guid", "00" * 16))
    [template] = dialect.decode(bytes.fromhex(message["template"]))
    build = builder([copier(template)], message["stamps"])
    return dialect.encode(build(0, type("Rendered", (), given)))


# What a call is given, in its order: `documents` out of the pool, all else a template.
PARTS = {
    "noop": (), "insert_one": ("documents",), "insert_many": ("documents",),
    "find_one": ("filter", "projection"), "find": ("filter", "projection"),
    "update_one": ("filter", "update"), "delete_one": ("filter",), "count": ("filter",),
    "estimated_count": (), "replace_one": ("filter", "documents"),
    "find_one_and_update": ("filter", "update"), "read_modify_write": ("filter", "update"),
    "bulk_write": (), "aggregate": ("pipeline",), "command": ("command",), "drop": (),
}  # fmt: skip


class Maker:
    """Makes what one worker's calls are given, before the clock is read."""

    def __init__(self, message: dict, schedule, pools: list, epoch_ns: int, producer: int):
        self.lap_step, self.item_step = message["lap_step"], message["item_step"]
        self.operations = message["operations"]
        self.schedule, self.pools = schedule, pools
        self.inputs = Inputs(epoch_ns, producer)

    def compiled(self, operation: dict):
        """A function of a record, its lap and its number."""
        kind, inputs, lap_step = operation["kind"], self.inputs, self.lap_step
        if kind == "insert_many" or (kind == "noop" and operation.get("documents")):
            return self.batches(operation)
        if kind == "bulk_write":
            return self.bulks()
        builders = [
            self.builder(part, operation[part]) for part in PARTS[kind] if operation.get(part)
        ]
        if not builders:
            return lambda record, lap, index: ()

        def make(record, lap, index):
            shift = lap * lap_step if record[5] & 1 else 0
            inputs.key, inputs.shift = record[1] + shift, shift
            inputs.guid, inputs.sequence = record[6], index
            return [build(record[2], inputs) for build in builders]

        if kind == "find":
            return lambda record, lap, index: (record[3], *make(record, lap, index))
        return make

    def builder(self, part: str, reference: dict):
        pool = self.pools[reference["pool"]]
        if part != "documents":
            pool = [pool[reference["document"]]]
        return builder(pool, reference["stamps"])

    def batches(self, operation: dict):
        build = self.builder("documents", operation["documents"])
        own, lap_step, item_step = self.inputs, self.lap_step, self.item_step

        def make_item(record, lap, index, item, inputs):
            shift = item * item_step
            if record[5] & 1:
                shift += lap * lap_step
            inputs.key, inputs.shift = record[1] + shift, shift
            inputs.guid, inputs.sequence = record[6], index + item
            return build(record[2] + item, inputs)

        def make(record, lap, index):
            return [[make_item(record, lap, index, item, own) for item in range(record[3])]]

        def lazily(record, lap, index):
            # Inputs of its own: the driver may ask while the worker makes the next operation's.
            inputs = Inputs(own.epoch_ns, own.producer)
            return [(make_item(record, lap, index, item, inputs) for item in range(record[3]))]

        return lazily if operation.get("lazy") else make

    def bulks(self):
        parts = {
            number: (self.compiled(operation), dialect.bulk_part(operation))
            for number, operation in enumerate(self.operations)
            if operation["kind"] in dialect.BULK_PARTS
        }

        def make(record, lap, index):
            requests = []
            for item in range(record[3]):
                part = self.schedule.part(record[2] + item)
                make_part, request = parts[part[4]]
                requests.append(request(*make_part(part, lap, index + item)))
            return [requests]

        return make
