// mongodb 1.4, of 2014: `insert`, `update` and `remove`, a pool per server, no promises.
'use strict';

var mongodb = require('mongodb');
var operations = require('../operations');
var protocol = require('../protocol');
var bsonTypes = require('./bson_types');

// By MongoClient; the older `new Db(...).open` would not wait for answers without being told to.
var WRITE_CONCERN = { w: 1 };
// serverSelectionTimeoutMS came later: it is the time to connect in here.
var KNOWN = (
  'authmechanism authsource connecttimeoutms directconnection journal maxpoolsize ' +
  'readpreference replicaset serverselectiontimeoutms sockettimeoutms ssl w wtimeoutms'
).split(' ');

/** A call with the driver's options, and the answer that is right. */
function written(send, right) {
  return {
    call: function call(target, made, done) {
      // With w: 0 the driver would call back after the server's answer; its users gave no callback.
      if (target.answered) return send(target.collection, made, target.options, done);
      send(target.collection, made, target.options);
      done(null);
    },
    right: right
  };
}

var CALLBACKS = {
  insert_one: written(
    function insertOne(collection, made, options, done) {
      collection.insert(made.document, options, done);
    },
    function right(answer) {
      return answer.length === 1;
    }
  ),
  insert_many: written(
    function insertMany(collection, made, options, done) {
      collection.insert(made.documents, options, done);
    },
    function right(answer, target, made) {
      return answer.length === made.documents.length;
    }
  ),
  find_one: {
    call: function findOne(target, made, done) {
      if (made.options) target.collection.findOne(made.filter, made.options, done);
      else target.collection.findOne(made.filter, done);
    },
    right: function right(answer, target) {
      return answer !== null && target.read(answer);
    }
  },
  find: {
    call: function find(target, made, done) {
      each(target.collection.find(made.filter, made.options), target, done);
    },
    right: operations.added
  },
  update_one: written(function updateOne(collection, made, options, done) {
    collection.update(made.filter, made.update, options, done);
  }, operations.isOne),
  replace_one: written(function replaceOne(collection, made, options, done) {
    collection.update(made.filter, made.document, options, done);
  }, operations.isOne),
  delete_one: written(function deleteOne(collection, made, options, done) {
    collection.remove(made.filter, options, done);
  }, operations.isOne),
  count: {
    call: function count(target, made, done) {
      target.collection.count(made.filter, done);
    },
    right: operations.counted
  },
  estimated_count: {
    call: function estimatedCount(target, made, done) {
      target.collection.count(done);
    },
    right: operations.counted
  },
  find_one_and_update: {
    call: function findOneAndUpdate(target, made, done) {
      target.collection.findAndModify(made.filter, [], made.update, done);
    },
    right: function right(answer, target) {
      return answer && target.read(answer);
    }
  },
  bulk_write: written(
    function bulkWrite(collection, made, options, done) {
      var bulk = options.keepGoing
        ? collection.initializeUnorderedBulkOp()
        : collection.initializeOrderedBulkOp();
      made.models.forEach(function (model) {
        model(bulk);
      });
      // Without a callback it fails.
      bulk.execute(options, function (error, answer) {
        if (done)
          done(error || (answer.hasWriteErrors() ? answer.getWriteErrorAt(0) : null), answer);
      });
    },
    function right(answer, target, made) {
      return (
        answer.nInserted === made.asked.inserted &&
        answer.nMatched + answer.nUpserted === made.asked.matched &&
        answer.nRemoved === made.asked.deleted
      );
    }
  ),
  aggregate: {
    // Servers since 3.6 want a cursor; the driver's own asks for one document at a time.
    call: function aggregate(target, made, done) {
      each(target.collection.aggregate(made.pipeline.pipeline, { cursor: {} }), target, done);
    },
    right: operations.added
  },
  command: {
    call: function command(target, made, done) {
      target.database.command(made.command, done);
    },
    right: function right(answer) {
      return answer.ok === 1;
    }
  },
  drop: {
    call: function drop(target, made, done) {
      target.collection.drop(operations.gone(done));
    },
    right: operations.always
  }
};

