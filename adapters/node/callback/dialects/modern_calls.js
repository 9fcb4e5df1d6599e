// The calls of mongodb 2 to 4 as good users wrote them, once with callbacks and once with promises.
'use strict';

var given = require('../operations').given;

var RIGHT = {
  insert_one: function insertOne(answer) {
    return answer.insertedId !== undefined;
  },
  insert_many: function insertMany(answer, plan) {
    return answer.insertedCount === plan.batch;
  },
  find_one: function findOne(answer, plan) {
    return answer && plan.read(answer);
  },
  find: function find() {
    return true;
  },
  update_one: matched,
  replace_one: matched,
  delete_one: function deleteOne(answer) {
    return answer.deletedCount === 1;
  },
  count: function count(answer, plan) {
    plan.totals.documents += answer;
    return typeof answer === 'number';
  },
  aggregate: function aggregate() {
    return true;
  },
  command: function command(answer) {
    return answer.ok === 1;
  }
};

/** Version 2 counts an upserted document as matched, too. */
function matched(answer) {
  var upserted = answer.upsertedCount || 0;
  return upserted === 1 || answer.matchedCount === 1;
}

var CALLBACKS = {
  insert_one: function insertOne(plan, made, done) {
    plan.collection.insertOne(made.document, done);
  },
  insert_many: function insertMany(plan, made, done) {
    plan.collection.insertMany(made.documents, plan.options, done);
  },
  find_one: function findOne(plan, made, done) {
    plan.collection.findOne(made.filter, done);
  },
  find: function find(plan, made, done) {
    plan.find(made.filter).forEach(plan.read, done);
  },
  update_one: function updateOne(plan, made, done) {
    plan.collection.updateOne(made.filter, made.update, plan.options, done);
  },
  replace_one: function replaceOne(plan, made, done) {
    plan.collection.replaceOne(made.filter, made.document, plan.options, done);
  },
  delete_one: function deleteOne(plan, made, done) {
    plan.collection.deleteOne(made.filter, done);
  },
  count: function count(plan, made, done) {
    plan.count(made.filter, done);
  },
  aggregate: function aggregate(plan, made, done) {
    plan.collection.aggregate(made.pipeline.pipeline).forEach(plan.read, done);
  },
  command: function command(plan, made, done) {
    plan.database.command(plan.withConcerns(made.command), plan.options, done);
  }
};

var PROMISES = {
  insert_one: function insertOne(plan, made) {
    return plan.collection.insertOne(made.document);
  },
  insert_many: function insertMany(plan, made) {
    return plan.collection.insertMany(made.documents, plan.options);
  },
  find_one: function findOne(plan, made) {
    return plan.collection.findOne(made.filter);
  },
  find: function find(plan, made) {
    return drained(plan.find(made.filter), plan.read);
  },
  update_one: function updateOne(plan, made) {
    return plan.collection.updateOne(made.filter, made.update, plan.options);
  },
  replace_one: function replaceOne(plan, made) {
    return plan.collection.replaceOne(made.filter, made.document, plan.options);
  },
  delete_one: function deleteOne(plan, made) {
    return plan.collection.deleteOne(made.filter);
  },
  count: function count(plan, made) {
    return plan.count(made.filter);
  },
  aggregate: function aggregate(plan, made) {
    return drained(plan.collection.aggregate(made.pipeline.pipeline), plan.read);
  },
  command: function command(plan, made) {
    return plan.database.command(plan.withConcerns(made.command), plan.options);
  }
};

/** `forEach` of version 2 gives no promise; `next` does in all. */
function drained(cursor, read) {
  return cursor.next().then(function (document) {
    if (document === null) return undefined;
    read(document);
    return drained(cursor, read);
  });
}

function kinds(calls, wrap) {
  var made = {};
  Object.keys(calls).forEach(function (name) {
    made[name] = { call: wrap(calls[name]), right: RIGHT[name] };
  });
  return made;
}

exports.callbacks = kinds(CALLBACKS, function (call) {
  return call;
});
exports.promises = kinds(PROMISES, function (call) {
  return function (plan, made, done) {
    call(plan, made).then(function (answer) {
      done(null, answer);
    }, done);
  };
});

/**
 * Where an operation goes. `find` and `count` are called differently by each generation; `nested`:
 * the write concern is an option of its own, whose parts were options before version 4.
 */
exports.target = function target(database, definition, find, count, nested) {
  var concern = definition.write_concern;
  var level = definition.read_concern;
  var options = given({
    ordered: definition.ordered,
    upsert: definition.upsert,
    limit: definition.limit,
    batchSize: definition.batch_size
  });
  var concerns = {};
  var collection;
  // A command is sent as it is given, so there the concerns are its own fields.
  if (definition.collection === undefined) {
    if (concern) concerns.writeConcern = concern;
    if (level) concerns.readConcern = { level: level };
    return {
      database: database,
      options: given({ readPreference: definition.read_preference }),
      withConcerns: function withConcerns(command) {
        Object.keys(concerns).forEach(function (name) {
          command[name] = concerns[name];
        });
        return command;
      }
    };
  }
  collection = given({
    readPreference: definition.read_preference,
    readConcern: level ? { level: level } : undefined
  });
  if (nested && concern) collection.writeConcern = concern;
  else
    Object.keys(concern || {}).forEach(function (name) {
      collection[name] = concern[name];
    });
  collection = database.collection(definition.collection, collection);
  return {
    collection: collection,
    options: options,
    find: function (filter) {
      return find(collection, filter, options);
    },
    count: function (filter, done) {
      return count(collection, filter, done);
    }
  };
};
