// mongolian 0.1, of 2012: one connection a server, legacy opcodes, an answer by getLastError.
'use strict';

var Mongolian = require('mongolian');
var operations = require('../operations');
var protocol = require('../protocol');
// The driver's own encoder, which it does not hand out as a whole.
var buffalo = require('buffalo');

// It has no time limit for connecting: a timer is set beside it.
var KNOWN = ['directconnection', 'serverselectiontimeoutms', 'w'];

/** A write and the answer that is right. Without a callback nothing asks the server how it went. */
function written(send, right) {
  return {
    call: function call(target, made, done) {
      if (target.answered) return send(target, made, done);
      send(target, made);
      done(null);
    },
    right: right
  };
}

var CALLBACKS = {
  insert_one: written(function insertOne(target, made, done) {
    target.collection.insert(made.document, done);
  }, Boolean),
  insert_many: written(
    function insertMany(target, made, done) {
      target.collection.insert(made.documents, done);
    },
    function right(answer, target, made) {
      return answer.length === made.documents.length;
    }
  ),
  find_one: {
    call: function findOne(target, made, done) {
      target.collection.findOne(made.filter, made.projection, done);
    },
    right: function right(answer, target) {
      return Boolean(answer) && target.read(answer);
    }
  },
  find: {
    call: function find(target, made, done) {
      var cursor = target.collection.find(made.filter, made.projection);
      var found = operations.found(target);
      if (made.options.limit) cursor.limit(made.options.limit);
      // Without a limit it asks for the server's own size all the same.
      if (made.options.batchSize > 1) cursor.batchSize(made.options.batchSize);
      cursor.forEach(found.take, function (error) {
        done(error, found);
      });
    },
    right: operations.added
  },
  update_one: written(function updateOne(target, made, done) {
    target.collection.update(made.filter, made.update, target.options.upsert, done);
  }, operations.isOne),
  replace_one: written(function replaceOne(target, made, done) {
    target.collection.update(made.filter, made.document, target.options.upsert, done);
  }, operations.isOne),
  // It knows no single removal: a filter by key finds one.
  delete_one: written(function deleteOne(target, made, done) {
    target.collection.remove(made.filter, done);
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
      target.collection.findAndModify({ query: made.filter, update: made.update }, done);
    },
    right: function right(answer, target) {
      return Boolean(answer) && target.read(answer);
    }
  },
  command: {
    call: function command(target, made, done) {
      target.database.runCommand(made.command, done);
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

function connect(entry, name, done) {
  var options = operations.options(entry, KNOWN, 'mongolian');
  var concern = { w: options.w === undefined ? 1 : Number(options.w) };
  var wait_ms = Number(options.serverselectiontimeoutms);
  var timer = null;
  var server, database;
  acknowledged(concern);
  // Its own scheme, and without the slash: a database in the string would be another object.
  server = entry.uri
    .split('?')[0]
    .replace(/^mongodb:/, 'mongo:')
    .replace(/\/$/, '');
  server = new Mongolian(server, { log: false }); // else on stdout, a line each connection
  database = server.db(name);
  function opened(error) {
    if (timer === false) return; // too late
    clearTimeout(timer);
    timer = false;
    if (error) {
      server.close();
      return done(error);
    }
    done(null, {
      database: database,
      acknowledged: concern.w !== 0,
      resolved: {
        max_pool_size: 1,
        min_pool_size: 1,
        write_concern: concern,
        read_concern: null,
        read_preference: 'primary',
        compressors: [],
        retry_writes: false,
        retry_reads: false,
        tls: false,
        commands: { count: 'count' }
      },
      close: function (closed) {
        server.close();
        closed();
      }
    });
  }
  if (wait_ms) timer = setTimeout(opened, wait_ms, new Error('it did not connect in time'));
  database.runCommand({ ping: 1 }, opened);
}

/** A callback is an answer with w: 1, none is w: 0; there is nothing else to ask for. */
function acknowledged(concern) {
  var other = Object.keys(concern).filter(function (name) {
    return name !== 'w';
  });
  if (other.length > 0 || (concern.w !== 0 && concern.w !== 1)) {
    throw new protocol.Refusal('unsupported', 'mongolian knows no write concern but w: 0 and 1');
  }
}

function bind(definition, database) {
  if (definition.write_concern) acknowledged(definition.write_concern);
  if (definition.ordered === false) {
    throw new protocol.Refusal('unsupported', 'mongolian inserts in order');
  }
  if (definition.kind === 'command') return { database: database };
  return {
    collection: database.collection(definition.collection),
    options: { upsert: Boolean(definition.upsert), batchSize: definition.batch_size }
  };
}

var TYPES = {
  serialize: function serialize(document) {
    return buffalo.serialize(document);
  },
  // It has no type for a double: one with a whole value goes out as an int32, as `alters` says.
  double: function double(value) {
    return value;
  },
  long: function long(low, high) {
    return new Mongolian.Long(low, high);
  },
  objectid: function objectid(bytes) {
    return new Mongolian.ObjectId(bytes);
  },
  binary: function binary(bytes, subtype) {
    bytes.subtype = subtype;
    return bytes;
  },
  copy: function copy(value) {
    var bytes;
    if (value instanceof Mongolian.Long) return new Mongolian.Long(value.low_, value.high_);
    if (value instanceof Mongolian.ObjectId) {
      return new Mongolian.ObjectId(protocol.copyOf(value.bytes));
    }
    if (!Buffer.isBuffer(value)) return value;
    bytes = protocol.copyOf(value);
    bytes.subtype = value.subtype;
    return bytes;
  }
};

module.exports = function dialect() {
  return {
    callbacks: CALLBACKS,
    connect: connect,
    bind: bind,
    reading: operations.reading('fields'),
    types: TYPES,
    capabilities: { extras: [], alters: ['double'], uri: 'plain' }
  };
};
