// mongodb 2 to 3.1, of 2014 to 2018: connections and options as before the unified topology.
'use strict';

var mongodb = require('mongodb');
var version = require('mongodb/package.json').version;
var calls = require('./calls');
var connecting = require('./connecting');
var jsBson = require('./js_bson');
var plan = require('../plan');

// serverSelectionTimeoutMS came later: here it is the time to connect.
var KNOWN = {
  appName: 'text appname',
  authMechanism: 'text uri',
  authSource: 'text uri',
  serverSelectionTimeoutMS: 'number connectTimeoutMS',
  connectTimeoutMS: 'number connectTimeoutMS',
  directConnection: 'as_it_is',
  journal: 'boolean j',
  maxPoolSize: 'number poolSize',
  maxStalenessSeconds: 'number maxStalenessSeconds',
  readConcernLevel: 'text readConcern.level',
  readPreference: 'text uri',
  replicaSet: 'text uri',
  socketTimeoutMS: 'number socketTimeoutMS',
  ssl: 'boolean uri',
  w: 'w w',
  wtimeoutMS: 'number wtimeout'
};

function connect(entry, name, done) {
  var options = connecting.read(entry, KNOWN, 'mongodb before 3.2');
  mongodb.MongoClient.connect(options.address, options.settings, function (error, client) {
    var server;
    if (error) return done(error);
    // Up to 2 the client is a database. A replica set does not report it, and has the same default.
    server = (client.serverConfig || client.topology).s;
    options.resolved.max_pool_size = server.poolSize || options.values.maxPoolSize || 5;
    if (mongodb.Collection.prototype.countDocuments) options.resolved.commands.count = 'aggregate';
    connecting.prove(client.db(name), options, client.close.bind(client, true), done);
  });
}

// The option's name and, in version 2, the second argument of `find`.
var projection = mongodb.MongoClient.prototype.startSession ? 'projection' : 'fields';

function find(collection, filter, options) {
  var cursor = collection.find(
    filter,
    plan.given({ hint: options.hint, collation: options.collation })
  );
  if (options.sort) cursor = cursor.sort(options.sort);
  if (options.skip) cursor = cursor.skip(options.skip);
  if (options.maxTimeMS) cursor = cursor.maxTimeMS(options.maxTimeMS);
  if (options.limit !== undefined) cursor = cursor.limit(options.limit);
  if (options[projection]) cursor = cursor.project(options[projection]);
  return options.batchSize === undefined ? cursor : cursor.batchSize(options.batchSize);
}

module.exports = function dialect(api) {
  var bson = require('bson');
  // mongodb 2.0 and 2.1 have the encoder in a separate part, and object ids made of strings.
  var strings = typeof bson !== 'function';
  var encoder = strings ? new (bson.pure().BSON)() : new bson();
  return {
    native: calls.compiled(),
    kinds: calls.kinds(api === 'promise'),
    connect: connect,
    bind: calls.binder(find, false),
    models: calls.models,
    projection: projection,
    capabilities: {
      // 2.0 reports errors that it finds in the answers of unacknowledged writes.
      extras: calls.extras.filter(function (extra) {
        if (extra === 'collation') return !/^2\.[01]\./.test(version);
        return extra !== 'unacknowledged' || !/^2\.0\./.test(version);
      }),
      alters: [],
      uri: 'plain'
    },
    types: jsBson(
      mongodb,
      function (document) {
        return encoder.serialize(document);
      },
      function (bytes) {
        return new mongodb.ObjectID(
          strings && Buffer.isBuffer(bytes) ? bytes.toString('binary') : bytes
        );
      }
    )
  };
};
