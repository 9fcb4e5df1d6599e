// The same for all dialects: what an operation is given, decided once before a phase.
'use strict';

var documents = require('./documents');
var protocol = require('./protocol');

var Refusal = protocol.Refusal;

/** It reads what it made, so that the cost of making and reading is measured with it. */
var NOOP = {
  call: function call(target, made, done) {
    done(null);
  },
  right: function right(answer, target, made) {
    if (made.documents) made.documents.forEach(target.read);
    return true;
  }
};
// Kinds whose answers are not looked at where the server gives none.
var WRITES = ['insert_one', 'insert_many', 'update_one', 'replace_one', 'delete_one'];
WRITES.push('find_one_and_update', 'bulk_write');
/** What a part of a bulk adds to. */
var ADDS_TO = {
  insert_one: 'inserted',
  update_one: 'matched',
  replace_one: 'matched',
  delete_one: 'deleted'
};

/** Out of the dialect's own find_one and update_one. */
function readModifyWrite(find, update) {
  return {
    call: function call(target, made, done) {
      find.call(target, made, function (error, document) {
        if (error || !document) return done(error, null);
        update.call(target, made, function (failed, answer) {
          done(failed, { document: document, updated: answer });
        });
      });
    },
    right: function right(answer, target, made) {
      if (!answer || (target.answered && !update.right(answer.updated, target, made))) return false;
      return find.right(answer.document, target, made);
    }
  };
}

/** The dialect of an installed package, by the API asked for. */
exports.dialect = function dialect(name, api) {
  var version = require(name + '/package.json').version;
  var major = parseInt(version, 10);
  var file = name === 'mongolian' ? 'mongolian' : 'mongodb' + Math.min(major, 3);
  var found = require('./dialects/' + file)(major);
  found.kinds = api === 'promise' ? found.promises : found.callbacks;
  found.kinds.noop = NOOP;
  found.kinds.read_modify_write = readModifyWrite(found.kinds.find_one, found.kinds.update_one);
  found.driver = { name: name, version: version, native: found.native ? found.native() : null };
  return found;
};

/** js-bson says nothing when its compiled part is missing: the loaded modules tell. */
exports.compiled = function compiled() {
  return Object.keys(require.cache).some(function (path) {
    return /[\\/]bson-ext[\\/].*\.node$/.test(path);
  });
};

/** What a document adds to the sum; a long is a value beyond 2^53, or was made here. */
function summed(name) {
  return function number(document) {
    var value = name ? document[name] : 0;
    return typeof value === 'number' ? value : value ? value.toNumber() : 0;
  };
}

/** Adds a document to the totals. */
function reader(totals, number) {
  return function read(document) {
    totals.documents += 1;
    totals.sum += number(document);
    return true;
  };
}

/** What a cursor gives: added to the totals when it was read to its end. */
exports.found = function found(target) {
  var it = { documents: 0, sum: 0 };
  it.take = function take(document) {
    it.documents += 1;
    it.sum += target.number(document);
  };
  return it;
};
exports.added = function added(found, target) {
  target.totals.documents += found.documents;
  target.totals.sum += found.sum;
  return true;
};

/** `phase` has pools, plans, schedule, totals, item_step, dialect and connection. */
exports.prepare = function prepare(definition, phase) {
  var kinds = phase.dialect.kinds;
  var kind = definition.kind;
  var concern = definition.write_concern;
  var answered = concern ? concern.w !== 0 : phase.connection.acknowledged;
  var number = summed(definition.sum_field);
  var read = reader(phase.totals, number);
  var targets = [{}];
  if (!kinds.hasOwnProperty(kind)) throw new Refusal('unsupported', 'operation kind ' + kind);
  if (definition.shape) throw new Refusal('unsupported', 'shape ' + definition.shape);
  if (definition.lazy) throw new Refusal('unsupported', 'a lazy insert_many');
  if (kind !== 'noop') {
    targets = phase.connection.databases.map(function (database) {
      return phase.dialect.bind(definition, database);
    });
  }
  targets.forEach(function (target) {
    target.read = read;
    target.number = number;
    target.totals = phase.totals;
    target.answered = answered;
  });
  return {
    name: definition.name,
    kind: kind,
    call: kinds[kind].call,
    right: kinds[kind].right,
    expected: answered || WRITES.indexOf(kind) < 0,
    targets: targets,
    make: maker(definition, targets[0].options, phase)
  };
};

