// mongodb 4 to 7: promises, and callbacks, which 4 is the last version to accept.
'use strict';

const mongodb = require('mongodb');
// The driver's encoder: js-bson, or bson-ext if driver 4 found it.
const encoder = require('mongodb/lib/bson.js');
const { Refusal } = require('../protocol');
const plan = require('../plan');
const calls = require('./calls');
const consumer = require('../consumer');
const jsBson = require('./js_bson');
const expecting = require('./expecting');
const transactions = require('./transactions');

/** Of each database: version 4 does not tell it. */
const clients = new WeakMap();

async function open({ uri }, name) {
  let client;
  const warned = [];
  const hear = (warning) => /MONGODB/.test(warning.code) && warned.push(warning.message);
  process.on('warning', hear);
  try {
    client = new mongodb.MongoClient(uri);
    await client.connect();
    await client.db(name).command({ ping: 1 });
    if (warned.length > 0) throw new Refusal('unsupported', warned[0]);
    return opened(client, name);
  } catch (error) {
    await client?.close().catch(() => {});
    if (!client) throw new Refusal('unsupported', error.message);
    throw error;
  } finally {
    process.off('warning', hear);
  }
}

function opened(client, name) {
  const { options } = client;
  const { w, j, journal = j, wtimeout, wtimeoutMS = wtimeout } = options.writeConcern ?? {};
  const database = client.db(name);
  clients.set(database, client);
  return {
    database,
    acknowledged: w !== 0,
    resolved: {
      max_pool_size: options.maxPoolSize,
      min_pool_size: options.minPoolSize,
      write_concern: { w, j: journal, wtimeout: wtimeoutMS }, // unset: none is sent
      read_concern: options.readConcern?.level ?? null,
      read_preference: options.readPreference?.mode,
      compressors: (options.compressors ?? []).filter((compressor) => compressor !== 'none'),
      retry_writes: options.retryWrites,
      retry_reads: options.retryReads,
      tls: options.tls ?? false,
      commands: { count: 'aggregate' } // countDocuments
    },
    close: (done) => client.close().then(() => done(), done)
  };
}

const find = (collection, filter, options) => collection.find(filter, options);

/** A cursor is iterated and not made an array, which would keep a large answer as a whole. */
async function drained(cursor, take) {
  for await (const document of cursor) take(document);
}

module.exports = function dialect(api, major) {
  const promises = api === 'promise';
  const kinds = calls.kinds(promises, drained);
  if (major >= 6) kinds.find_one_and_update.right = plan.one;
  if (promises) kinds.transaction = transactions.kind(major);
  const bindOthers = calls.binder(find, true);
  const bind = (definition, database) =>
    definition.kind === 'transaction'
      ? transactions.bind(definition, clients.get(database))
      : bindOthers(definition, database);
  return {
    native: major === 4 ? calls.compiled() : null,
    kinds,
    connect: (entry, name, done) => open(entry, name).then((it) => done(null, it), done),
    bind,
    expecting,
    models: calls.models,
    projection: 'projection',
    Consumer: promises ? consumer.Consumer : null,
    StreamConsumer: promises ? consumer.StreamConsumer : null,
    capabilities: {
      extras: [...calls.extras, 'expect', ...(promises ? ['change_stream'] : [])],
      alters: [],
      uri: 'standard',
      consumer_ns: promises ? 4000 : null
    },
    types: jsBson.modern(mongodb, encoder)
  };
};
