"""What operations are given: copies of the pools' documents, and their stamps. SPEC 4 to 6.

An item is (key, sequence, producer, guid, shift, lap): what stamps take their values from.
"""

import time
from operator import itemgetter
from pathlib import Path

import dialect

clock_ns = time.monotonic_ns
INTENDED, KEY, DOCUMENT, COUNT, OPERATION, FLAGS, GUID = range(7)  # of a schedule's record
SEQUENCE, LAP = 1, 5  # of an item


def sources(epoch_ns):
    """For each word of `from` a function of an item."""
    return {
        "key": itemgetter(0),
        "sequence": itemgetter(1),
        "producer": itemgetter(2),
        "made_ns": lambda item: clock_ns() - epoch_ns,
        "time_ms": lambda item: time.time_ns() // 1_000_000,
    }


def guid(item):
    """The record's, its first bytes XORed with the shift's low half, its last with the high."""
    guid, shift = item[3:5]
    mask = shift & 0xFFFFFFFF | shift >> 32 << 96
    return (int.from_bytes(guid, "little") ^ mask).to_bytes(16, "little")


def guid_string(guid):
    digits = guid.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def conversion(stamp, sources):
    """Of a stamp two functions: what an item gives it, and the value that it makes of that."""
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
    """A function that makes the document of that number in a pool; a template is a pool of one."""
    own = [stamp for stamp in stamps if len(stamp["path"]) == 1]
    values = [(stamp["path"][0], *conversion(stamp, sources)) for stamp in own]
    puts = [putter(stamp, sources) for stamp in stamps if stamp not in own]
    count = len(copiers)

    def build(number, item):
        document = copiers[number % count]()
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
    item += bytes.fromhex(given.get("guid", "00" * 16)), given.get("shift", 0)
    [template] = dialect.decode(bytes.fromhex(message["template"]))
    build = builder([copier(template)], message["stamps"], {**sources(0), **times})
    return dialect.encode(build(0, item))


class Makers:
    """Of each operation a function of a record and its item that makes what the call is given."""

    def __init__(self, message, schedule, epoch_ns):
        self.lap_step, self.item_step = message["lap_step"], message["item_step"]
        self.schedule, self.sources = schedule, sources(epoch_ns)
        pools = [dialect.decode(Path(path).read_bytes()) for path in message["pools"]]
        self.pools = [list(map(copier, pool)) for pool in pools]
        self.operations = message["operations"]

    def item(self, record, lap, number, producer):
        shift = lap * self.lap_step if record[FLAGS] & 1 else 0
        return record[KEY] + shift, number, producer, record[GUID], shift, lap

    def builder(self, operation, name):
        given = operation[name]
        pool = self.pools[given["pool"]]
        chosen = pool if name == "documents" else [pool[given["document"]]]
        return builder(chosen, given["stamps"], self.sources)

    def maker(self, operation):
        kind = operation["kind"]
        if kind == "bulk_write":
            return self.bulk_maker()
        if kind == "insert_many" or (kind == "noop" and "documents" in operation):
            return self.batch_maker(operation)
        names = [name for name in dialect.KINDS[kind][2:] if name in operation]
        builders = [self.builder(operation, name) for name in names]

        def make(record, item):
            return [build(record[DOCUMENT], item) for build in builders]

        def make_one(record, item):
            return (builders[0](record[DOCUMENT], item),)

        # Most are given one document, and a comprehension is one call more between operations.
        make = {0: lambda record, item: (), 1: make_one}.get(len(builders), make)
        if kind == "find":
            return lambda record, item: [record[COUNT], *make(record, item)]
        return make

    def batch_maker(self, operation):
        build, step = self.builder(operation, "documents"), self.item_step

        def make_lazily(record, item):
            document, (key, sequence, producer, guid, shift, _) = record[DOCUMENT], item
            for n in range(record[COUNT]):
                moved = n * step
                own = key + moved, sequence + n, producer, guid, shift + moved
                yield build(document + n, own)

        if operation.get("lazy"):
            return lambda record, item: [make_lazily(record, item)]
        return lambda record, item: [list(make_lazily(record, item))]

    def bulk_maker(self):
        parts = {
            number: (self.maker(operation), dialect.bulk_part(operation))
            for number, operation in enumerate(self.operations)
            if operation["kind"] in dialect.BULK_PARTS
        }

        def make(record, item):
            _, sequence, producer, _, _, lap = item
            requests = []
            for n in range(record[COUNT]):
                part = self.schedule.part(record[DOCUMENT] + n)
                make_part, request = parts[part[OPERATION]]
                given = make_part(part, self.item(part, lap, sequence + n, producer))
                requests.append(request(*given))
            return [requests]

        return make
