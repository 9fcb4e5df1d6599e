"""The least code with which a Python program does the adapter's work, for comparison with it.

loop.py URI DATABASE COLLECTION OPERATION WORKERS POOL. Each line of its input is the length of a
turn in ms; it answers with the operations done and the ns they took.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from time import monotonic_ns

from bson import Binary, Int64, ObjectId, decode_all
from pymongo import MongoClient

LOADED = 20_000  # documents that there are to be found: keys 0 and up
STRIDE = 7_919  # coprime to LOADED: every key comes, in an order that no cache knows
PREFIX = bytes.fromhex("6955b900")


def made_anew(value):
    return Binary(value, value.subtype) if isinstance(value, Binary) else bytes(memoryview(value))


class Worker:
    def __init__(self, items, pool, key, workers):
        self.items, self.pool, self.key, self.workers = items, pool, key, workers
        # An application would have made each; the rest of a document can be shared.
        self.binaries = [name for name, value in pool[0].items() if isinstance(value, bytes)]
        self.starts, self.ends, self.sum = [], [], 0

    def insert_one(self, until_ns):
        items, pool, starts, ends = self.items, self.pool, self.starts, self.ends
        now_ns = monotonic_ns()
        while now_ns < until_ns:
            document = pool[self.key % len(pool)].copy()
            for name in self.binaries:
                document[name] = made_anew(document[name])
            document["_id"] = ObjectId(PREFIX + self.key.to_bytes(8, "big"))
            document["number"] = Int64(self.key)
            self.key += self.workers
            starts.append(monotonic_ns())
            items.insert_one(document)
            now_ns = monotonic_ns()
            ends.append(now_ns)

    def find_one(self, until_ns):
        items, starts, ends = self.items, self.starts, self.ends
        now_ns = monotonic_ns()
        while now_ns < until_ns:
            self.key = (self.key + STRIDE) % LOADED
            wanted = {"_id": ObjectId(PREFIX + self.key.to_bytes(8, "big"))}
            starts.append(monotonic_ns())
            found = items.find_one(wanted)
            now_ns = monotonic_ns()
            ends.append(now_ns)
            self.sum += found["number"]


def main(uri, database, collection, operation, workers, pool):
    items = MongoClient(uri)[database][collection]
    with open(pool, "rb") as file:
        pool = decode_all(file.read())
    workers = [Worker(items, pool, key, int(workers)) for key in range(int(workers))]
    with ThreadPoolExecutor(len(workers)) as threads:
        for line in sys.stdin:
            began_ns = monotonic_ns()
            until_ns = began_ns + int(line) * 1_000_000
            for worker in workers:
                worker.starts.clear()
                worker.ends.clear()
            turns = [threads.submit(getattr(worker, operation), until_ns) for worker in workers]
            for turn in turns:
                turn.result()
            ended_ns = max(worker.ends[-1] for worker in workers)
            print(sum(len(worker.ends) for worker in workers), ended_ns - began_ns, flush=True)


main(*sys.argv[1:])
