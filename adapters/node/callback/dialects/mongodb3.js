// mongodb 3 and 4: connecting gives a client. 4 is the last one that takes callbacks.
'use strict';

var mongodb = require('mongodb');
var operations = require('../operations');
var bsonTypes = require('./bson_types');
var calls = require('./modern_calls');

// Options that only the unified topology has, which 3 has to be asked for: as its users did since
// it warned them. Before 3.2 there is none, and they are ignored with a warning.
var UNIFIED = { useNewUrlParser: true, useUnifiedTopology: true };

function connect(major, uri, name, done) {
  var client = new mongodb.MongoClient(uri, major === 3 ? UNIFIED : {});
  client.connect(function (error) {
    var database;
    if (error) return done(error);
    database = client.db(name);
    operations.identify(database.command.bind(database), function (failed, server) {
      if (failed)
        return client.close(function () {
          done(failed);
        });
      done(null, {
        server: server,
        resolved: major === 3 ? resolved3(client) : resolved4(client.options),
        target: function (definition) {
          return calls.target(database, definition, find, count, major > 3);
        },
        close: function (closed) {
          client.close(closed);
        }
      });
    });
  });
}

/** The defaults of 3 are spread over its topology. */
function resolved3(client) {
  var options = client.topology.s.options;
  var concern = client.s.writeConcern || client.writeConcern;
  return {
    max_pool_size: options.maxPoolSize || options.poolSize || null,
    min_pool_size: options.minPoolSize || 0,
    write_concern: concern && concern.w !== undefined ? { w: concern.w } : { w: 1 },
    read_concern: (options.readConcern && options.readConcern.level) || null,
    read_preference: client.s.readPreference ? client.s.readPreference.mode : 'primary',
    compressors: (options.compression && options.compression.compressors) || [],
    retry_writes: options.retryWrites === undefined ? null : options.retryWrites,
    retry_reads: options.retryReads === undefined ? null : options.retryReads,
    tls: options.tls || options.ssl || false,
    commands: { count: mongodb.Collection.prototype.countDocuments ? 'aggregate' : 'count' }
  };
}

function resolved4(options) {
  return {
    max_pool_size: options.maxPoolSize,
    min_pool_size: options.minPoolSize,
    write_concern: options.writeConcern || {}, // unset: none is sent
    read_concern: (options.readConcern && options.readConcern.level) || null,
    read_preference: options.readPreference ? options.readPreference.mode : null,
    compressors: options.compressors || [],
    retry_writes: options.retryWrites,
    retry_reads: options.retryReads,
    tls: options.tls || false,
    commands: { count: 'aggregate' }
  };
}

function find(collection, filter, options) {
  return collection.find(filter, options);
}

/** countDocuments came with 3.1. */
function count(collection, filter, done) {
  var name = collection.countDocuments ? 'countDocuments' : 'count';
  return done ? collection[name](filter, done) : collection[name](filter);
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
    types: bsonTypes(types, serializer(major), function (bytes) {
      return new types.ObjectID(bytes);
    })
  };
};
