// node --test: what is this driver's and this runtime's own; the rest is `mongodyno check`'s.
// A server, for the tests that need one, from MDYN_URI.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Binary, Double, Long, MongoClient } from 'mongodb';
import { serialize } from 'mongodb/lib/bson.js';
import { Consumer } from './consumer.mjs';
import { decode, pooled } from './documents.mjs';
import { connect, describe, opened } from './operations.mjs';
import { Workers } from './workers.mjs';

const FOREVER = Number.MAX_SAFE_INTEGER;
const uri = process.env.MDYN_URI;
const needsServer = uri ? {} : { skip: 'MDYN_URI is not set' };
const dir = mkdtempSync(join(tmpdir(), 'mdyn-node-'));
const database = `mdyn_node_${process.pid}`;
const client = uri && (await new MongoClient(uri).connect());
after(async () => {
  rmSync(dir, { recursive: true });
  await client?.db(database).dropDatabase();
  await client?.close();
});

function written(name, bytes) {
  writeFileSync(join(dir, name), bytes);
  return join(dir, name);
}

/** A phase of awaited operations, one record for each key. */
function prepareMessage(keys, fields) {
  const schedule = Buffer.alloc(32 + keys.length * 32);
  schedule.write('MDYNSCH2');
  for (const [at, value] of [32, keys.length, 1].entries()) {
    schedule.writeUInt32LE(value, 8 + at * 4);
  }
  keys.forEach((key, i) => {
    schedule.writeUInt32LE(key, 32 + i * 32 + 8);
  });
  return {
    type: 'prepare',
    samples: join(dir, 'samples'),
    schedule: written('schedule', schedule),
    pools: [],
    workers: 1,
    first_worker: 0,
    limits: null,
    pacing: { mode: 'awaited' },
    lap_step: 0,
    item_step: 0,
    errors_consecutive_max: 10,
    operations: [{ name: 'noop', kind: 'noop' }],
    ...fields,
  };
}

const samples = () => readFileSync(join(dir, 'samples'));
const workersOf = () => Array.from(samples().subarray(30)).filter((_, i) => i % 32 === 0);

/** The adapter as the core has it, in a turn that only a signal ends. */
async function turning(message) {
  const child = spawn(process.execPath, ['adapter.mjs'], { cwd: import.meta.dirname });
  const ended = new Promise((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal }));
  });
  const lines = [{ type: 'hello', protocol: 2, epoch_ns: '0' }, message];
  for (const line of [...lines, { type: 'turn', until_ns: FOREVER }]) {
    child.stdin.write(`${JSON.stringify(line)}\n`);
  }
  let said = '';
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    said += chunk;
    if (said.includes('"ready"')) break;
  }
  await sleep(200);
  return { child, ended };
}

test('numbers are plain where they encode to the same bytes', () => {
  const values = { whole: new Double(3), half: 0.5, small: Long.fromNumber(5), seven: 7 };
  const bytes = serialize({ ...values, list: [{ n: 1 }] });
  const [document] = decode(Buffer.from(bytes));
  assert.deepEqual(document, { ...values, list: [{ n: 1 }] });
  assert.deepEqual(serialize(document), bytes);
});

test('documents are deep copies, of bytes as well', () => {
  const pool = [{ a: { list: [{ n: 1 }] }, at: new Date(5), bytes: new Binary(Buffer.alloc(4)) }];
  const fresh = pooled(pool)({ document: 0 });
  fresh.a.list[0].n = 2;
  fresh.at.setTime(6);
  fresh.bytes.buffer[0] = 1;
  assert.deepEqual([pool[0].a.list[0].n, pool[0].at.getTime(), pool[0].bytes.buffer[0]], [1, 5, 0]);
});

test('errors: the code or 0, a name, timeouts of the driver and of the server', () => {
  const told = (name, fields) => {
    const { code, name: said, timeout } = describe(Object.assign(new Error('x'), { name }, fields));
    return [code, said, timeout];
  };
  assert.deepEqual(told('MongoServerError', { code: 11000 }), [11000, 'MongoServerError', false]);
  assert.deepEqual(told('MongoServerError', { code: 50, codeName: 'Max' }), [50, 'Max', true]);
  assert.deepEqual(told('MongoNetworkTimeoutError', {}), [0, 'MongoNetworkTimeoutError', true]);
  const [, , waited] = told('MongoServerSelectionError', {});
  assert.equal(waited, true);
  assert.deepEqual(told('Error', { code: 'ECONNRESET' }), [0, 'Error', false]);
});

