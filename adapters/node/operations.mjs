// The dialect: connecting, and the measured calls as users of the driver write them.
import { createRequire } from 'node:module';
import { MongoClient } from 'mongodb';
import { Refusal, told } from './protocol.mjs';

const require = createRequire(import.meta.url);
const { version } = require('mongodb/package.json');

const matched = (answer) => answer.matchedCount + answer.upsertedCount === 1;
// Before 6 the document lies in the server's answer.
const before = parseInt(version, 10) < 6 ? (answer) => answer?.value : (answer) => answer;

// `call`, between the clock readings, gets the target and what was made before them. `right`,
// after them, tells whether the answer is right; of writes only where the server answers them.
export const KINDS = {
  insert_one: {
    writes: true,
    call: ({ collection }, { document }) => collection.insertOne(document),
    right: (answer) => answer.acknowledged,
  },
  insert_many: {
    writes: true,
    call: ({ collection, options }, { documents }) => collection.insertMany(documents, options),
    right: (answer, _, { documents }) => answer.insertedCount === documents.length,
  },
  find_one: {
    call: ({ collection }, { filter, options }) => collection.findOne(filter, options),
    right: (answer, { read }) => answer && read(answer),
  },
  find: {
    call: ({ collection, number }, { filter, options }) =>
      drained(collection.find(filter, options), number),
    right: added,
  },
  update_one: {
    writes: true,
    call: ({ collection, options }, { filter, update }) =>
      collection.updateOne(filter, update, options),
    right: matched,
  },
  replace_one: {
    writes: true,
    call: ({ collection, options }, { filter, document }) =>
      collection.replaceOne(filter, document, options),
    right: matched,
  },
  delete_one: {
    writes: true,
    call: ({ collection }, { filter }) => collection.deleteOne(filter),
    right: (answer) => answer.deletedCount === 1,
  },
  count: {
    call: ({ collection }, { filter }) => collection.countDocuments(filter),
    right: counted,
  },
  estimated_count: {
    call: ({ collection }) => collection.estimatedDocumentCount(),
    right: counted,
  },
  find_one_and_update: {
    writes: true,
    call: ({ collection }, { filter, update }) => collection.findOneAndUpdate(filter, update),
    right: (answer, { read }) => before(answer) && read(before(answer)),
  },
  read_modify_write: {
    call: async ({ collection }, { filter, update }) => {
      const document = await collection.findOne(filter);
      return { document, updated: document && (await collection.updateOne(filter, update)) };
    },
    right: ({ document, updated }, { read, answered }) =>
      document && (!answered || matched(updated)) && read(document),
  },
  bulk_write: {
    writes: true,
    call: ({ collection, options }, { models }) => collection.bulkWrite(models, options),
    right: (answer, _, { asked }) =>
      answer.insertedCount === asked.inserted &&
      answer.matchedCount + answer.upsertedCount === asked.matched &&
      answer.deletedCount === asked.deleted,
  },
  aggregate: {
    call: ({ collection, number }, { pipeline }) =>
      drained(collection.aggregate(pipeline.pipeline), number),
    right: added,
  },
  command: {
    call: ({ database, options, concerns }, { command }) =>
      database.command({ ...command, ...concerns }, options),
    right: (answer) => answer.ok === 1,
  },
  drop: {
    call: ({ collection }) => collection.drop().catch(gone),
    right: () => true,
  },
};

/** What a part of a bulk becomes, and the count of the answer that it adds to. */
export const PARTS = {
  insert_one: { adds_to: 'inserted', model: ({ document }) => ({ insertOne: { document } }) },
  update_one: {
    adds_to: 'matched',
    model: ({ filter, update }, options) => ({ updateOne: { filter, update, ...options } }),
  },
  replace_one: {
    adds_to: 'matched',
    model: ({ filter, document }, options) => ({
      replaceOne: { filter, replacement: document, ...options },
    }),
  },
  delete_one: { adds_to: 'deleted', model: ({ filter }) => ({ deleteOne: { filter } }) },
};

