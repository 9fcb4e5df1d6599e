// The measured calls: each operation as users of the driver write it.
import { createRequire } from 'node:module';
import { MongoClient } from 'mongodb';
import { masked, pooled, Refusal, template } from './protocol.mjs';

const require = createRequire(import.meta.url);

// `call`, between the clock readings, gets the plan and the arguments made before them. `right`,
// after them, tells whether the answer is right.
const KINDS = {
  // It counts documents made for it: the cost of making one is measured with it.
  noop: {
    call: () => undefined,
    right: (_, { totals, makes }) => {
      if (makes) totals.documents += 1;
      return true;
    },
  },
  insert_one: {
    call: ({ collection }, { document }) => collection.insertOne(document),
    right: (answer) => answer.acknowledged,
  },
  insert_many: {
    call: ({ collection, options }, { documents }) => collection.insertMany(documents, options),
    right: (answer, { batch }) => answer.insertedCount === batch,
  },
  find_one: {
    call: ({ collection }, { filter }) => collection.findOne(filter),
    right: (answer, { read }) => answer && read(answer),
  },
  find: {
    call: ({ collection, options, read }, { filter }) =>
      drained(collection.find(filter, options), read),
    right: () => true,
  },
  update_one: {
    call: ({ collection, options }, { filter, update }) =>
      collection.updateOne(filter, update, options),
    right: (answer) => answer.matchedCount + answer.upsertedCount === 1,
  },
  replace_one: {
    call: ({ collection, options }, { filter, document }) =>
      collection.replaceOne(filter, document, options),
    right: (answer) => answer.matchedCount + answer.upsertedCount === 1,
  },
  delete_one: {
    call: ({ collection }, { filter }) => collection.deleteOne(filter),
    right: (answer) => answer.deletedCount === 1,
  },
  count: {
    call: ({ collection }, { filter }) => collection.countDocuments(filter),
    right: (answer, { totals }) => {
      totals.documents += answer;
      return Number.isInteger(answer);
    },
  },
  aggregate: {
    call: ({ collection, read }, { pipeline }) =>
      drained(collection.aggregate(pipeline.pipeline), read),
    right: () => true,
  },
  command: {
    call: ({ database, concerns, preference }, { command }) =>
      database.command({ ...command, ...concerns }, preference),
    right: (answer) => answer.ok === 1,
  },
};
export const KIND_NAMES = Object.keys(KINDS);
const WRITES = ['insert_one', 'insert_many', 'update_one', 'replace_one', 'delete_one'];

/** A cursor is iterated and not made an array: that would hold a large answer as a whole. */
async function drained(cursor, read) {
  for await (const document of cursor) read(document);
}

/** Adds an answer's document to the totals; a value that stays a Long lies beyond 2^53. */
function reader(totals, name) {
  return (document) => {
    const value = document[name] ?? 0;
    totals.documents += 1;
    totals.sum += typeof value === 'number' ? value : value.toNumber();
    return true;
  };
}

const KEYS = {
  schedule: () => (worker) => worker.record_key,
  counter:
    ({ first, stride }) =>
    (worker) =>
      first + worker.number + stride * worker.made,
  latest:
    ({ first, stride, loaded }) =>
    (worker) => {
      const m = worker.made - 1 - worker.record_key;
      return m >= 0 ? first + worker.number + stride * m : Math.max(0, loaded + m);
    },
};

