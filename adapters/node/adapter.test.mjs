// node --test: the contract's vectors, formats, key rules, stopping; with MDYN_URI a server.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { serialize } from 'mongodb/lib/bson.js';
import {
  dir,
  epoch_ns,
  FOREVER,
  greeted,
  here,
  needsServer,
  readSamples,
  start,
  writeSchedule,
} from './harness.mjs';
import { prepareOperation } from './operations.mjs';
import { masked, pooled, readPool, render, Samples, Schedule } from './protocol.mjs';

const vectors = process.env.MDYN_VECTORS ?? join(here, '../../protocol/vectors');

function jsonLines(path) {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

function prepareMessage(name, fields) {
  return {
    type: 'prepare',
    phase: name,
    role: 'worker',
    warmup: false,
    samples: join(dir, `${name}.bin`),
    schedule: join(dir, `${name}.schedule`),
    pools: [],
    document_form: 'native',
    workers: 1,
    first_worker: 0,
    limits: null,
    pacing: { mode: 'awaited', think_ns: 0 },
    counter: { first: 0, stride: 1, loaded: 0 },
    errors_consecutive_max: 10,
    operations: [{ name: 'noop', kind: 'noop', key: 'schedule' }],
    ...fields,
  };
}

function assertHolds(expected, actual, path) {
  if (expected === '$any') return assert.notEqual(actual, undefined, path);
  if (typeof expected !== 'object' || expected === null || Array.isArray(expected)) {
    return assert.deepEqual(actual, expected, path);
  }
  for (const name of Object.keys(expected)) {
    assertHolds(expected[name], actual?.[name], `${path}.${name}`);
  }
}

for (const name of readdirSync(join(vectors, 'documents'))) {
  for (const vector of jsonLines(join(vectors, 'documents', name))) {
    test(`document: ${vector.name}`, () => assert.equal(render(vector), vector.bson));
    test(`pool document: ${vector.name}`, () => {
      const path = join(dir, 'one.bson');
      const bytes = Buffer.from(render({ document: vector.document }), 'hex');
      writeFileSync(path, Buffer.concat([bytes, bytes]));
      const [, document] = readPool(path);
      const fresh = pooled([document])({ document: 0, item: 0 });
      assert.equal(Buffer.from(serialize(fresh)).toString('hex'), bytes.toString('hex'));
      assert.equal(fresh.constructor, Object);
    });
  }
}

for (const folder of ['valid', 'invalid']) {
  for (const name of readdirSync(join(vectors, folder))) {
    test(`conversation: ${folder}/${name}`, async () => {
      writeSchedule(join(dir, 'noop.schedule'), Array(64).fill({}), { slices: 2 });
      const text = readFileSync(join(vectors, folder, name), 'utf8');
      const lines = text.replaceAll('{dir}', dir).replaceAll('{epoch}', epoch_ns).split('\n');
      const adapter = start();
      for (const { send, send_line, expect } of lines.filter(Boolean).map(JSON.parse)) {
        if (send) adapter.send(JSON.stringify(send));
        if (send_line !== undefined) adapter.send(send_line);
        if (expect) assertHolds(expect, await adapter.next(), 'answer');
      }
      assert.deepEqual(await adapter.ended, { code: 0, signal: null, log: '' });
    });
  }
}

test('schedule: equal slices, laps, limits', () => {
  const records = [5, 6, 7, 2 ** 40 + 3].map((key, i) => ({ intended: 10 * i, key, document: i }));
  const path = writeSchedule(join(dir, 's.schedule'), records, { slices: 2, lap_ns: 1000 });
  const schedule = new Schedule(path);
  const worker = { slice: schedule.slice(1, 3) };
  const taken = [];
  while (schedule.take(worker)) {
    taken.push([worker.index, worker.lap, worker.intended_ns, worker.record_key, worker.document]);
  }
  assert.deepEqual(taken, [
    [0, 0, 20, 7, 2],
    [1, 0, 30, 2 ** 40 + 3, 3],
    [2, 1, 1020, 7, 2],
  ]);
  writeFileSync(path, 'MDYNSCH2');
  assert.throws(() => new Schedule(path));
});

test('schedule: a guid changes with lap and item', () => {
  const guid = '00112233445566778899aabbccddeeff';
  const path = writeSchedule(join(dir, 'g.schedule'), [{ guid }], { record_bytes: 40 });
  const schedule = new Schedule(path);
  const worker = { slice: schedule.slice(0), guids: schedule.bytes, item: 2, key: 0 };
  schedule.take(worker);
  schedule.take(worker);
  const make = pooled([{ _id: 0 }], [{ path: ['_id'], as: 'guid', from: 'key' }]);
  assert.equal(make(worker)._id.buffer.toString('hex'), '00112232445566778899aabbccddeefd');
});

test('samples: 32 bytes, written when the buffer is full', () => {
  const path = join(dir, 'samples.bin');
  const samples = new Samples(path, true);
  const long_ns = 2 ** 40 + 1;
  samples.add(2 ** 53 - 1, 2 ** 33 + 5, 2 ** 33 + 5 + long_ns, 2 ** 32 - 1, 3, 2, 65535);
  for (let i = 1; i <= 32768; i += 1) samples.add(i, i, i, i, 0, 0, 0);
  assert.equal(readFileSync(path).length, 32768 * 32);
  samples.close();
  const [first, ...rest] = readSamples(path);
  assert.deepEqual(first, {
    intended: 2 ** 53 - 1,
    start: 2 ** 33 + 5,
    service: long_ns,
    index: 2 ** 32 - 1,
    operation: 3,
    outcome: 130,
    worker: 65535,
  });
  assert.equal(rest.length, 32768);
  assert.equal(rest.at(-1).index, 32768);
});

test('keys: counter and latest', () => {
  const collection = {};
  const connection = { database: { collection: () => collection }, resolved: {} };
  const counter = { first: 100, stride: 4, loaded: 50 };
  const parts = { connection, pools: [[{ _id: 0 }]], counter, totals: {} };
  const stamps = [{ path: ['_id'], as: 'int32', from: 'key' }];
  const documents = { pool: 0, stamps };
  const many = { kind: 'insert_many', collection: 'c', key: 'counter', batch: 3, documents };
  const find = { kind: 'find_one', collection: 'c', key: 'latest' };
  const filter = { document: { _id: { $numberInt: '0' } }, stamps };
  const insert = prepareOperation(many, parts);
  const latest = prepareOperation({ ...find, filter }, parts);
  const worker = { number: 2, made: 0, document: 0, item: 0, index: 0, record_key: 0 };
  const keyAt = (back) => latest.make(Object.assign(worker, { record_key: back })).filter._id;
  assert.deepEqual([keyAt(0), keyAt(49), keyAt(60)], [49, 0, 0]);
  assert.deepEqual(
    insert.make(worker).documents.map(({ _id }) => _id),
    [102, 106, 110],
  );
  assert.deepEqual(
    insert.make(worker).documents.map(({ _id }) => _id),
    [114, 118, 122],
  );
  assert.deepEqual([keyAt(0), keyAt(5), keyAt(6)], [122, 102, 49]);
});

test('documents are deep copies', () => {
  const pool = [{ a: { list: [{ n: 1 }] }, at: new Date(5) }];
  const fresh = pooled(pool)({ document: 0, item: 0 });
  fresh.a.list[0].n = 2;
  fresh.at.setTime(6);
  assert.deepEqual(pool, [{ a: { list: [{ n: 1 }] }, at: new Date(5) }]);
});

test('credentials are masked', () => {
  const text = masked('bad "mongodb://me:p@ss@host:1/x" and mongodb+srv://a:b@c');
  assert.equal(text, 'bad "mongodb://***@host:1/x" and mongodb+srv://***@c');
});

test('SIGTERM ends a long turn of noop with its samples', async () => {
  const adapter = await greeted();
  writeSchedule(join(dir, 'long.schedule'), Array(4).fill({}), { slices: 2 });
  await adapter.ask(prepareMessage('long', { workers: 2 }));
  adapter.send(JSON.stringify({ type: 'turn', start_ns: 0, until_ns: FOREVER }));
  await new Promise((resolve) => {
    setTimeout(resolve, 100);
  });
  adapter.child.kill('SIGTERM');
  assert.deepEqual(await adapter.ended, { code: 0, signal: null, log: '' });
  const samples = readSamples(join(dir, 'long.bin'));
  assert.ok(samples.length > 1000);
  const ofFirst = samples.filter(({ worker }) => worker === 0).length;
  assert.ok(Math.abs(ofFirst - samples.length / 2) <= 1, 'the workers take turns');
});

test('SIGTERM between turns and during a sleep, end of file', async () => {
  const idle = await greeted();
  idle.child.kill('SIGTERM');
  assert.equal((await idle.ended).code, 0);
  const eof = await greeted();
  eof.child.stdin.end();
  assert.equal((await eof.ended).code, 0);
  const asleep = await greeted();
  writeSchedule(join(dir, 'sleep.schedule'), [{ intended: 60e9 }]);
  await asleep.ask(prepareMessage('sleep', { pacing: { mode: 'rate' }, workers: 3 }));
  asleep.send(JSON.stringify({ type: 'turn', start_ns: 0, until_ns: FOREVER }));
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });
  asleep.child.kill('SIGTERM');
  assert.equal((await asleep.ended).code, 0);
});

