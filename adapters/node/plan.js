// Arguments of operations, decided once before a phase and made anew for each operation; and what
// the dialects share.
'use strict';

var documents = require('./documents');
var protocol = require('./protocol');

// Kinds whose answers are not checked if the server gives none.
var WRITES = ['insert_one', 'insert_many', 'update_one', 'replace_one', 'delete_one'];
WRITES.push('find_one_and_update', 'bulk_write', 'update_many', 'delete_many');
/** Options that name documents of a pool, and are the same for all operations. */
var FIXED = ['sort', 'hint', 'collation'];
/** The count of a bulk's answer to which a part contributes. */
var ADDS_TO = {
  insert_one: 'inserted',
  update_one: 'matched',
  replace_one: 'matched',
  delete_one: 'deleted'
};

/** Reads what it made, so that the cost of making and reading is measured too. */
var NOOP = {
  call: function call(target, made, done) {
    done(null);
  },
  right: function right(answer, target, made) {
    if (made.documents) made.documents.forEach(target.read);
    return true;
  }
};

/** Made of the dialect's find_one and update_one. */
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
  var parts = version.split('.').map(Number);
  // 3.0 and 3.1 have the connections and options of 2.
  var major = parts[0] === 3 && parts[1] < 2 ? 2 : Math.min(parts[0], 4);
  var file = name === 'mongolian' ? name : name + major;
  var found = require('./dialects/' + file)(api, parts[0]);
  found.kinds.noop = NOOP;
  found.kinds.read_modify_write = readModifyWrite(found.kinds.find_one, found.kinds.update_one);
  found.driver = { name: name, version: version, native: found.native };
  return found;
};

/** `phase` has pools, plans, schedule, totals, item_step, dialect and connection. */
exports.prepare = function prepare(definition, phase) {
  var kinds = phase.dialect.kinds;
  var kind = definition.kind;
  var name = definition.sum_field;
  var concern = definition.write_concern;
  var answered = concern ? concern.w !== 0 : phase.connection.acknowledged;
  var totals = phase.totals;
  var targets = [{}];
  var found = kinds[kind];
  if (kind === 'transaction') totals.retries = 0;
  /** A document's share of the sum; a long is a value beyond 2^53, or was made here. */
  function number(document) {
    var value = name ? document[name] : 0;
    return typeof value === 'number' ? value : value ? value.toNumber() : 0;
  }
  function read(document) {
    totals.documents += 1;
    totals.sum += number(document);
    return true;
  }
  if (!kinds.hasOwnProperty(kind)) throw new protocol.Refusal('unsupported', 'kind ' + kind);
  if (definition.shape || definition.lazy) {
    throw new protocol.Refusal('unsupported', 'shapes and lazy inserts');
  }
  FIXED.forEach(function (option) {
    var it = definition[option];
    if (it) definition[option] = phase.pools[it.pool][it.document];
  });
  if (definition.expect) {
    if (!phase.dialect.expecting) throw new protocol.Refusal('unsupported', 'expect');
    found = phase.dialect.expecting(definition, found);
  }
  if (kind !== 'noop') {
    targets = phase.connection.databases.map(function (database) {
      return phase.dialect.bind(definition, database);
    });
  }
  targets.forEach(function (target) {
    target.read = read;
    target.number = number;
    target.field = definition.field;
    target.sums = Boolean(name);
    target.totals = totals;
    target.answered = answered;
  });
  return {
    name: definition.name,
    kind: kind,
    call: found.call,
    right: found.right,
    expected: answered || WRITES.indexOf(kind) < 0,
    targets: targets,
    make: maker(definition, targets[0].options, phase)
  };
};