/** A cursor is iterated and not made an array: that would hold a large answer as a whole. */
async function drained(cursor, number) {
  const found = { documents: 0, sum: 0 };
  for await (const document of cursor) {
    found.documents += 1;
    found.sum += number(document);
  }
  return found;
}

function added({ documents, sum }, { totals }) {
  totals.documents += documents;
  totals.sum += sum;
  return true;
}

function counted(answer, { totals }) {
  totals.documents += answer;
  return Number.isInteger(answer);
}

/** Before 7 the driver hands on that there was nothing to drop. */
function gone(error) {
  if (error.code !== 26) throw error; // NamespaceNotFound
}

/** Without the fields that were not given: the driver takes some `undefined` for a choice. */
function given(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Where an operation goes, by one client's database. */
export function bind(definition, database) {
  const { kind, ordered, upsert, batch_size: batchSize, read_concern: level } = definition;
  const { collection, write_concern: writeConcern, read_preference: readPreference } = definition;
  const concerns = given({ writeConcern, readConcern: level && { level } });
  const preference = given({ readPreference });
  // A command is sent as it is given, so there the concerns are its own fields.
  if (kind === 'command') return { database, concerns, options: preference };
  const options = given({ ordered, upsert, batchSize });
  return { options, collection: database.collection(collection, { ...concerns, ...preference }) };
}

/** Options of a find, with what each record has of its own. */
export function reading(options, limit, projection) {
  const own = { ...options };
  if (limit > 0) own.limit = limit;
  if (projection) own.projection = projection;
  return own;
}

export async function connect({ uri }, name) {
  let client;
  try {
    client = new MongoClient(uri);
    await client.connect();
    await client.db(name).command({ ping: 1 });
    return client;
  } catch (error) {
    await client?.close().catch(() => {});
    throw new Refusal(refusalCode(error), `${error.name}: ${error.message}`);
  }
}

function refusalCode({ name, code, syscall }) {
  if ([11, 18, 8000].includes(code)) return 'auth'; // UserNotFound, AuthenticationFailed, Atlas
  // Of an option, or of a value of one.
  if (name === 'MongoParseError') return 'unsupported';
  return /ServerSelection|Network/.test(name) || syscall ? 'connect' : 'internal';
}

export function opened({ options }) {
  const { w, j, journal = j, wtimeout, wtimeoutMS = wtimeout } = options.writeConcern ?? {};
  return {
    acknowledged: w !== 0,
    resolved: {
      max_pool_size: options.maxPoolSize,
      min_pool_size: options.minPoolSize,
      write_concern: { w, j: journal, wtimeout: wtimeoutMS }, // unset: none is sent
      read_concern: options.readConcern?.level ?? null,
      read_preference: options.readPreference?.mode,
      compressors: (options.compressors ?? []).filter((name) => name !== 'none'),
      retry_writes: options.retryWrites,
      retry_reads: options.retryReads,
      tls: options.tls ?? false,
      commands: { count: 'aggregate' }, // countDocuments
    },
  };
}

/** The server's code or 0, a name for it, and whether time ran out. */
export function describe(error) {
  const code = Number.isInteger(error.code) ? error.code : 0;
  const slow = code === 50 || code === 262; // MaxTimeMSExpired, ExceededTimeLimit
  const timeout = slow || /Timeout|ServerSelection/.test(error.name);
  return { code, name: error.codeName ?? error.name, message: told(error.message), timeout };
}

/** Of the loaded package. Driver 4 looks for a compiled encoder, bson-ext; later ones have none. */
export function driver() {
  const compiled = (path) => /[\\/]bson-ext[\\/].*\.node$/.test(path);
  const native = version.startsWith('4.') ? Object.keys(require.cache).some(compiled) : null;
  return { name: 'mongodb', version, native };
}
