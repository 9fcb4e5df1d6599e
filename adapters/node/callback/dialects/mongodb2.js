// mongodb 2, of 2014 to 2018: `insertOne` and its kin; connecting gives a database.
'use strict';

var mongodb = require('mongodb');
var operations = require('../operations');
var bsonTypes = require('./bson_types');
var calls = require('./modern_calls');

// serverSelectionTimeoutMS came later: it is the time to connect in here.
var KNOWN = (
  'appname authmechanism authsource connecttimeoutms directconnection journal maxpoolsize ' +
  'maxstalenessseconds readconcernlevel readpreference replicaset serverselectiontimeoutms ' +
  'sockettimeoutms ssl w wtimeoutms'
).split(' ');

/** Standard names, as options of MongoClient.connect. */
function settings(options) {
  var number = function (name) {
    return options[name] === undefined ? undefined : Number(options[name]);
  };
  var level = options.readconcernlevel;
  return operations.given({
    appname: options.appname,
    connectTimeoutMS: number('connecttimeoutms') || number('serverselectiontimeoutms'),
    j: options.journal === undefined ? undefined : options.journal === 'true',
    maxStalenessSeconds: number('maxstalenessseconds'),
    poolSize: number('maxpoolsize'),
    readConcern: level === undefined ? undefined : { level: level },
    socketTimeoutMS: number('sockettimeoutms'),
    w: /^\d+$/.test(options.w) ? Number(options.w) : options.w,
    wtimeout: number('wtimeoutms')
  });
}

function connect(entry, name, done) {
  var options = operations.options(entry, KNOWN, 'mongodb 2');
  var chosen = settings(options);
  mongodb.MongoClient.connect(operations.address(entry, options), chosen, function (error, client) {
    var database;
    if (error) return done(error);
    database = client.db(name);
    database.command({ ping: 1 }, function (failed) {
      var opened = {
        database: database,
        acknowledged: chosen.w !== 0,
        resolved: resolved(client, chosen, options),
        close: function (closed) {
          client.close(true, closed);
        }
      };
      if (!failed) return done(null, opened);
      client.close(true, function () {
        done(failed);
      });
    });
  });
}

function resolved(client, chosen, options) {
  var concern = { w: chosen.w === undefined ? 1 : chosen.w };
  if (chosen.j !== undefined) concern.j = chosen.j;
  return {
    // Of its Server; a replica set does not tell, and has the same default.
    max_pool_size: client.serverConfig.s.poolSize || chosen.poolSize || 5,
    min_pool_size: null,
    write_concern: concern,
    read_concern: options.readconcernlevel || null,
    read_preference: options.readpreference || 'primary',
    compressors: [],
    retry_writes: false,
    retry_reads: false,
    tls: options.ssl === 'true',
    commands: { count: 'count' }
  };
}

/** The second argument of `find` is the projection in here. */
function find(collection, filter, options) {
  var cursor = collection.find(filter);
  if (options.limit !== undefined) cursor = cursor.limit(options.limit);
  if (options.fields) cursor = cursor.project(options.fields);
  return options.batchSize === undefined ? cursor : cursor.batchSize(options.batchSize);
}

module.exports = function dialect() {
  var bson = require('bson');
  var encoder = new bson();
  return {
    native: operations.compiled,
    callbacks: calls.callbacks,
    promises: calls.promises,
    connect: connect,
    bind: function bind(definition, database) {
      return calls.bind(definition, database, find);
    },
    reading: operations.reading('fields'),
    models: calls.models,
    capabilities: { extras: calls.extras, alters: [], uri: 'plain' },
    types: bsonTypes(
      mongodb,
      function (document) {
        return encoder.serialize(document);
      },
      function (bytes) {
        return new mongodb.ObjectID(bytes);
      }
    )
  };
};