/** Without the fields that were not given: the driver takes some `undefined` for a choice. */
function given(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** All that can be decided before the phase is decided here, once an operation. */
export function prepareOperation(definition, { connection, pools, counter, totals }) {
  const { kind, key = 'schedule', batch, write_concern } = definition;
  if (!Object.hasOwn(KINDS, kind)) throw new Refusal('unsupported', `operation kind ${kind}`);
  if (!Object.hasOwn(KEYS, key)) throw new Refusal('unsupported', `key ${key}`);
  if (kind !== 'noop' && !connection) throw new Refusal('protocol', 'prepare before open');
  const keyOf = KEYS[key](counter);
  const parts = ['filter', 'update', 'pipeline', 'command']
    .filter((name) => definition[name])
    .map((name) => [name, template(definition[name])]);
  if (definition.documents) parts.push(documentsPart(definition, pools, keyOf));
  const make = (worker) => {
    const made = {};
    worker.item = 0;
    worker.key = keyOf(worker);
    for (const [name, part] of parts) made[name] = part(worker);
    return made;
  };
  const concern = write_concern ?? connection?.resolved.write_concern;
  const asserted = !(WRITES.includes(kind) && concern?.w === 0);
  const target = kind === 'noop' ? {} : targetOf(definition, connection.database);
  const read = reader(totals, definition.sum_field);
  const makes = Boolean(definition.documents);
  const rest = { make, makes, asserted, batch, totals, read };
  return { name: definition.name, ...KINDS[kind], ...target, ...rest };
}

/** insert_one and insert_many count their documents; replace_one inserts nothing. */
function documentsPart({ kind, batch, documents: { pool, stamps } }, pools, keyOf) {
  const document = pooled(pools[pool], stamps);
  if (kind === 'replace_one' || kind === 'noop') return ['document', document];
  const inserted = (worker, item) => {
    worker.item = item;
    worker.key = keyOf(worker);
    const fresh = document(worker);
    worker.made += 1;
    return fresh;
  };
  if (kind === 'insert_one') return ['document', (worker) => inserted(worker, 0)];
  const numbers = Array.from({ length: batch }, (_, item) => item);
  return ['documents', (worker) => numbers.map((item) => inserted(worker, item))];
}

function targetOf(definition, database) {
  const { ordered, upsert, limit, batch_size: batchSize } = definition;
  const { collection, write_concern: writeConcern, read_concern } = definition;
  const concerns = given({ writeConcern, readConcern: read_concern && { level: read_concern } });
  const preference = given({ readPreference: definition.read_preference });
  const options = given({ ordered, upsert, limit, batchSize });
  // A command is sent as it is given, so there the concerns are its own fields.
  if (collection === undefined) return { database, concerns, preference };
  return { options, collection: database.collection(collection, { ...concerns, ...preference }) };
}

export async function connect(uri, name) {
  let client;
  try {
    client = new MongoClient(uri);
    await client.connect();
    const database = client.db(name);
    await database.command({ ping: 1 });
    const { version } = await database.command({ buildInfo: 1 });
    // Not `hello`: every server knows the old name, those before 4.4 may not know the new one.
    const { maxWireVersion } = await database.command({ isMaster: 1 });
    const server = { version, max_wire_version: maxWireVersion };
    return { client, database, server, resolved: resolved(client.options) };
  } catch (error) {
    await client?.close().catch(() => {});
    throw new Refusal(refusalCode(error), masked(`${error.name}: ${error.message}`));
  }
}

function refusalCode({ name, code, syscall }) {
  if ([11, 18, 8000].includes(code)) return 'auth'; // UserNotFound, AuthenticationFailed, Atlas
  return /ServerSelection|Network/.test(name) || syscall ? 'connect' : 'internal';
}

function resolved(options) {
  return {
    max_pool_size: options.maxPoolSize ?? null,
    min_pool_size: options.minPoolSize ?? null,
    write_concern: options.writeConcern ?? {}, // unset: none is sent
    read_concern: options.readConcern?.level ?? null,
    read_preference: options.readPreference?.mode ?? null,
    compressors: options.compressors ?? [],
    retry_writes: options.retryWrites ?? null,
    retry_reads: options.retryReads ?? null,
    tls: options.tls ?? false,
    commands: { count: 'aggregate' }, // countDocuments
  };
}

/** Of the loaded package. Driver 4 looks for a compiled encoder, bson-ext; later ones have none. */
export function driverInfo() {
  const compiled = (path) => /[\\/]bson-ext[\\/].*\.node$/.test(path);
  const { version } = require('mongodb/package.json');
  const native = version.startsWith('4.') ? Object.keys(require.cache).some(compiled) : null;
  return { name: 'mongodb', version, native };
}
