// node --test: messages for a consumer are stamped as their samples say, in every pacing, and a
// burst has all of them on their way before the first answer.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { MongoClient } from 'mongodb';
import { dir, FOREVER, greeted, needsServer, readSamples, writeSchedule } from './harness.mjs';
import { render } from './protocol.mjs';

const DATABASE = `mdyn_node_messages_${process.pid}`;
const WORKERS = 3;
const client = process.env.MDYN_URI && (await new MongoClient(process.env.MDYN_URI).connect());
const database = client?.db(DATABASE);
after(async () => {
  await database?.dropDatabase();
  await client?.close();
});

const LONG = { $numberLong: '0' };
const STAMPS = [
  { path: ['_id'], as: 'int64', from: 'key' },
  { path: ['producer'], as: 'int32', from: 'producer' },
  { path: ['sequence'], as: 'int64', from: 'sequence' },
  { path: ['made_ns'], as: 'int64', from: 'made_ns' },
];

/** An adapter with `count` messages to make in this pacing. */
async function armed(name, pacing, count, operation) {
  const shared = pacing.mode === 'rate' || pacing.mode === 'burst';
  const adapter = await greeted();
  await adapter.ask({ type: 'open', uri: process.env.MDYN_URI, database: DATABASE });
  const document = {
    _id: LONG,
    producer: { $numberInt: '0' },
    sequence: LONG,
    made_ns: LONG,
    text: 'x'.repeat(30),
  };
  const [pool, schedule, samples] = ['bson', 'schedule', 'samples'].map((end) =>
    join(dir, `${name}.${end}`),
  );
  writeFileSync(pool, Buffer.from(render({ document }), 'hex'));
  const records = Array.from({ length: count }, (_, i) => ({ intended: i * 50_000 }));
  writeSchedule(schedule, records, { slices: shared ? 1 : WORKERS });
  const answer = await adapter.ask({
    type: 'prepare',
    phase: name,
    role: 'worker',
    warmup: false,
    samples,
    schedule,
    pacing,
    pools: [pool],
    document_form: 'native',
    workers: WORKERS,
    first_worker: 4,
    limits: shared ? [count] : Array(WORKERS).fill(count / WORKERS),
    counter: { first: 0, stride: WORKERS, loaded: 0 },
    errors_consecutive_max: 10,
    operations: [
      { collection: name, key: 'counter', documents: { pool: 0, stamps: STAMPS }, ...operation },
    ],
  });
  assert.equal(answer.type, 'armed', JSON.stringify(answer));
  return adapter;
}

const turn = (adapter, until_ns) => adapter.ask({ type: 'turn', start_ns: 0, until_ns });

async function samplesOf(adapter, name) {
  assert.equal((await adapter.ask({ type: 'end' })).errors.length, 0);
  adapter.child.stdin.end();
  await adapter.ended;
  return readSamples(join(dir, `${name}.samples`));
}

const MODES = ['awaited', 'window', 'rate', 'burst'];
for (const [mode, batch] of [...MODES.map((it) => [it, 1]), ['awaited', 2], ['burst', 2]]) {
  const name = `${mode}_${batch}`;
  test(`messages tell their samples: ${mode}, ${batch} at a time`, needsServer, async () => {
    const operation = batch === 1 ? { kind: 'insert_one' } : { kind: 'insert_many', batch };
    const adapter = await armed(name, { mode, size: 4 }, 60, operation);
    assert.equal((await turn(adapter, FOREVER)).operations, 60);
    const samples = await samplesOf(adapter, name);
    const of = new Map(samples.map((it) => [`${it.worker} ${it.index}`, it]));
    assert.equal(of.size, 60, 'no index twice for a worker');
    const documents = await database.collection(name).find().toArray();
    const seen = new Set(documents.map((it) => `${it.producer} ${it.sequence}`));
    assert.equal(documents.length, 60 * batch);
    assert.ok(batch > 1 || seen.size === 60);
    const items = samples.flatMap(({ worker, index }) =>
      Array.from({ length: batch }, (_, item) => `${worker} ${index + item}`),
    );
    assert.deepEqual([...seen].sort(), [...new Set(items)].sort());
    const shared = mode === 'rate' || mode === 'burst';
    const indices = new Set(samples.map(({ index }) => index));
    assert.equal(indices.size, shared ? 60 : 20, 'from 0, of the queue or of the worker');
    for (const { producer, sequence, made_ns } of batch === 1 ? documents : []) {
      const { start } = of.get(`${producer} ${sequence}`);
      assert.ok(start >= made_ns && start - made_ns < 1e9, `${start} after ${made_ns}`);
    }
  });
}

test('a burst is on its way as a whole before the first answer', needsServer, async () => {
  const adapter = await armed('at_once', { mode: 'burst' }, 3000, { kind: 'insert_one' });
  const { operations, exhausted } = await turn(adapter, FOREVER);
  assert.deepEqual([operations, exhausted], [3000, true]);
  const samples = await samplesOf(adapter, 'at_once');
  const last_start_ns = Math.max(...samples.map(({ start }) => start));
  const first_end_ns = Math.min(...samples.map(({ start, service }) => start + service));
  assert.ok(last_start_ns < first_end_ns);
  assert.equal(await database.collection('at_once').countDocuments(), 3000);
});

test('until_ns ends a burst: what was issued is finished', needsServer, async () => {
  const adapter = await armed('cut', { mode: 'burst' }, 6000, { kind: 'insert_one' });
  const { now_ns } = await adapter.ask({ type: 'clock' });
  const until_ns = now_ns + 10e6;
  const first = await turn(adapter, until_ns);
  assert.ok(first.operations < 6000 && !first.exhausted, JSON.stringify(first));
  assert.equal(await database.collection('cut').countDocuments(), first.operations);
  const second = await turn(adapter, FOREVER);
  assert.deepEqual([first.operations + second.operations, second.exhausted], [6000, true]);
  const samples = await samplesOf(adapter, 'cut');
  // The deadline is held against the reading before, so one operation may begin after it.
  const late = samples.slice(0, first.operations).filter(({ start }) => start >= until_ns);
  assert.ok(late.length <= 1, `${late.length} issued after the deadline`);
  assert.equal(new Set(samples.map(({ index }) => index)).size, 6000);
  assert.ok(samples.every(({ intended }) => intended === samples[0].intended));
  assert.equal(await database.collection('cut').countDocuments(), 6000);
});