test('opened: what is not sent is {}, w: 0 is not acknowledged', () => {
  const of = (query) => opened(new MongoClient(`mongodb://localhost/?${query}`));
  assert.equal(of('').acknowledged, true);
  assert.equal(JSON.stringify(of('').resolved.write_concern), '{}');
  assert.deepEqual(of('').resolved.compressors, []);
  assert.equal(of('w=0').acknowledged, false);
  const { write_concern, max_pool_size, read_concern } = of(
    'w=1&journal=true&maxPoolSize=7&readConcernLevel=local',
  ).resolved;
  assert.equal(JSON.stringify(write_concern), '{"w":1,"j":true}');
  assert.deepEqual([max_pool_size, read_concern], [7, 'local']);
});

test('open is refused: no server there, an option that the driver does not know', async () => {
  const refused = (query) =>
    connect({ uri: `mongodb://127.0.0.1:1/?${query}` }, 'x').catch(({ code }) => code);
  assert.equal(await refused('serverSelectionTimeoutMS=100'), 'connect');
  assert.equal(await refused('noSuchOption=1'), 'unsupported');
  assert.equal(await refused('maxPoolSize=many'), 'unsupported');
});

test('SIGTERM is seen among no-ops, whose promises never reach the event loop', async () => {
  const message = prepareMessage([1, 2, 3, 4], { workers: 2 });
  const schedule = readFileSync(message.schedule);
  schedule.writeUInt32LE(2, 16); // slices
  writeFileSync(message.schedule, schedule);
  const { child, ended } = await turning(message);
  child.kill('SIGTERM');
  assert.deepEqual(await ended, { code: 0, signal: null });
  const workers = workersOf();
  const ofSecond = workers.filter((worker) => worker === 1).length;
  assert.ok(workers.length > 1000);
  assert.ok(Math.abs(ofSecond - workers.length / 2) <= 1, 'the workers take turns');
});

test('SIGTERM and the end of stdin are seen by sleepers', async () => {
  const think = { pacing: { mode: 'awaited', think_ns: 60e9 } };
  for (const stop of [(child) => child.kill('SIGTERM'), (child) => child.stdin.end()]) {
    const { child, ended } = await turning(prepareMessage([1], think));
    stop(child);
    assert.deepEqual(await ended, { code: 0, signal: null });
  }
});

test('what no server of our own can answer', needsServer, async () => {
  const items = client.db(database).collection('items');
  await items.insertMany([1, 2].map((_id) => ({ _id, a: { b: _id }, n: _id })));
  const templates = [{ _id: 0 }, { $inc: { n: 10 } }, { n: 1 }];
  const pools = [written('templates', Buffer.concat(templates.map((it) => serialize(it))))];
  const filter = { pool: 0, document: 0, stamps: [{ path: ['_id'], as: 'int32', from: 'key' }] };
  const update = { pool: 0, document: 1, stamps: [] };
  const projection = { pool: 0, document: 2, stamps: [] };
  for (const [kind, fields, sum] of [
    ['find_one', { filter, projection, sum_field: 'n' }, 3],
    ['find', { filter, projection, sum_field: 'a' }, 0], // else an object were added
    ['find_one_and_update', { filter, update, sum_field: 'n' }, 3], // as they were before
    ['read_modify_write', { filter, update, sum_field: 'n' }, 23],
  ]) {
    const operations = [{ name: kind, kind, collection: 'items', ...fields }];
    const message = prepareMessage([1, 2, 3], { operations, pools, limits: [3] });
    const connection = { clients: [client], deal: 'worker', database, acknowledged: true };
    const phase = await Workers.prepared(message, connection);
    await phase.turn({ until_ns: FOREVER });
    const { totals, errors } = phase.end();
    assert.deepEqual(totals, { documents: 2, sum }, kind);
    assert.equal(errors[0]?.count, kind === 'find' ? undefined : 1, kind); // there is no 3
  }
  const left = await items.find().toArray();
  assert.deepEqual([left[0].n, left[1].n], [21, 22]);
});

test('the consumer reads the clock for each message, not for a batch', needsServer, async () => {
  const capped = await client.db(database).createCollection('m', { capped: true, size: 1 << 20 });
  await capped.insertOne({ sentinel: true });
  const message = prepareMessage([], {
    consumer: { collection: 'm', expected: 500, idle_ms: 5000, marker_field: 'last' },
  });
  const consumer = await Consumer.prepared(message, { clients: [client], database });
  const made = { producer: 1, made_ns: 1 };
  await capped.insertMany(Array.from({ length: 500 }, (_, sequence) => ({ ...made, sequence })));
  assert.equal((await consumer.turn({ until_ns: FOREVER })).exhausted, true);
  assert.equal((await consumer.end()).totals.documents, 500);
  const starts = new Set(
    Array.from({ length: 500 }, (_, i) => samples().readBigUInt64LE(i * 32 + 8)),
  );
  assert.ok(starts.size > 450, `${starts.size} readings`);
});
