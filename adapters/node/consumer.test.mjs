// node --test: the consumer on a server (protocol/SPEC.md, section 8).
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Int32, Long, MongoClient } from 'mongodb';
import { dir, epoch_ns, FOREVER, greeted, needsServer, readSamples } from './harness.mjs';

const DATABASE = `mdyn_node_consumer_${process.pid}`;
const ROOM = 4096 * 256;
const client = process.env.MDYN_URI && (await new MongoClient(process.env.MDYN_URI).connect());
const database = client?.db(DATABASE);
after(async () => {
  await database?.dropDatabase();
  await client?.close();
});

const now_ns = () => Number(process.hrtime.bigint() - BigInt(epoch_ns));

const message = (sequence, producer = 3) => ({
  producer: new Int32(producer),
  sequence: Long.fromNumber(sequence),
  made_ns: Long.fromNumber(now_ns()),
  text: 'x'.repeat(60),
});
const messages = (from, to) => Array.from({ length: to - from }, (_, i) => message(from + i));
const numbers = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);

/** A capped collection with its sentinel, and a consumer that is in position. */
async function armed(name, { max, ...fields } = {}) {
  const collection = await database.createCollection(name, { capped: true, size: ROOM, max });
  await collection.insertOne({ sentinel: true });
  const adapter = await greeted();
  const uri = process.env.MDYN_URI;
  const opened = await adapter.ask({ type: 'open', uri, database: DATABASE, role: 'consumer' });
  assert.equal(opened.type, 'opened', JSON.stringify(opened));
  const answer = await adapter.ask(prepareMessage(name, fields));
  assert.equal(answer.type, 'armed', JSON.stringify(answer));
  const samples = () => readSamples(join(dir, `${name}.bin`));
  const turn = (until_ns = FOREVER) => adapter.ask({ type: 'turn', start_ns: 0, until_ns });
  return { collection, adapter, turn, samples };
}

function prepareMessage(name, { warmup = false, errors_consecutive_max = 10, ...consumer }) {
  return {
    type: 'prepare',
    phase: name,
    role: 'consumer',
    warmup,
    samples: join(dir, `${name}.bin`),
    errors_consecutive_max,
    consumer: {
      collection: name,
      expected: 1e6,
      idle_ms: 5000,
      marker_field: 'last',
      ...consumer,
    },
  };
}

async function ended({ adapter }) {
  const answer = await adapter.ask({ type: 'end' });
  assert.equal(answer.type, 'ended', JSON.stringify(answer));
  adapter.child.stdin.end();
  assert.deepEqual(await adapter.ended, { code: 0, signal: null, log: '' });
  return answer;
}

test('messages as they come, until all expected are here', needsServer, async () => {
  const consumer = await armed('expected', { expected: 3000 });
  const turned = consumer.turn();
  const made_ns = [];
  for (let from = 0; from < 3000; from += 500) {
    const batch = messages(from, from + 500);
    made_ns.push(...batch.map((it) => it.made_ns.toNumber()));
    await consumer.collection.insertMany(batch);
  }
  const { type, operations, completed_by_deadline, errors, exhausted, ended_ns, began_ns } =
    await turned;
  assert.deepEqual(
    { type, operations, completed_by_deadline, errors, exhausted },
    {
      type: 'turned',
      operations: 3000,
      completed_by_deadline: 3000,
      errors: 0,
      exhausted: true,
    },
  );
  const answer = await ended(consumer);
  assert.deepEqual([answer.operations, answer.samples, answer.errors], [3000, 3000, []]);
  assert.deepEqual(answer.totals, { documents: 3000, sum: 0 });
  assert.deepEqual(answer.consumer, { cursors: 1, positions_lost: 0 });
  const samples = consumer.samples();
  assert.deepEqual(
    samples.map(({ index }) => index),
    numbers(0, 3000),
  );
  assert.deepEqual(
    samples.map(({ intended }) => intended),
    made_ns,
  );
  for (const { start, intended, service, operation, outcome, worker } of samples) {
    assert.deepEqual([service, operation, outcome, worker], [0, 0, 0, 3]);
    assert.ok(start >= intended && start >= began_ns && start <= ended_ns);
  }
  const starts = new Set(samples.map(({ start }) => start));
  assert.ok(starts.size > 2900, `a reading for each message, not for a batch: ${starts.size}`);
});