/** worker => everything that the call is given. */
function maker(definition, options, phase) {
  var kind = definition.kind;
  var types = phase.dialect.types;
  var from = definition.documents;
  var document = from && documents.pooled(phase.pools[from.pool], from.stamps, types);
  var makers = {};
  var names;
  if (kind === 'bulk_write') {
    return function makeParts(worker) {
      return partsOf(worker, phase);
    };
  }
  if (kind === 'transaction') {
    return function makeTransaction(worker) {
      return { parts: numbered(worker, phase) };
    };
  }
  ['filter', 'update', 'projection', 'pipeline', 'command'].forEach(function (name) {
    var it = definition[name];
    var template = it && phase.pools[it.pool][it.document];
    if (it && name === 'command') template = concerned(template, definition);
    if (it) makers[name] = documents.pooled([template], it.stamps, types);
  });
  if (kind === 'find' || (kind === 'find_one' && hasOptions(definition, options))) {
    makers.options = reading(options, phase.dialect.projection, makers.projection);
    delete makers.projection;
  }
  if (from && (kind === 'noop' || kind === 'insert_many')) {
    makers.documents = function makeSeveral(worker) {
      return several(worker, document, phase.item_step);
    };
  } else if (from) {
    makers.document = document;
  }
  names = Object.keys(makers);
  return function make(worker) {
    var made = {};
    var i;
    for (i = 0; i < names.length; i += 1) made[names[i]] = makers[names[i]](worker);
    return made;
  };
}

function hasOptions(definition, options) {
  return (
    Boolean(definition.projection || options.sort || options.hint || options.collation) ||
    options.maxTimeMS > 0
  );
}

/** A command is sent as it is given, so the concerns are its own fields. */
function concerned(command, definition) {
  var own = {};
  var name;
  for (name in command) own[name] = command[name];
  if (definition.write_concern) own.writeConcern = definition.write_concern;
  if (definition.read_concern) own.readConcern = { level: definition.read_concern };
  return own;
}

/** Options of a find, with each record's values; `name` is the projection's. */
function reading(options, name, projection) {
  return function makeOptions(worker) {
    var own = {};
    var option;
    for (option in options) own[option] = options[option];
    if (worker.count > 0) own.limit = worker.count;
    if (projection) own[name] = projection(worker);
    return own;
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

/** The parts are operations of the phase with their own records. */
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

/** The parts of a transaction: their kinds, targets of the operation's client and arguments. */
function numbered(worker, phase) {
  var first = worker.document;
  var count = worker.count;
  var client = worker.dealt + worker.index * phase.deal_step;
  var parts = [];
  var number, plan, made;
  for (number = 0; number < count; number += 1) {
    plan = phase.plans[phase.schedule.part(worker, first + number)];
    made = plan.make(worker);
    parts.push({ kind: plan.kind, target: plan.targets[client % plan.targets.length], made: made });
    worker.sequence += 1;
  }
  return parts;
}

/** Documents of a cursor: added to the totals when it was read to its end. */
exports.found = function found(target) {
  var it = { documents: 0, sum: 0 };
  it.take = function take(document) {
    it.documents += 1;
    it.sum += target.number(document);
  };
  return it;
};

// Right answers, where several dialects agree.
exports.added = function added(found, target) {
  target.totals.documents += found.documents;
  target.totals.sum += found.sum;
  return true;
};
exports.one = function one(document, target) {
  return Boolean(document) && target.read(document);
};
exports.counted = function counted(answer, target) {
  target.totals.documents += answer;
  return typeof answer === 'number';
};
/** Each value of a field; `number` reads documents. */
exports.values = function values(answer, target) {
  target.totals.documents += answer.length;
  if (!target.sums) return true;
  answer.forEach(function (value) {
    target.totals.sum += typeof value === 'number' ? value : value.toNumber();
  });
  return true;
};
exports.isOne = function isOne(count) {
  return count === 1;
};
exports.isOk = function isOk(answer) {
  return answer.ok === 1;
};
exports.always = function always() {
  return true;
};

/** A drop's callback: a missing collection is not a failure. */
exports.gone = function gone(done) {
  return function dropped(error) {
    done(error && (error.code === 26 || /ns not found/.test(error.message)) ? null : error);
  };
};

/** Without the fields that were not given, because drivers read some `undefined` as a choice. */
exports.given = function given(options) {
  var kept = {};
  Object.keys(options).forEach(function (name) {
    if (options[name] !== undefined) kept[name] = options[name];
  });
  return kept;
};