/** What each part of a bulk does with it. */
var MODELS = {
  insert_one: function insertOne(made) {
    return function (bulk) {
      bulk.insert(made.document);
    };
  },
  update_one: function updateOne(made, options) {
    return function (bulk) {
      var found = bulk.find(made.filter);
      (options.upsert ? found.upsert() : found).updateOne(made.update);
    };
  },
  replace_one: function replaceOne(made, options) {
    return function (bulk) {
      var found = bulk.find(made.filter);
      (options.upsert ? found.upsert() : found).replaceOne(made.document);
    };
  },
  delete_one: function deleteOne(made) {
    return function (bulk) {
      bulk.find(made.filter).removeOne();
    };
  }
};

/** A cursor is iterated and not made an array: that would hold a large answer as a whole. */
function each(cursor, target, done) {
  var found = operations.found(target);
  cursor.each(function (error, document) {
    if (error || !document) return done(error, found);
    found.take(document);
  });
}

/** Standard names, for the place where this generation has each. */
function settings(options) {
  var number = function (name) {
    return options[name] === undefined ? undefined : Number(options[name]);
  };
  var w = options.w;
  var connect = number('connecttimeoutms') || number('serverselectiontimeoutms');
  return {
    db: operations.given({
      // A number in a string would be the name of a tag.
      w: w === undefined ? undefined : /^\d+$/.test(w) ? Number(w) : w,
      journal: options.journal === undefined ? undefined : options.journal === 'true',
      wtimeoutMS: number('wtimeoutms')
    }),
    server: operations.given({
      poolSize: number('maxpoolsize'),
      socketOptions: operations.given({
        connectTimeoutMS: connect,
        socketTimeoutMS: number('sockettimeoutms')
      })
    })
  };
}

function connect(entry, name, done) {
  var options = operations.options(entry, KNOWN, 'mongodb 1.4');
  var chosen = settings(options);
  chosen.uri_decode_auth = true;
  mongodb.MongoClient.connect(operations.address(entry, options), chosen, function (error, client) {
    var database;
    if (error) return done(error);
    database = client.db(name);
    database.command({ ping: 1 }, function (failed) {
      if (failed) {
        client.close();
        return done(failed);
      }
      done(null, {
        database: database,
        acknowledged: chosen.db.w !== 0,
        resolved: resolved(client, chosen, options),
        close: function (closed) {
          client.close(closed);
        }
      });
    });
  });
}

function resolved(client, chosen, options) {
  var concern = chosen.db.w === undefined ? WRITE_CONCERN : { w: chosen.db.w };
  if (chosen.db.journal !== undefined) concern = { w: concern.w, j: chosen.db.journal };
  return {
    max_pool_size: client.serverConfig.poolSize,
    min_pool_size: null,
    write_concern: concern,
    read_concern: null,
    read_preference: options.readpreference || 'primary',
    compressors: [],
    retry_writes: false,
    retry_reads: false,
    tls: options.ssl === 'true',
    commands: { count: 'count' }
  };
}

function bind(definition, database) {
  var concern = definition.write_concern || {};
  var collection = operations.given({ readPreference: definition.read_preference });
  if (definition.kind === 'command') return { database: database };
  if (definition.kind === 'find_one_and_update' && definition.write_concern) {
    throw new protocol.Refusal('unsupported', 'findAndModify of mongodb 1.4 has no write concern');
  }
  return {
    collection: database.collection(definition.collection, collection),
    options: operations.given({
      w: concern.w,
      j: concern.j,
      wtimeout: concern.wtimeout,
      keepGoing: definition.ordered === false ? true : undefined,
      single: definition.kind === 'delete_one' ? true : undefined,
      upsert: definition.upsert,
      batchSize: definition.batch_size
    })
  };
}

/**
 * Whether a database encodes with the compiled part of js-bson, asked as MongoClient asks for it.
 * That it was built and loaded says nothing: Db of 1.4.3 overwrites the choice by the JavaScript
 * one in its next line.
 */
function native() {
  var unused = new mongodb.Db('unused', new mongodb.Server('localhost', 27017), {
    w: 1,
    native_parser: Boolean(mongodb.BSONNative)
  });
  return !(unused.bson instanceof mongodb.BSONPure.BSON);
}

module.exports = function dialect() {
  // The JavaScript encoder: the compiled one is used by the driver where it was built.
  var bson = new (mongodb.pure().BSON)();
  return {
    native: native,
    callbacks: CALLBACKS,
    connect: connect,
    bind: bind,
    reading: operations.reading('fields'),
    models: MODELS,
    capabilities: {
      extras: ['write_concern', 'read_preference', 'unordered'],
      alters: [],
      uri: 'plain'
    },
    types: bsonTypes(
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