for (const pacing of [
  { mode: 'awaited' },
  { mode: 'window', size: 3 },
  { mode: 'rate' },
  { mode: 'burst' },
]) {
  const { mode } = pacing;
  test(`pacing ${mode}: every record once, over turns`, async () => {
    const adapter = await greeted();
    const shared = mode === 'rate' || mode === 'burst';
    const records = Array.from({ length: 40 }, (_, i) => ({ intended: i * 1e6 }));
    writeSchedule(join(dir, `${mode}.schedule`), records, { slices: shared ? 1 : 4 });
    const limits = shared ? [40] : [10, 10, 10, 10];
    const armed = await adapter.ask(prepareMessage(mode, { workers: 4, limits, pacing }));
    assert.equal(armed.type, 'armed');
    const { now_ns } = await adapter.ask({ type: 'clock' });
    const T0 = now_ns + 20e6;
    const first = await adapter.ask({ type: 'turn', start_ns: T0, until_ns: T0 + 20e6 });
    assert.ok(first.began_ns >= T0);
    assert.equal(first.exhausted, mode !== 'rate');
    const second = await adapter.ask({ type: 'turn', start_ns: 0, until_ns: FOREVER });
    assert.equal(second.exhausted, true);
    assert.equal(first.operations + second.operations, 40);
    assert.equal((await adapter.ask({ type: 'end' })).samples, 40);
    const samples = readSamples(join(dir, `${mode}.bin`));
    if (mode === 'rate') assert.ok(samples.every((s) => s.intended === T0 + s.index * 1e6));
    if (mode === 'rate') assert.ok(samples.every((s) => s.start >= s.intended));
    if (mode === 'burst') assert.ok(samples.every((s) => s.intended === T0));
    if (!shared) assert.ok(samples.every((s) => s.intended === s.start));
    const slices = shared ? 1 : 4;
    assert.equal(samples.filter((s) => s.index === 0).length, slices);
    adapter.child.stdin.end();
  });
}

