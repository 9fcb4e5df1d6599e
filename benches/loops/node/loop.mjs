// The least code with which a Node.js program does the adapter's work, for comparison with it.
//
// loop.mjs URI DATABASE COLLECTION OPERATION WORKERS POOL, in the folder whose packages it uses.
// Each line of its input is the length of a turn in ms; it answers with the operations done and
// the ns they took.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const { BSON, Long, MongoClient, ObjectId } = createRequire(`${process.cwd()}/`)('mongodb');
const LOADED = 20_000; // documents that there are to be found: keys 0 and up
const STRIDE = 7_919; // coprime to LOADED: every key comes, in an order that no cache knows

const exact = { promoteLongs: false }; // or a long would go back as an int

const [uri, database, collection, operation, count, poolPath] = process.argv.slice(2);
const items = new MongoClient(uri).db(database).collection(collection);
const pool = readPool(readFileSync(poolPath));

function readPool(bytes) {
  const documents = [];
  for (let at = 0; at < bytes.length; at += bytes.readInt32LE(at)) {
    documents.push(BSON.deserialize(bytes.subarray(at, at + bytes.readInt32LE(at)), exact));
  }
  return documents;
}

function id(key) {
  const bytes = Buffer.from('6955b9000000000000000000', 'hex');
  bytes.writeUInt32BE(key, 8); // no key of a loop reaches 2^32
  return new ObjectId(bytes);
}

async function insertOne(worker, until) {
  let now = performance.now();
  while (now < until) {
    const document = { ...pool[worker.key % pool.length] };
    document._id = id(worker.key);
    document.number = Long.fromNumber(worker.key);
    worker.key += worker.workers;
    const start = performance.now();
    await items.insertOne(document);
    now = performance.now();
    worker.times.push(start, now);
  }
}

async function findOne(worker, until) {
  let now = performance.now();
  while (now < until) {
    worker.key = (worker.key + STRIDE) % LOADED;
    const wanted = { _id: id(worker.key) };
    const start = performance.now();
    const found = await items.findOne(wanted);
    now = performance.now();
    worker.times.push(start, now);
    worker.sum += found.number;
  }
}

const turn = operation === 'insert_one' ? insertOne : findOne;
const workers = Array.from({ length: Number(count) }, (_, key) => ({
  key,
  workers: Number(count),
  times: [],
  sum: 0,
}));
for await (const line of createInterface({ input: process.stdin })) {
  const began = performance.now();
  for (const worker of workers) worker.times = [];
  await Promise.all(workers.map((worker) => turn(worker, began + Number(line))));
  const operations = workers.reduce((sum, worker) => sum + worker.times.length / 2, 0);
  const ended = Math.max(...workers.map((worker) => worker.times.at(-1)));
  console.log(operations, Math.round((ended - began) * 1e6));
}
process.exit(0);
