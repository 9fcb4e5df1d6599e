// mongodb 1.4, of 2014: `insert`, `update` and `remove`, a pool per server, no promises.
'use strict';

var mongodb = require('mongodb');
var plan = require('../plan');
var protocol = require('../protocol');
var jsBson = require('./js_bson');
var oldCalls = require('./old_calls');
var connecting = require('./connecting');

// serverSelectionTimeoutMS came later: here it is the time to connect.
var KNOWN = {
  authMechanism: 'text uri',
  authSource: 'text uri',
  serverSelectionTimeoutMS: 'number server.socketOptions.connectTimeoutMS',
  connectTimeoutMS: 'number server.socketOptions.connectTimeoutMS',
  directConnection: 'as_it_is',
  journal: 'boolean db.journal',
  maxPoolSize: 'number server.poolSize',
  readPreference: 'text uri',
  replicaSet: 'text uri',
  socketTimeoutMS: 'number server.socketOptions.socketTimeoutMS',
  ssl: 'boolean uri',
  w: 'w db.w',
  wtimeoutMS: 'number db.wtimeoutMS'
};

var DRIVER = {
  insert: function insert(target, documents, done) {
    target.collection.insert(documents, target.options, done);
  },
  update: function update(target, filter, changes, done) {
    target.collection.update(filter, changes, target.options, done);
  },
  remove: function remove(target, filter, done) {
    target.collection.remove(filter, target.options, done);
  },
  findOne: function findOne(target, made, done) {
    if (made.options) target.collection.findOne(made.filter, made.options, done);
    else target.collection.findOne(made.filter, done);
  },
  find: function find(target, made) {
    return target.collection.find(made.filter, made.options);
  },
  each: function each(cursor, take, done) {
    cursor.each(function (error, document) {
      if (error || !document) done(error);
      else take(document);
    });
  },
  findAndModify: function findAndModify(target, made, done) {
    target.collection.findAndModify(made.filter, target.sort, made.update, done);
  },
  command: function command(target, made, done) {
    target.database.command(made.command, done);
  }
};

var KINDS = oldCalls(DRIVER);

KINDS.bulk_write = oldCalls.written(
  function send(target, made, done) {
    var bulk = target.options.keepGoing
      ? target.collection.initializeUnorderedBulkOp()
      : target.collection.initializeOrderedBulkOp();
    made.models.forEach(function (model) {
      model(bulk);
    });
    // Without a callback it fails; everything that it is given becomes part of the write concern.
    bulk.execute(target.concern, function (error, answer) {
      if (done) done(error || (answer.hasWriteErrors() ? answer.getWriteErrorAt(0) : null), answer);
    });
  },
  function right(answer, target, made) {
    return (
      answer.nInserted === made.asked.inserted &&
      answer.nMatched + answer.nUpserted === made.asked.matched &&
      answer.nRemoved === made.asked.deleted
    );
  }
);

KINDS.aggregate = {
  // Servers since 3.6 require a cursor; the driver's cursor asks for one document at a time.
  call: function aggregate(target, made, done) {
    var cursor = target.collection.aggregate(made.pipeline.pipeline, { cursor: {} });
    oldCalls.drained(cursor, target, DRIVER.each, done);
  },
  right: plan.added
};

/** A part of a bulk, which calls the bulk's own methods. */
function model(method, changes) {
  return function make(made, options) {
    return function add(bulk) {
      var found;
      if (method === 'insert') return bulk.insert(made.document);
      found = bulk.find(made.filter);
      if (options.upsert) found = found.upsert();
      found[method](made[changes]);
    };
  };
}

var MODELS = {
  insert_one: model('insert'),
  update_one: model('updateOne', 'update'),
  replace_one: model('replaceOne', 'document'),
  delete_one: model('removeOne')
};

function connect(entry, name, done) {
  var options = connecting.read(entry, KNOWN, 'mongodb 1.4');
  options.settings.uri_decode_auth = true;
  mongodb.MongoClient.connect(options.address, options.settings, function (error, client) {
    if (error) return done(error);
    // Opened by MongoClient; `new Db(...).open` did not wait for answers by default.
    if (options.values.w === undefined) options.resolved.write_concern.w = 1;
    options.resolved.max_pool_size = client.serverConfig.poolSize;
    connecting.prove(client.db(name), options, client.close.bind(client), done);
  });
}

function bind(definition, database) {
  var asked = definition.write_concern || {};
  var concern = plan.given({ w: asked.w, j: asked.j, wtimeout: asked.wtimeout });
  var preference = plan.given({ readPreference: definition.read_preference });
  if (definition.kind === 'command') return { database: database };
  if (definition.kind === 'find_one_and_update' && definition.write_concern) {
    throw new protocol.Refusal('unsupported', 'findAndModify of mongodb 1.4 has no write concern');
  }
  return {
    collection: database.collection(definition.collection, preference),
    concern: concern,
    sort: definition.sort || [],
    options: plan.given({
      w: concern.w,
      j: concern.j,
      wtimeout: concern.wtimeout,
      keepGoing: definition.ordered === false ? true : undefined,
      single: definition.kind === 'delete_one' ? true : undefined,
      multi: definition.kind === 'update_many' ? true : undefined,
      upsert: definition.upsert,
      sort: definition.sort,
      skip: definition.skip,
      hint: definition.hint,
      batchSize: definition.batch_size
    })
  };
}

/**
 * Whether a database encodes with the compiled part of js-bson, asked as MongoClient asks for it. A
 * built and loaded part proves nothing: Db of 1.4.3 overwrites the choice by the JavaScript one in
 * its next line.
 */
function native() {
  var unused = new mongodb.Db('unused', new mongodb.Server('localhost', 27017), {
    w: 1,
    native_parser: Boolean(mongodb.BSONNative)
  });
  return !(unused.bson instanceof mongodb.BSONPure.BSON);
}

module.exports = function dialect() {
  // The JavaScript encoder; the driver uses the compiled one if it was built.
  var bson = new (mongodb.pure().BSON)();
  return {
    native: native(),
    kinds: KINDS,
    connect: connect,
    bind: bind,
    models: MODELS,
    projection: 'fields',
    capabilities: {
      extras: ['write_concern', 'read_preference', 'unordered', 'unacknowledged', 'sort', 'hint'],
      alters: [],
      uri: 'plain'
    },
    types: jsBson(
      mongodb,
      function (document) {
        return bson.serialize(document, false, true, false);
      },
      function (bytes) {
        return new mongodb.ObjectID(Buffer.isBuffer(bytes) ? bytes.toString('binary') : bytes);
      }
    )
  };
};