/** worker => all that the call is given. */
function maker(definition, options, phase) {
  var kind = definition.kind;
  var types = phase.dialect.types;
  var from = definition.documents;
  var reads = kind === 'find' || (kind === 'find_one' && definition.projection);
  var makers = ['filter', 'update', 'projection', 'pipeline', 'command']
    .filter(function (name) {
      return definition[name];
    })
    .map(function (name) {
      var it = definition[name];
      return {
        name: name,
        make: documents.pooled([phase.pools[it.pool][it.document]], it.stamps, types)
      };
    });
  var document = from && documents.pooled(phase.pools[from.pool], from.stamps, types);
  if (kind === 'bulk_write') {
    return function makeParts(worker) {
      return partsOf(worker, phase);
    };
  }
  if (from && (kind === 'noop' || kind === 'insert_many')) {
    makers.push({
      name: 'documents',
      make: function make(worker) {
        return several(worker, document, phase.item_step);
      }
    });
  } else if (from) {
    makers.push({ name: 'document', make: document });
  }
  return function make(worker) {
    var made = {};
    var i;
    for (i = 0; i < makers.length; i += 1) made[makers[i].name] = makers[i].make(worker);
    if (reads) made.options = phase.dialect.reading(options, worker.count, made.projection);
    return made;
  };
}

function several(worker, document, item_step) {
  var made = new Array(worker.count);
  var item;
  for (item = 0; item < made.length; item += 1) {
    made[item] = document(worker);
    worker.key += item_step;
    worker.shift += item_step;
    worker.sequence += 1;
    worker.document += 1;
  }
  return made;
}

/** The parts are operations of the phase, with records of their own. */
function partsOf(worker, phase) {
  var first = worker.document;
  var count = worker.count;
  var models = [];
  var asked = { inserted: 0, matched: 0, deleted: 0 };
  var number, plan;
  for (number = 0; number < count; number += 1) {
    plan = phase.plans[phase.schedule.part(worker, first + number)];
    models.push(phase.dialect.models[plan.kind](plan.make(worker), plan.targets[0].options));
    asked[ADDS_TO[plan.kind]] += 1;
    worker.sequence += 1;
  }
  return { models: models, asked: asked };
}

// What a right answer is, where several dialects agree.
exports.always = function always() {
  return true;
};
exports.isOne = function isOne(count) {
  return count === 1;
};
exports.counted = function counted(answer, target) {
  target.totals.documents += answer;
  return typeof answer === 'number';
};

/** A drop's callback: that there was nothing to drop is no failure. */
exports.gone = function gone(done) {
  return function dropped(error) {
    done(error && (error.code === 26 || /ns not found/.test(error.message)) ? null : error);
  };
};

/**
 * The options of a client's parts by lower-case name; those that the driver does not know, and
 * values that are no numbers, are refused: an arm that is called after an option has to have it.
 */
exports.options = function options(entry, known, driver) {
  var found = {};
  Object.keys(entry.options).forEach(function (name) {
    var key = name.toLowerCase();
    var value = entry.options[name];
    if (known.indexOf(key) < 0) {
      throw new Refusal('unsupported', driver + ' knows no option ' + name);
    }
    if (/(ms|size|seconds|compressionlevel)$/.test(key) && !/^-?\d+$/.test(value)) {
      throw new Refusal('unsupported', name + ' is no number: ' + value);
    }
    found[key] = value;
  });
  return found;
};

/** The string with nothing but the server, the credentials and what only it can say. */
exports.address = function address(entry, options) {
  var kept = ['authMechanism', 'authSource', 'readPreference', 'replicaSet', 'ssl'];
  var pairs = kept
    .filter(function (name) {
      return options[name.toLowerCase()] !== undefined;
    })
    .map(function (name) {
      return name + '=' + encodeURIComponent(options[name.toLowerCase()]);
    });
  return entry.uri.split('?')[0] + (pairs.length > 0 ? '?' + pairs.join('&') : '');
};

/** Without the fields that were not given: drivers take some `undefined` for a choice. */
exports.given = function given(options) {
  var kept = {};
  Object.keys(options).forEach(function (name) {
    if (options[name] !== undefined) kept[name] = options[name];
  });
  return kept;
};

/** Options of a find with what each record has of its own; `name` is the projection's. */
exports.reading = function reading(name) {
  return function (options, limit, projection) {
    var own = {};
    var option;
    for (option in options) own[option] = options[option];
    if (limit > 0) own.limit = limit;
    if (projection) own[name] = projection;
    return own;
  };
};
