// The BSON of pools, for drivers up to 3.1, whose decoders make an int32 of a double with a whole
// value and of a small int64.
'use strict';

var protocol = require('../protocol');

var SIZES = { 1: 8, 7: 12, 8: 1, 9: 8, 10: 0, 16: 4, 18: 8 };
var BESIDE_LENGTH = { 2: 4, 3: 0, 4: 0, 5: 5 }; // bytes that a length does not count

/** bytes => a document, with longs, doubles, object ids and binaries as `types` makes them. */
module.exports = function decoder(types) {
  var values = {
    1: function (bytes) {
      return types.double(bytes.readDoubleLE(0));
    },
    2: function (bytes) {
      return bytes.toString('utf8', 4, bytes.length - 1);
    },
    3: function (bytes) {
      return decode(bytes, {});
    },
    4: function (bytes) {
      return decode(bytes, []);
    },
    5: function (bytes) {
      return types.binary(protocol.copyOf(bytes.slice(5)), bytes[4]);
    },
    7: function (bytes) {
      return types.objectid(protocol.copyOf(bytes));
    },
    8: function (bytes) {
      return bytes[0] === 1;
    },
    9: function (bytes) {
      return new Date(bytes.readUInt32LE(0) + bytes.readInt32LE(4) * protocol.TWO_32);
    },
    10: function () {
      return null;
    },
    16: function (bytes) {
      return bytes.readInt32LE(0);
    },
    18: function (bytes) {
      return types.long(bytes.readInt32LE(0), bytes.readInt32LE(4));
    }
  };

  function decode(bytes, target) {
    var at = 4;
    var type, stop, name, length;
    while (bytes[at] !== 0) {
      type = bytes[at];
      stop = at + 1;
      while (bytes[stop] !== 0) stop += 1;
      name = bytes.toString('utf8', at + 1, stop);
      at = stop + 1;
      if (!values[type]) throw new protocol.Refusal('unsupported', 'a pool with BSON type ' + type);
      length = SIZES[type];
      if (length === undefined) length = bytes.readInt32LE(at) + BESIDE_LENGTH[type];
      target[name] = values[type](bytes.slice(at, at + length));
      at += length;
    }
    return target;
  }

  return function decodeDocument(bytes) {
    return decode(bytes, {});
  };
};
