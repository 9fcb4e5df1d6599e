// The same for all dialects: keys, documents, decisions before a phase.
'use strict';

var documents = require('./documents');
var protocol = require('./protocol');

var Refusal = protocol.Refusal;
var WRITES = ['insert_one', 'insert_many', 'update_one', 'replace_one', 'delete_one'];

var NOOP = {
  call: function call(plan, made, done) {
    done(null);
  },
  right: function right(answer, plan) {
    if (plan.makes) plan.totals.documents += 1;
    return true;
  }
};

/** The dialect of an installed package, by the API asked for. */
exports.dialect = function dialect(name, api) {
  var version = require(name + '/package.json').version;
  var major = parseInt(version, 10);
  var file = name === 'mongolian' ? 'mongolian' : 'mongodb' + Math.min(major, 3);
  var found = require('./dialects/' + file)(major);
  var kinds = api === 'promise' ? found.promises : found.callbacks;
  kinds.noop = NOOP;
  return {
    driver: { name: name, version: version, native: found.native ? found.native() : null },
    types: found.types,
    kinds: kinds,
    connect: found.connect,
    capabilities: found.capabilities || {}
  };
};

/** js-bson says nothing when its compiled part is missing: the loaded modules tell. */
exports.compiled = function compiled() {
  return Object.keys(require.cache).some(function (path) {
    return /[\\/]bson-ext[\\/].*\.node$/.test(path);
  });
};

/** Adds an answer's document to the totals. */
function reader(totals, name) {
  return function read(document) {
    var value = name ? document[name] : 0;
    totals.documents += 1;
    totals.sum += typeof value === 'number' ? value : value ? value.toNumber() : 0;
    return true;
  };
}

var KEYS = {
  schedule: function schedule() {
    return function (worker) {
      return worker.record_key;
    };
  },
  counter: function counter(it) {
    return function (worker) {
      return it.first + worker.number + it.stride * worker.made;
    };
  },
  latest: function latest(it) {
    return function (worker) {
      var m = worker.made - 1 - worker.record_key;
      return m >= 0 ? it.first + worker.number + it.stride * m : Math.max(0, it.loaded + m);
    };
  }
};

/** All that can be decided before the phase is decided here, once an operation. */
exports.prepare = function prepare(definition, parts) {
  var kinds = parts.dialect.kinds;
  var kind = definition.kind;
  var key = definition.key || 'schedule';
  var connection = parts.connection;
  var plan, keyOf, makers, concern;
  if (!kinds.hasOwnProperty(kind)) throw new Refusal('unsupported', 'operation kind ' + kind);
  if (!KEYS.hasOwnProperty(key)) throw new Refusal('unsupported', 'key ' + key);
  if (kind !== 'noop' && !connection) throw new Refusal('protocol', 'prepare before open');
  keyOf = KEYS[key](parts.counter);
  makers = ['filter', 'update', 'pipeline', 'command']
    .filter(function (name) {
      return definition[name];
    })
    .map(function (name) {
      return { name: name, make: documents.template(definition[name], parts.dialect.types) };
    });
  if (definition.documents) makers.push(documentsPart(definition, parts, keyOf));
  plan = kind === 'noop' ? {} : connection.target(definition);
  concern = definition.write_concern || (connection && connection.resolved.write_concern) || {};
  plan.name = definition.name;
  plan.call = kinds[kind].call;
  plan.right = kinds[kind].right;
  plan.batch = definition.batch;
  plan.makes = Boolean(definition.documents);
  plan.totals = parts.totals;
  plan.read = reader(parts.totals, definition.sum_field);
  plan.unacknowledged = concern.w === 0;
  plan.asserted = !(WRITES.indexOf(kind) >= 0 && concern.w === 0);
  plan.make = function make(worker) {
    var made = {};
    var i;
    worker.item = 0;
    worker.key = keyOf(worker);
    for (i = 0; i < makers.length; i += 1) made[makers[i].name] = makers[i].make(worker);
    return made;
  };
  return plan;
};

/** insert_one and insert_many count their documents; replace_one inserts nothing. */
function documentsPart(definition, parts, keyOf) {
  var from = definition.documents;
  var document = documents.pooled(parts.pools[from.pool], from.stamps, parts.dialect.types);
  function inserted(worker, item) {
    var fresh;
    worker.item = item;
    worker.key = keyOf(worker);
    fresh = document(worker);
    worker.made += 1;
    return fresh;
  }
  if (definition.kind === 'replace_one' || definition.kind === 'noop') {
    return { name: 'document', make: document };
  }
  if (definition.kind === 'insert_one') {
    return {
      name: 'document',
      make: function (worker) {
        return inserted(worker, 0);
      }
    };
  }
  return {
    name: 'documents',
    make: function (worker) {
      var made = new Array(definition.batch);
      var item;
      for (item = 0; item < made.length; item += 1) made[item] = inserted(worker, item);
      return made;
    }
  };
}

/**
 * The options of a connection string by lower-case name, the string without them, and those of
 * them that the driver does not know: an arm that is called after an option has to have it.
 */
exports.split = function split(uri, known, driver) {
  var at = uri.indexOf('?');
  var options = {};
  (at < 0 ? '' : uri.slice(at + 1)).split('&').forEach(function (pair) {
    var name = pair.split('=')[0];
    if (!name) return;
    if (known.indexOf(name.toLowerCase()) < 0) {
      throw new Refusal('unsupported', driver + ' knows no option ' + name);
    }
    options[name.toLowerCase()] = decodeURIComponent(pair.slice(name.length + 1));
  });
  return { base: at < 0 ? uri : uri.slice(0, at), options: options };
};

/** The string with nothing but the server and the credentials. */
exports.address = function address(parts) {
  var kept = ['authMechanism', 'authSource', 'readPreference', 'replicaSet', 'ssl'];
  var pairs = kept
    .filter(function (name) {
      return parts.options[name.toLowerCase()] !== undefined;
    })
    .map(function (name) {
      return name + '=' + encodeURIComponent(parts.options[name.toLowerCase()]);
    });
  return parts.base + (pairs.length > 0 ? '?' + pairs.join('&') : '');
};

/** The server's facts; not by `hello`, which those before 4.4 may not know. */
exports.identify = function identify(command, done) {
  command({ ping: 1 }, function (error) {
    if (error) return done(error);
    command({ buildInfo: 1 }, function (failed, info) {
      if (failed) return done(failed);
      command({ isMaster: 1 }, function (wrong, master) {
        if (wrong) return done(wrong);
        done(null, { version: info.version, max_wire_version: master.maxWireVersion });
      });
    });
  });
};

/** Without the fields that were not given: drivers take some `undefined` for a choice. */
exports.given = function given(options) {
  var kept = {};
  Object.keys(options).forEach(function (name) {
    if (options[name] !== undefined) kept[name] = options[name];
  });
  return kept;
};
