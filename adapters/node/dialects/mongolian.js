// mongolian 0.1, of 2012: one connection a server, legacy opcodes, an answer by getLastError.
'use strict';

var Mongolian = require('mongolian');
var protocol = require('../protocol');
var connecting = require('./connecting');
var oldBson = require('./old_bson');
var oldCalls = require('./old_calls');
var given = require('../plan').given;
// The driver's encoder, which it does not export as a whole.
var buffalo = require('buffalo');

// The driver has no time limit for connecting, so the adapter sets a timer.
var KNOWN = { directConnection: 'as_it_is', serverSelectionTimeoutMS: 'number', w: 'w' };

function find(target, made) {
  var options = made.options;
  var cursor = target.collection.find(made.filter, options.fields);
  if (options.sort) cursor.sort(options.sort);
  if (options.skip) cursor.skip(options.skip);
  if (options.limit) cursor.limit(options.limit);
  // Without a limit it still asks for the server's own size.
  if (options.batchSize > 1) cursor.batchSize(options.batchSize);
  return cursor;
}

var KINDS = oldCalls({
  insert: function insert(target, documents, done) {
    target.collection.insert(documents, done);
  },
  update: function update(target, filter, changes, done) {
    var options = target.options;
    target.collection.update(filter, changes, options.upsert, options.multi, done);
  },
  // The driver has no single removal: a filter by key matches one document.
  remove: function remove(target, filter, done) {
    target.collection.remove(filter, done);
  },
  findOne: function findOne(target, made, done) {
    // findOne of the driver takes no order.
    if (made.options && made.options.sort) find(target, made).limit(1).next(done);
    else target.collection.findOne(made.filter, made.options && made.options.fields, done);
  },
  find: find,
  each: function each(cursor, take, done) {
    cursor.forEach(take, done);
  },
  findAndModify: function findAndModify(target, made, done) {
    target.collection.findAndModify(
      given({ query: made.filter, sort: target.options.sort, update: made.update }),
      done
    );
  },
  command: function command(target, made, done) {
    target.database.runCommand(made.command, done);
  }
});

function connect(entry, name, done) {
  var options = connecting.read(entry, KNOWN, 'mongolian');
  var wait_ms = options.values.serverSelectionTimeoutMS;
  var resolved = options.resolved;
  var timer = null;
  var server, database;
  if (options.values.w === undefined) resolved.write_concern.w = 1;
  acknowledged(resolved.write_concern);
  resolved.min_pool_size = resolved.max_pool_size = 1;
  // The driver's own scheme, without the slash: a database in the string would be another object.
  server = entry.uri
    .split('?')[0]
    .replace(/^mongodb:\/\/([^@]*@)?/, 'mongo://')
    .replace(/\/$/, '');
  server = new Mongolian(server, { log: false }); // otherwise a line per connection on stdout
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
      acknowledged: resolved.write_concern.w !== 0,
      resolved: resolved,
      close: function (closed) {
        server.close();
        closed();
      }
    });
  }
  if (wait_ms) timer = setTimeout(opened, wait_ms, new Error('it did not connect in time'));
  if (entry.user) database.auth(entry.user, entry.password); // before all commands
  database.runCommand({ ping: 1 }, opened);
}

/** A callback means an answer with w: 1, none means w: 0; there are no other write concerns. */
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
    options: given({
      upsert: Boolean(definition.upsert),
      multi: definition.kind === 'update_many',
      sort: definition.sort,
      skip: definition.skip,
      batchSize: definition.batch_size
    })
  };
}

var TYPES = {
  serialize: function serialize(document) {
    return buffalo.serialize(document);
  },
  // The driver has no type for a double: a whole value is sent as an int32, as `alters` says.
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

TYPES.decode = oldBson(TYPES);

module.exports = function dialect() {
  return {
    kinds: KINDS,
    connect: connect,
    bind: bind,
    projection: 'fields',
    native: null,
    types: TYPES,
    capabilities: { extras: ['unacknowledged', 'sort'], alters: ['double'], uri: 'plain' }
  };
};
