// mongodb 3.2 to 3.7: the unified topology, for callbacks and promises.
'use strict';

var mongodb = require('mongodb');
var calls = require('./calls');
var connecting = require('./connecting');
var jsBson = require('./js_bson');

// Version 3 has to be asked for the unified topology, as its users did since it warned them.
var UNIFIED = { useNewUrlParser: true, useUnifiedTopology: true };

// It reads the string itself, and silently ignores what it does not know.
var KNOWN = {
  appName: 'text',
  authMechanism: 'text',
  authMechanismProperties: 'text',
  authSource: 'text',
  compressors: 'text',
  connectTimeoutMS: 'number',
  directConnection: 'boolean',
  heartbeatFrequencyMS: 'number',
  journal: 'boolean',
  localThresholdMS: 'number',
  maxIdleTimeMS: 'number',
  maxPoolSize: 'number',
  maxStalenessSeconds: 'number',
  minPoolSize: 'number',
  poolSize: 'number',
  readConcernLevel: 'text',
  readPreference: 'text',
  readPreferenceTags: 'text',
  replicaSet: 'text',
  retryReads: 'boolean',
  retryWrites: 'boolean',
  serverSelectionTimeoutMS: 'number',
  socketTimeoutMS: 'number',
  ssl: 'boolean',
  tls: 'boolean',
  tlsAllowInvalidCertificates: 'boolean',
  tlsCAFile: 'text',
  tlsCertificateKeyFile: 'text',
  w: 'w',
  waitQueueTimeoutMS: 'number',
  wtimeoutMS: 'number',
  zlibCompressionLevel: 'number'
};

function connect(entry, name, done) {
  var options = connecting.read(entry, KNOWN, 'mongodb 3');
  var client = new mongodb.MongoClient(entry.uri, UNIFIED);
  client.connect(function (error) {
    if (error) return done(error);
    resolve(options.resolved, client.topology.s.options);
    connecting.prove(client.db(name), options, client.close.bind(client), done);
  });
}

/** The driver's defaults are spread over its topology. */
function resolve(resolved, options) {
  resolved.max_pool_size = options.maxPoolSize || options.poolSize;
  resolved.min_pool_size = options.minPoolSize || 0;
  resolved.compressors = (options.compression && options.compression.compressors) || [];
  resolved.retry_writes = options.retryWrites;
  resolved.retry_reads = options.retryReads;
  resolved.tls = options.tls || options.ssl || false;
  resolved.commands.count = 'aggregate';
}

function find(collection, filter, options) {
  return collection.find(filter, options);
}

module.exports = function dialect(api) {
  var bson = require('bson');
  return {
    native: calls.compiled(),
    kinds: calls.kinds(api === 'promise'),
    connect: connect,
    bind: calls.binder(find, false),
    models: calls.models,
    projection: 'projection',
    capabilities: { extras: calls.extras, alters: [], uri: 'standard' },
    types: jsBson.modern(mongodb, new bson())
  };
};
