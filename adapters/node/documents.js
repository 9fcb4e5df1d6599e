// Pools, copies and stamps. Drivers have different values for a BSON type: `types` of a dialect
// makes longs, doubles, object ids and binaries.
'use strict';

var fs = require('fs');
var protocol = require('./protocol');

var TWO_32 = protocol.TWO_32;

/** The documents in `bytes`, one after another. */
function decodeAll(bytes, types) {
  var pool = [];
  var at;
  for (at = 0; at < bytes.length; at += bytes.readInt32LE(at)) {
    pool.push(types.decode(bytes.slice(at, at + bytes.readInt32LE(at))));
  }
  return pool;
}

exports.readPool = function readPool(path, types) {
  return decodeAll(fs.readFileSync(path), types);
};

/** Twice as fast as a loop; no syntax before Node.js 8.3. */
function spread() {
  try {
    return new Function('value', 'return { ...value };');
  } catch (_error) {
    return function shallow(value) {
      var fresh = {};
      Object.keys(value).forEach(function (name) {
        fresh[name] = value[name];
      });
      return fresh;
    };
  }
}
var shallow = spread();

/** A deep copy, as an application would have made the document anew. */
function copy(value, types) {
  var fresh, name, i;
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    fresh = new Array(value.length);
    for (i = 0; i < value.length; i += 1) fresh[i] = copy(value[i], types);
    return fresh;
  }
  if (value instanceof Date) return new Date(value.getTime());
  if (Object.getPrototypeOf(value) !== Object.prototype) return types.copy(value);
  fresh = shallow(value);
  for (name in fresh) {
    if (typeof fresh[name] === 'object') fresh[name] = copy(fresh[name], types);
  }
  return fresh;
}

/** The record's guid, with the shift XORed in as a u64: in halves, because `^` takes 32 bits. */
function guidOf(worker) {
  var id = protocol.copyOf(worker.guids.slice(worker.guid_at, worker.guid_at + 16));
  id.writeUInt32LE((id.readUInt32LE(0) ^ worker.shift) >>> 0, 0);
  id.writeUInt32LE((id.readUInt32LE(12) ^ Math.floor(worker.shift / TWO_32)) >>> 0, 12);
  return id;
}

var FORMS = {
  int32: function (value) {
    return value | 0;
  },
  int64: function (value, stamp, worker, types) {
    return types.long((value % TWO_32) | 0, Math.floor(value / TWO_32) | 0);
  },
  double: function (value, stamp, worker, types) {
    return types.double(value);
  },
  date: function (value) {
    return new Date(value);
  },
  string: function (value, stamp) {
    var text = String(value);
    while (text.length < stamp.width) text = '0' + text;
    return (stamp.prefix || '') + text;
  },
  objectid: function (value, stamp, worker, types) {
    var id = protocol.bytesOf(stamp.prefix + '0000000000000000', 'hex');
    id.writeUInt32BE(Math.floor(value / TWO_32), 4);
    id.writeUInt32BE(value >>> 0, 8);
    return types.objectid(id);
  },
  guid: function (value, stamp, worker, types) {
    return types.binary(guidOf(worker), 4);
  },
  guid_string: function (value, stamp, worker) {
    return guidOf(worker)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }
};

function compile(stamp, types) {
  var form = FORMS[stamp.as];
  var from = stamp.from || 'key';
  var isClock = from === 'made_ns' || from === 'time_ms';
  var parents = stamp.path.slice(0, -1);
  var name = stamp.path[stamp.path.length - 1];
  var add = stamp.add || 0;
  return function set(document, worker) {
    var parent = document;
    var value = isClock ? worker[from]() : worker[from];
    var i;
    for (i = 0; i < parents.length; i += 1) parent = parent[parents[i]];
    parent[name] = form(value + add, stamp, worker, types);
  };
}

/** worker => a fresh, stamped document from those of the pool. */
exports.pooled = function pooled(pool, stamps, types) {
  var compiled = (stamps || []).map(function (stamp) {
    return compile(stamp, types);
  });
  return function make(worker) {
    var document = copy(pool[worker.document % pool.length], types);
    var i;
    for (i = 0; i < compiled.length; i += 1) compiled[i](document, worker);
    return document;
  };
};

/** One document with chosen inputs, as hex, for the vectors. */
exports.render = function render(message, types) {
  var input = message.input || {};
  var shift = input.shift || 0;
  var pool = decodeAll(protocol.bytesOf(message.template, 'hex'), types);
  var worker = {
    key: (input.key || 0) + shift,
    shift: shift,
    document: 0,
    sequence: input.sequence || 0,
    producer: input.producer || 0,
    guids: protocol.bytesOf(input.guid || '00000000000000000000000000000000', 'hex'),
    guid_at: 0,
    made_ns: function () {
      return input.made_ns || 0;
    },
    time_ms: function () {
      return input.time_ms || 0;
    }
  };
  return types.serialize(exports.pooled(pool, message.stamps, types)(worker)).toString('hex');
};