test('open: no server there', async () => {
  const adapter = await greeted();
  const uri = 'mongodb://me:secret@127.0.0.1:1/?serverSelectionTimeoutMS=200';
  const refused = await adapter.ask({ type: 'open', uri, database: 'mdyn_x', role: 'worker' });
  assert.equal(refused.code, 'connect');
  assert.ok(!refused.message.includes('secret'));
  assert.equal((await adapter.ask({ type: 'clock' })).type, 'clock');
  adapter.child.stdin.end();
  assert.equal((await adapter.ended).log, '');
});

const ID = {
  document: { _id: { $numberLong: '0' } },
  stamps: [{ path: ['_id'], as: 'int64', from: 'key' }],
};
const DOCUMENTS = { pool: 0, stamps: ID.stamps };
const SET = { document: { $set: { seen: true } } };
const ALL = { document: {} };
const GROUP = { _id: null, n: { $sum: { $numberInt: '1' } } };
const COUNT = { document: { pipeline: [{ $group: GROUP }] } };

// kind, fields of the operation, record keys, then [errors, documents, sum] that must come out
const STEPS = [
  ['insert_one', { key: 'counter', documents: DOCUMENTS }, [0, 0, 0], [0, 0, 0]],
  ['insert_one', { documents: DOCUMENTS }, [1, 2], [2, 0, 0]],
  ['insert_many', { documents: DOCUMENTS, batch: 1 }, [3, 4], [0, 0, 0]],
  ['find_one', { filter: ID, sum_field: 'number' }, [0, 4, 99], [1, 2, 14]],
  ['find', { filter: ALL, sum_field: 'number', batch_size: 2 }, [0, 0], [0, 10, 70]],
  ['find', { filter: ALL, limit: 2 }, [0], [0, 2, 0]],
  ['update_one', { filter: ID, update: SET }, [0, 77], [1, 0, 0]],
  ['update_one', { filter: ID, update: SET, upsert: true }, [0, 88], [0, 0, 0]],
  ['replace_one', { filter: ID, documents: DOCUMENTS }, [0, 77], [1, 0, 0]],
  ['delete_one', { filter: ID }, [88, 88], [1, 0, 0]],
  ['count', { filter: ALL, read_concern: 'local' }, [0], [0, 5, 0]],
  ['aggregate', { pipeline: COUNT, sum_field: 'n' }, [0], [0, 1, 5]],
  ['command', { command: { document: { ping: { $numberInt: '1' } } } }, [0], [0, 0, 0]],
  ['command', { command: { document: { nope: { $numberInt: '1' } } } }, [0], [1, 0, 0]],
  ['insert_one', { documents: DOCUMENTS, write_concern: { w: 0 } }, [0, 0], [0, 0, 0]],
];

