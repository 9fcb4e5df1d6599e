// The values of js-bson, whose constructors hardly changed from 0.2 to 4.
'use strict';

var protocol = require('../protocol');

/**
 * `bson` has Long, Double, ObjectID and Binary; `serialize` makes a buffer of a document;
 * `objectid` makes an ObjectID of 12 bytes, which the oldest takes as a string.
 */
module.exports = function bsonTypes(bson, serialize, objectid) {
  function double(value) {
    // A plain number encodes as int32 where it is one; only such a double needs the wrapper.
    return value === (value | 0) ? new bson.Double(value) : value;
  }
  return {
    serialize: serialize,
    objectid: objectid,
    double: double,
    long: function long(low, high) {
      return new bson.Long(low, high);
    },
    binary: function binary(bytes, subtype) {
      return new bson.Binary(bytes, subtype);
    },
    copy: function copy(value) {
      if (value instanceof bson.Long) {
        return new bson.Long(value.getLowBits(), value.getHighBits());
      }
      if (value instanceof bson.Double) return new bson.Double(value.valueOf());
      if (value instanceof bson.ObjectID) {
        return objectid(Buffer.isBuffer(value.id) ? protocol.copyOf(value.id) : value.id);
      }
      if (value instanceof bson.Binary) {
        return new bson.Binary(protocol.copyOf(value.buffer, value.position), value.sub_type);
      }
      return value;
    }
  };
};
