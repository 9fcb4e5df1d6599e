// mongodb 1.4, of 2014: `insert`, `update` and `remove`, a pool per server, no promises.
'use strict';

var mongodb = require('mongodb');
var operations = require('../operations');
var protocol = require('../protocol');
var bsonTypes = require('./bson_types');

// By MongoClient; the older `new Db(...).open` would not wait for answers without being told to.
var WRITE_CONCERN = { w: 1 };
// serverSelectionTimeoutMS, that every arm has, came later: it is the time to connect in here.
var KNOWN = [
  'authmechanism',
  'authsource',
  'connecttimeoutms',
  'directconnection',
  'journal',
  'maxpoolsize',
  'readpreference',
  'replicaset',
  'serverselectiontimeoutms',
  'sockettimeoutms',
  'ssl',
  'w',
  'wtimeoutms'
];

var CALLBACKS = {
  insert_one: {
    call: function insertOne(plan, made, done) {
      write(plan, done, function (callback) {
        plan.collection.insert(made.document, plan.options, callback);
      });
    },
    right: function right(answer) {
      return answer.length === 1;
    }
  },
  insert_many: {
    call: function insertMany(plan, made, done) {
      write(plan, done, function (callback) {
        plan.collection.insert(made.documents, plan.options, callback);
      });
    },
    right: function right(answer, plan) {
      return answer.length === plan.batch;
    }
  },
  find_one: {
    call: function findOne(plan, made, done) {
      plan.collection.findOne(made.filter, done);
    },
    right: function right(answer, plan) {
      return answer !== null && plan.read(answer);
    }
  },
  find: {
    call: function find(plan, made, done) {
      each(plan.collection.find(made.filter, plan.options), plan.read, done);
    },
    right: function right() {
      return true;
    }
  },
  update_one: {
    call: function updateOne(plan, made, done) {
      write(plan, done, function (callback) {
        plan.collection.update(made.filter, made.update, plan.options, callback);
      });
    },
    right: function right(count) {
      return count === 1;
    }
  },
  replace_one: {
    call: function replaceOne(plan, made, done) {
      write(plan, done, function (callback) {
        plan.collection.update(made.filter, made.document, plan.options, callback);
      });
    },
    right: function right(count) {
      return count === 1;
    }
  },
  delete_one: {
    call: function deleteOne(plan, made, done) {
      write(plan, done, function (callback) {
        plan.collection.remove(made.filter, plan.options, callback);
      });
    },
    right: function right(count) {
      return count === 1;
    }
  },
  count: {
    call: function count(plan, made, done) {
      plan.collection.count(made.filter, done);
    },
    right: function right(answer, plan) {
      plan.totals.documents += answer;
      return typeof answer === 'number';
    }
  },
  aggregate: {
    // Servers since 3.6 want a cursor; the driver's own asks for one document at a time.
    call: function aggregate(plan, made, done) {
      each(plan.collection.aggregate(made.pipeline.pipeline, { cursor: {} }), plan.read, done);
    },
    right: function right() {
      return true;
    }
  },
  command: {
    call: function command(plan, made, done) {
      plan.database.command(made.command, done);
    },
    right: function right(answer) {
      return answer.ok === 1;
    }
  }
};

/** With w: 0 the driver would call back after the server's answer; its users gave no callback. */
function write(plan, done, send) {
  if (!plan.unacknowledged) return send(done);
  send();
  done(null);
}

/** A cursor is iterated and not made an array: that would hold a large answer as a whole. */
function each(cursor, read, done) {
  cursor.each(function (error, document) {
    if (error || !document) return done(error);
    read(document);
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

function connect(uri, name, done) {
  var parts = operations.split(uri, KNOWN, 'mongodb 1.4');
  var chosen = settings(parts.options);
  chosen.uri_decode_auth = true;
  mongodb.MongoClient.connect(operations.address(parts), chosen, function (error, client) {
    var database;
    if (error) return done(error);
    database = client.db(name);
    operations.identify(database.command.bind(database), function (failed, server) {
      if (failed) {
        client.close();
        return done(failed);
      }
      done(null, {
        server: server,
        resolved: resolved(client, chosen, parts.options),
        target: function (definition) {
          return target(database, definition);
        },
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
    max_pool_size: client.serverConfig.poolSize || null,
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

function target(database, definition) {
  var concern = definition.write_concern || {};
  var collection = operations.given({ readPreference: definition.read_preference });
  if (definition.read_concern) {
    throw new protocol.Refusal('unsupported', 'mongodb 1.4 knows no read concern');
  }
  if (definition.collection === undefined) return { database: database };
  return {
    collection: database.collection(definition.collection, collection),
    options: operations.given({
      w: concern.w,
      j: concern.j,
      wtimeout: concern.wtimeout,
      keepGoing: definition.ordered === false ? true : undefined,
      single: definition.kind === 'delete_one' ? true : undefined,
      upsert: definition.upsert,
      limit: definition.limit,
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