test('operations on a server', needsServer, async () => {
  const adapter = await greeted();
  const database = `mdyn_node_${process.pid}`;
  const opened = await adapter.ask({ type: 'open', uri: process.env.MDYN_URI, database });
  assert.equal(opened.type, 'opened', JSON.stringify(opened));
  assert.ok(opened.resolved.max_pool_size > 0 && opened.server.max_wire_version > 0);
  const pool = join(dir, 'pool.bson');
  const document = { _id: { $numberLong: '0' }, number: { $numberInt: '7' } };
  writeFileSync(pool, Buffer.from(render({ document }), 'hex'));
  const run = async (operation, keys) => {
    writeSchedule(
      join(dir, 'step.schedule'),
      keys.map((key) => ({ key })),
    );
    const fields = { pools: [pool], limits: [keys.length], operations: [operation] };
    const armed = await adapter.ask(prepareMessage('step', fields));
    assert.equal(armed.type, 'armed', JSON.stringify(armed));
    const turned = await adapter.ask({ type: 'turn', start_ns: 0, until_ns: FOREVER });
    return { turned, ended: await adapter.ask({ type: 'end' }) };
  };
  for (const [kind, fields, keys, expected] of STEPS) {
    const operation = { name: kind, kind, key: 'schedule', ...fields };
    if (kind !== 'command') operation.collection = 'items';
    const { turned, ended } = await run(operation, keys);
    const { documents, sum } = ended.totals;
    const told = JSON.stringify([kind, ended]);
    assert.equal(turned.operations, keys.length, told);
    assert.deepEqual([turned.errors, documents, sum], expected, told);
    const wrong = readSamples(join(dir, 'step.bin')).filter(({ outcome }) => outcome !== 0);
    assert.equal(wrong.length, turned.errors, told);
    assert.equal(
      ended.errors.reduce((n, { count }) => n + count, 0),
      turned.errors,
      told,
    );
  }
  const drop = { document: { dropDatabase: { $numberInt: '1' } } };
  await run({ name: 'drop', kind: 'command', command: drop }, [0]);
  assert.equal((await adapter.ask({ type: 'close' })).type, 'closed');
  assert.deepEqual(await adapter.ended, { code: 0, signal: null, log: '' });
});
