// mongodb 3 and 4: connecting gives a client. 4 is the last one that takes callbacks.
'use strict';

var mongodb = require('mongodb');
var operations = require('../operations');
var bsonTypes = require('./bson_types');
var calls = require('./modern_calls');

// Options that only the unified topology has, which 3 has to be asked for: as its users did since
// it warned them. Before 3.2 there is none, and they are ignored with a warning.
var UNIFIED = { useNewUrlParser: true, useUnifiedTopology: true };

// 3 passes over what it does not know without a word.
var KNOWN = (
  'appname authmechanism authmechanismproperties authsource compressors connecttimeoutms ' +
  'directconnection heartbeatfrequencyms journal localthresholdms maxidletimems maxpoolsize ' +
  'maxstalenessseconds minpoolsize poolsize readconcernlevel readpreference ' +
  'readpreferencetags replicaset retryreads retrywrites serverselectiontimeoutms ' +
  'sockettimeoutms ssl tls tlsallowinvalidcertificates tlscafile tlscertificatekeyfile w ' +
  'waitqueuetimeoutms wtimeoutms zlibcompressionlevel'
).split(' ');

function connect(major, entry, name, done) {
  if (major === 3) operations.options(entry, KNOWN, 'mongodb 3');
  connectTo(new mongodb.MongoClient(entry.uri, major === 3 ? UNIFIED : {}), major, name, done);
}

function connectTo(client, major, name, done) {
  client.connect(function (error) {
    var database;
    if (error) return done(error);
    database = client.db(name);
    database.command({ ping: 1 }, function (failed) {
      var resolved = major === 3 ? resolved3(client) : resolved4(client.options);
      var opened = {
        database: database,
        acknowledged: resolved.write_concern.w !== 0,
        resolved: resolved,
        close: function (closed) {
          client.close(closed);
        }
      };
      if (!failed) return done(null, opened);
      client.close(function () {
        done(failed);
      });
    });
  });
}

/** The defaults of 3 are spread over its topology. */
function resolved3(client) {
  var options = client.topology.s.options;
  var concern = client.s.writeConcern || client.writeConcern;
  return {
    max_pool_size: options.maxPoolSize || options.poolSize,
    min_pool_size: options.minPoolSize || 0,
    write_concern: concern && concern.w !== undefined ? concernOf(concern) : { w: 1 },
    read_concern: (options.readConcern && options.readConcern.level) || null,
    read_preference: client.s.readPreference ? client.s.readPreference.mode : 'primary',
    compressors: named(options.compression && options.compression.compressors),
    retry_writes: options.retryWrites,
    retry_reads: options.retryReads,
    tls: options.tls || options.ssl || false,
    commands: { count: mongodb.Collection.prototype.countDocuments ? 'aggregate' : 'count' }
  };
}

function concernOf(concern) {
  return { w: concern.w, j: concern.j, wtimeout: concern.wtimeout };
}

function resolved4(options) {
  return {
    max_pool_size: options.maxPoolSize,
    min_pool_size: options.minPoolSize,
    write_concern: concernOf(options.writeConcern || {}), // unset: none is sent
    read_concern: (options.readConcern && options.readConcern.level) || null,
    read_preference: options.readPreference ? options.readPreference.mode : null,
    compressors: named(options.compressors),
    retry_writes: options.retryWrites,
    retry_reads: options.retryReads,
    tls: options.tls || false,
    commands: { count: 'aggregate' }
  };
}

/** 4 names what is none. */
function named(compressors) {
  return (compressors || []).filter(function (name) {
    return name !== 'none';
  });
}

function find(collection, filter, options) {
  return collection.find(filter, options);
}

/** 4 holds it beside itself; of 3 it is the package, the encoder being an object. */
function serializer(major) {
  var bson = require('bson');
  var encoder = major === 3 ? new bson() : bson;
  return function (document) {
    return encoder.serialize(document);
  };
}

module.exports = function dialect(major) {
  var types = {
    Long: mongodb.Long,
    Double: mongodb.Double,
    Binary: mongodb.Binary,
    ObjectID: mongodb.ObjectID || mongodb.ObjectId
  };
  return {
    native: operations.compiled,
    callbacks: calls.callbacks,
    promises: calls.promises,
    connect: connect.bind(null, major),
    bind: function bind(definition, database) {
      return calls.bind(definition, database, find, major > 3);
    },
    reading: operations.reading('projection'),
    models: calls.models,
    capabilities: { extras: calls.extras, alters: [], uri: 'standard' },
    types: bsonTypes(types, serializer(major), function (bytes) {
      return new types.ObjectID(bytes);
    })
  };
};