test('the marker ends it and is no message', needsServer, async () => {
  const consumer = await armed('marker', { warmup: true });
  await consumer.collection.insertMany([...messages(0, 5), { last: true }, message(5)]);
  const turned = await consumer.turn();
  assert.deepEqual([turned.operations, turned.exhausted, turned.gave_up], [5, true, false]);
  const more = await consumer.turn();
  assert.deepEqual([more.operations, more.exhausted], [0, true]);
  assert.equal((await ended(consumer)).totals.documents, 5);
  assert.ok(consumer.samples().every(({ outcome }) => outcome === 128));
});

test('it ends after idle_ms without a message', needsServer, async () => {
  const consumer = await armed('idle', { idle_ms: 400 });
  const turned = consumer.turn();
  await sleep(300);
  await consumer.collection.insertOne(message(0));
  const { operations, exhausted, began_ns, ended_ns } = await turned;
  assert.deepEqual([operations, exhausted], [1, false]);
  const silent_ns = now_ns() - ended_ns;
  assert.ok(silent_ns >= 400e6 && silent_ns < 4000e6, `${silent_ns} ns without a message`);
  assert.ok(ended_ns - began_ns >= 100e6);
  await ended(consumer);
});

test('until_ns ends a turn, the next one goes on behind it', needsServer, async () => {
  const consumer = await armed('until');
  await consumer.collection.insertMany(messages(0, 10));
  const until_ns = now_ns() + 300e6;
  const first = await consumer.turn(until_ns);
  const late_ns = now_ns() - until_ns;
  assert.deepEqual([first.operations, first.exhausted], [10, false]);
  assert.ok(late_ns >= 0 && late_ns < 4000e6, `${late_ns} ns after the deadline`);
  await consumer.collection.insertMany([...messages(10, 20), { last: true }]);
  const none = await consumer.turn(1);
  assert.deepEqual([none.operations, none.ended_ns], [0, none.began_ns]);
  const second = await consumer.turn();
  assert.deepEqual([second.operations, second.exhausted], [10, true]);
  assert.deepEqual((await ended(consumer)).consumer, { cursors: 1, positions_lost: 0 });
  assert.deepEqual(
    consumer.samples().map(({ index }) => index),
    numbers(0, 20),
  );
});

/** The open cursors on a collection, busy with a getMore or idle between two. */
async function killCursorsOf(name) {
  const ns = `${DATABASE}.${name}`;
  const found = await client
    .db('admin')
    .aggregate([{ $currentOp: { idleCursors: true } }, { $match: { ns, 'cursor.tailable': true } }])
    .toArray();
  const cursors = found.map(({ cursor }) => cursor.cursorId);
  assert.equal(cursors.length, 1);
  await database.command({ killCursors: name, cursors: cursors.map((id) => Long.fromValue(id)) });
}

test('a cursor that was killed is opened again behind the last message', needsServer, async () => {
  const consumer = await armed('killed');
  await consumer.collection.insertMany(messages(0, 500));
  const turned = consumer.turn();
  await sleep(300);
  await killCursorsOf('killed');
  await consumer.collection.insertMany([...messages(500, 900), { last: true }]);
  const { operations, errors, exhausted, gave_up } = await turned;
  assert.deepEqual([operations, exhausted, gave_up], [900, true, false]);
  assert.equal(errors, 1);
  const answer = await ended(consumer);
  assert.deepEqual(answer.consumer, { cursors: 2, positions_lost: 0 });
  assert.deepEqual(
    answer.errors.map(({ count }) => count),
    [1],
  );
  assert.deepEqual(
    consumer.samples().map(({ index }) => index),
    numbers(0, 900),
  );
});

