// mongolian 0.1, of 2012: one connection a server, legacy opcodes, an answer by getLastError.
'use strict';

var Mongolian = require('mongolian');
var operations = require('../operations');
var protocol = require('../protocol');
// The driver's own encoder, which it does not hand out as a whole.
var buffalo = require('buffalo');

// It has no time limit for connecting.
var KNOWN = ['directconnection', 'serverselectiontimeoutms', 'w'];

var CALLBACKS = {
  insert_one: {
    call: function insertOne(plan, made, done) {
      write(plan, done, function (callback) {
        plan.collection.insert(made.document, callback);
      });
    },
    right: function right(answer) {
      return Boolean(answer);
    }
  },
  insert_many: {
    call: function insertMany(plan, made, done) {
      write(plan, done, function (callback) {
        plan.collection.insert(made.documents, callback);
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
      return Boolean(answer) && plan.read(answer);
    }
  },
  find: {
    call: function find(plan, made, done) {
      var cursor = plan.collection.find(made.filter);
      if (plan.limit) cursor.limit(plan.limit);
      // Without a limit it asks for the server's own size all the same.
      if (plan.batch_size > 1) cursor.batchSize(plan.batch_size);
      cursor.forEach(plan.read, done);
    },
    right: function right() {
      return true;
    }
  },
  update_one: {
    call: function updateOne(plan, made, done) {
      write(plan, done, function (callback) {
        plan.collection.update(made.filter, made.update, plan.upsert, callback);
      });
    },
    right: function right(count) {
      return count === 1;
    }
  },
  replace_one: {
    call: function replaceOne(plan, made, done) {
      write(plan, done, function (callback) {
        plan.collection.update(made.filter, made.document, plan.upsert, callback);
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
  command: {
    call: function command(plan, made, done) {
      plan.database.runCommand(made.command, done);
    },
    right: function right(answer) {
      return answer.ok === 1;
    }
  }
};

/** Without a callback nothing asks the server whether it went well. */
function write(plan, done, send) {
  if (!plan.unacknowledged) return send(done);
  send();
  done(null);
}

function connect(uri, name, done) {
  var parts = operations.split(uri, KNOWN, 'mongolian');
  var concern = { w: parts.options.w === undefined ? 1 : Number(parts.options.w) };
  var server, database;
  acknowledged(concern);
  // Its own scheme, and without the slash: a database in the string would be another object.
  server = new Mongolian(parts.base.replace(/^mongodb:/, 'mongo:').replace(/\/$/, ''), {
    log: false // else on stdout, a line each connection
  });
  database = server.db(name);
  operations.identify(database.runCommand.bind(database), function (error, facts) {
    if (error) {
      server.close();
      return done(error);
    }
    done(null, {
      server: facts,
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
      target: function (definition) {
        return target(database, definition);
      },
      close: function (closed) {
        server.close();
        closed();
      }
    });
  });
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

function target(database, definition) {
  if (definition.write_concern) acknowledged(definition.write_concern);
  if (definition.read_concern || definition.read_preference) {
    throw new protocol.Refusal('unsupported', 'mongolian knows no read concern or preference');
  }
  if (definition.ordered === false) {
    throw new protocol.Refusal('unsupported', 'mongolian inserts in order');
  }
  if (definition.collection === undefined) return { database: database };
  return {
    collection: database.collection(definition.collection),
    upsert: Boolean(definition.upsert),
    limit: definition.limit,
    batch_size: definition.batch_size
  };
}

var TYPES = {
  serialize: function serialize(document) {
    return buffalo.serialize(document);
  },
  // It has no type for a double: one with a whole value goes out as an int32, as `hello` says.
  double: function double(value) {
    return value;
  },
  long: function long(low, high) {
    return new Mongolian.Long(low, high);
  },
  longOf: function longOf(text) {
    return Mongolian.Long.fromString(text);
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
    types: TYPES,
    capabilities: { whole_doubles: false }
  };
};
