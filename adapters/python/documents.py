"""What operations are given: copies of the pools' documents, and their stamps. SPEC 4 to 6.

An item is an operation of the schedule, or a part of a bulk, with the values that stamps take.
"""

import time
from operator import itemgetter
from pathlib import Path

import dialect

clock_ns = time.monotonic_ns
# Fields of an item. It is one flat tuple, because each further object is one more cache miss.
KEY, SEQUENCE, PRODUCER, GUID, SHIFT, DOCUMENT, COUNT, OPERATION, DUE_NS = range(9)


def sources(epoch_ns):
    """For each word of `from`, a function of an item."""
    return {
        "key": itemgetter(KEY),
        "sequence": itemgetter(SEQUENCE),
        "producer": itemgetter(PRODUCER),
        "made_ns": lambda item: clock_ns() - epoch_ns,
        "time_ms": lambda item: time.time_ns() // 1_000_000,
    }


def guid(item):
    """The record's guid, XORed: first bytes with the shift's low half, last with the high."""
    guid, shift = item[GUID], item[SHIFT]
    mask = shift & 0xFFFFFFFF | shift >> 32 << 96
    return (int.from_bytes(guid, "little") ^ mask).to_bytes(16, "little")


def guid_string(guid):
    digits = guid.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def conversion(stamp, sources):
    """What a stamp takes from an item, and the value that it makes of that: two functions."""
    form, prefix, add = stamp["as"], stamp.get("prefix", ""), stamp.get("add", 0)
    if form == "guid":
        return guid, dialect.guid
    if form == "guid_string":
        return guid, guid_string
    source, width = sources[stamp["from"]], stamp.get("width", 0)
    if form == "string":
        return source, lambda number: prefix + str(number + add).zfill(width)
    if form == "objectid":
        head = bytes.fromhex(prefix)
        return source, lambda number: dialect.objectid(head + (number + add).to_bytes(8, "big"))
    convert = dialect.NUMBERS[form]
    return source, (lambda number: convert(number + add)) if add else convert


def putter(stamp, sources):
    """A function that puts the value of a nested stamp into a document."""
    (*parents, last), (source, convert) = stamp["path"], conversion(stamp, sources)

    def put(document, item):
        for step in parents:
            document = document[int(step) if type(document) is list else step]
        document[int(last) if type(document) is list else last] = convert(source(item))

    return put


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


def builder(copiers, stamps, sources):
    """A function that makes an item's document from a pool; a template is a pool of one."""
    own = [stamp for stamp in stamps if len(stamp["path"]) == 1]
    values = [(stamp["path"][0], *conversion(stamp, sources)) for stamp in own]
    puts = [putter(stamp, sources) for stamp in stamps if stamp not in own]
    count = len(copiers)

    def build(item):
        document = copiers[item[DOCUMENT] % count]()
        for name, source, convert in values:
            document[name] = convert(source(item))
        for put in puts:
            put(document, item)
        return document

    return build


def render(message):
    given = message["input"]
    times = {name: lambda item, name=name: given.get(name, 0) for name in ("made_ns", "time_ms")}
    item = [given.get(name, 0) for name in ("key", "sequence", "producer")]
    item += bytes.fromhex(given.get("guid", "00" * 16)), given.get("shift", 0), 0
    [template] = dialect.decode(bytes.fromhex(message["template"]))
    build = builder([copier(template)], message["stamps"], {**sources(0), **times})
    return dialect.encode(build(item))


class Makers:
    """For each operation, a function of an item that makes what the call is given."""

    def __init__(self, message, schedule, epoch_ns):
        self.item_step, self.schedule = message["item_step"], schedule
        self.sources = sources(epoch_ns)
        pools = [dialect.decode(Path(path).read_bytes()) for path in message["pools"]]
        self.pools = [list(map(copier, pool)) for pool in pools]
        self.operations = message["operations"]
        for operation in self.operations:
            for name in dialect.OPTIONS.keys() & operation.keys():
                given = operation[name]
                operation[name] = pools[given["pool"]][given["document"]]

    def builder(self, operation, name):
        given = operation[name]
        pool = self.pools[given["pool"]]
        chosen = pool if name == "documents" else [pool[given["document"]]]
        return builder(chosen, given["stamps"], self.sources)

    def maker(self, operation):
        kind = operation["kind"]
        if kind == "bulk_write":
            return self.bulk_maker()
        if kind == "transaction":
            return self.transaction_maker()
        if kind == "insert_many" or (kind == "noop" and "documents" in operation):
            return self.batch_maker(operation)
        names = [name for name in dialect.KINDS[kind][2:] if name in operation]
        builders = [self.builder(operation, name) for name in names]

        def make(item):
            return [build(item) for build in builders]

        # Most are given one document, and a comprehension would be one more call between
        # operations.
        make = {0: lambda item: (), 1: lambda item: (builders[0](item),)}.get(len(builders), make)
        return (lambda item: [item[COUNT], *make(item)]) if kind == "find" else make

    def batch_maker(self, operation):
        build, step = self.builder(operation, "documents"), self.item_step

        def make_lazily(item):
            key, sequence, producer, guid, shift, document, count = item[: COUNT + 1]
            for n in range(count):
                by = n * step
                yield build((key + by, sequence + n, producer, guid, shift + by, document + n))

        if operation.get("lazy"):
            return lambda item: [make_lazily(item)]
        return lambda item: [list(make_lazily(item))]

    def bulk_maker(self):
        parts = {
            number: (self.maker(operation), dialect.bulk_part(operation))
            for number, operation in enumerate(self.operations)
            if operation["kind"] in dialect.BULK_PARTS
        }

        def make(item):
            requests = []
            for part in self.schedule.parts(item):
                make_part, request = parts[part[OPERATION]]
                requests.append(request(*make_part(part)))
            return [requests]

        return make

    def transaction_maker(self):
        parts = {
            number: self.maker(operation)
            for number, operation in enumerate(self.operations)
            if operation["kind"] in dialect.TRANSACTION_PARTS
        }

        def make(item):
            numbered = [(part[OPERATION], part) for part in self.schedule.parts(item)]
            return [[(number, parts[number](part)) for number, part in numbered]]

        return make
