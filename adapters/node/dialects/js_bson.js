// The values of js-bson, whose constructors hardly changed from 0.2 to 7.
'use strict';

var protocol = require('../protocol');
var oldBson = require('./old_bson');

/** A plain number encodes as int32 if it is one; only such a double needs the wrapper. */
function doubles(bson) {
  return function double(value) {
    return value === (value | 0) ? new bson.Double(value) : value;
  };
}

/**
 * `bson` has Long, Double, ObjectID and Binary; `serialize` makes a buffer of a document;
 * `objectid` makes an ObjectID of 12 bytes, which the oldest version takes as a string.
 */
module.exports = function jsBson(bson, serialize, objectid) {
  var types = {
    serialize: serialize,
    objectid: objectid,
    double: doubles(bson),
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
      return value; // rare types, all immutable
    }
  };
  types.decode = oldBson(types);
  return types;
};

/** For drivers since 3.2, whose decoder keeps all types apart. `encoder` is the driver's. */
module.exports.modern = function modern(mongodb, encoder) {
  var bson = {
    Long: mongodb.Long,
    Double: mongodb.Double,
    Binary: mongodb.Binary,
    ObjectID: mongodb.ObjectID || mongodb.ObjectId
  };
  var options = { promoteValues: false, promoteLongs: false, bsonRegExp: true };
  var types = module.exports(
    bson,
    function serialize(document) {
      return Buffer.from(encoder.serialize(document));
    },
    function objectid(bytes) {
      return new bson.ObjectID(bytes);
    }
  );
  /** Wrappers become plain numbers if these encode to the same bytes, as applications write. */
  function plain(value) {
    if (value === null || typeof value !== 'object') return value;
    if (value._bsontype === 'Int32') return value.valueOf();
    if (value._bsontype === 'Double') return types.double(value.valueOf());
    if (Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype) {
      Object.keys(value).forEach(function (name) {
        value[name] = plain(value[name]);
      });
    }
    return value;
  }
  types.decode = function decode(bytes) {
    return plain(encoder.deserialize(bytes, options));
  };
  return types;
};