test('killed before the first message: the sentinel is its position', needsServer, async () => {
  const consumer = await armed('early');
  await killCursorsOf('early');
  await consumer.collection.insertMany([...messages(0, 20), { last: true }]);
  const turned = await consumer.turn();
  assert.deepEqual([turned.operations, turned.errors, turned.exhausted], [20, 1, true]);
  assert.deepEqual((await ended(consumer)).consumer, { cursors: 2, positions_lost: 0 });
});

test('a position that was overwritten is lost, and counted', needsServer, async () => {
  const consumer = await armed('overwritten', { max: 50 });
  await consumer.collection.insertMany(messages(0, 20));
  assert.equal((await consumer.turn(now_ns() + 300e6)).operations, 20);
  for (let from = 20; from < 219; from += 1) await consumer.collection.insertOne(message(from));
  await consumer.collection.insertOne({ last: true });
  const turned = await consumer.turn();
  assert.deepEqual([turned.operations, turned.errors, turned.exhausted], [49, 1, true]);
  assert.deepEqual((await ended(consumer)).consumer, { cursors: 2, positions_lost: 1 });
  const indices = consumer.samples().map(({ index }) => index);
  assert.deepEqual(indices, [...numbers(0, 20), ...numbers(170, 219)]);
});

test('it gives up after so many failures in a row', needsServer, async () => {
  const consumer = await armed('dropped', { errors_consecutive_max: 4 });
  await consumer.collection.insertMany(messages(0, 20));
  const turned = consumer.turn();
  await sleep(300);
  await consumer.collection.drop();
  const { operations, errors, exhausted, gave_up } = await turned;
  assert.deepEqual([operations, errors, exhausted, gave_up], [20, 4, false, true]);
  assert.equal((await consumer.turn()).gave_up, true);
  const answer = await ended(consumer);
  assert.equal(answer.consumer.positions_lost, 0);
  assert.equal(
    answer.errors.reduce((sum, { count }) => sum + count, 0),
    4,
  );
});

test('SIGTERM ends it with its samples', needsServer, async () => {
  const consumer = await armed('stopped');
  await consumer.collection.insertMany(messages(0, 20));
  consumer.turn().catch(() => {}); // never answered
  await sleep(300);
  consumer.adapter.child.kill('SIGTERM');
  assert.deepEqual(await consumer.adapter.ended, { code: 0, signal: null, log: '' });
  assert.equal(consumer.samples().length, 20);
});

test('a collection without a sentinel or a cap is refused', needsServer, async () => {
  const { adapter } = await armed('first');
  await adapter.ask({ type: 'end' });
  await database.createCollection('empty', { capped: true, size: ROOM });
  await database.collection('plain').insertOne({ sentinel: true });
  await database.createCollection('other', { capped: true, size: ROOM });
  await database.collection('other').insertOne(message(0));
  for (const name of ['empty', 'plain', 'other', 'missing']) {
    const refused = await adapter.ask(prepareMessage(name, {}));
    assert.equal(refused.type, 'error', name);
  }
  assert.equal((await adapter.ask(prepareMessage('first', {}))).type, 'armed');
  adapter.child.stdin.end();
  assert.deepEqual(await adapter.ended, { code: 0, signal: null, log: '' });
});

test('without a server: only open knows one', async () => {
  const adapter = await greeted();
  const refused = await adapter.ask(prepareMessage('none', {}));
  assert.equal(refused.code, 'protocol');
  const unknown = await adapter.ask({ ...prepareMessage('none', {}), role: 'bystander' });
  assert.equal(unknown.code, 'unsupported');
  adapter.child.stdin.end();
  assert.deepEqual(await adapter.ended, { code: 0, signal: null, log: '' });
});
