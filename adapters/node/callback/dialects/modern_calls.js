// The calls of mongodb 2 to 4 as good users wrote them, once with callbacks and once with promises.
'use strict';

var operations = require('../operations');

var given = operations.given;

var RIGHT = {
  insert_one: function insertOne(answer) {
    return answer.insertedId !== undefined;
  },
  insert_many: function insertMany(answer, target, made) {
    return answer.insertedCount === made.documents.length;
  },
  find_one: function findOne(answer, target) {
    return answer && target.read(answer);
  },
  find: operations.added,
  update_one: matched,
  replace_one: matched,
  delete_one: function deleteOne(answer) {
    return answer.deletedCount === 1;
  },
  count: operations.counted,
  estimated_count: operations.counted,
  // The document lies in the server's answer.
  find_one_and_update: function findOneAndUpdate(answer, target) {
    return answer.value && target.read(answer.value);
  },
  bulk_write: function bulkWrite(answer, target, made) {
    return (
      answer.insertedCount === made.asked.inserted &&
      answer.matchedCount + answer.upsertedCount === made.asked.matched &&
      answer.deletedCount === made.asked.deleted
    );
  },
  aggregate: operations.added,
  command: function command(answer) {
    return answer.ok === 1;
  },
  drop: operations.always
};

/** Version 2 counts an upserted document as matched, too. */
function matched(answer) {
  var upserted = answer.upsertedCount || 0;
  return upserted === 1 || answer.matchedCount === 1;
}

// Without `done` the driver gives a promise.
var CALLS = {
  insert_one: function insertOne(target, made, done) {
    return target.collection.insertOne(made.document, done);
  },
  insert_many: function insertMany(target, made, done) {
    return target.collection.insertMany(made.documents, target.options, done);
  },
  find_one: function findOne(target, made, done) {
    var collection = target.collection;
    if (!made.options) return collection.findOne(made.filter, done);
    // Version 2 counts the arguments.
    if (!done) return collection.findOne(made.filter, made.options);
    return collection.findOne(made.filter, made.options, done);
  },
  find: function find(target, made, done) {
    return read(target.find(made.filter, made.options), target, done);
  },
  update_one: function updateOne(target, made, done) {
    return target.collection.updateOne(made.filter, made.update, target.options, done);
  },
  replace_one: function replaceOne(target, made, done) {
    return target.collection.replaceOne(made.filter, made.document, target.options, done);
  },
  delete_one: function deleteOne(target, made, done) {
    return target.collection.deleteOne(made.filter, done);
  },
  count: function count(target, made, done) {
    return target.collection[target.counts](made.filter, done);
  },
  estimated_count: function estimatedCount(target, made, done) {
    return target.collection[target.estimates](done);
  },
  find_one_and_update: function findOneAndUpdate(target, made, done) {
    return target.collection.findOneAndUpdate(made.filter, made.update, done);
  },
  bulk_write: function bulkWrite(target, made, done) {
    var promise = target.collection.bulkWrite(made.models, target.options, done);
    return done ? undefined : promise.then(failing);
  },
  aggregate: function aggregate(target, made, done) {
    return read(target.collection.aggregate(made.pipeline.pipeline), target, done);
  },
  command: function command(target, made, done) {
    return target.database.command(target.withConcerns(made.command), target.options, done);
  },
  drop: function drop(target, made, done) {
    return target.collection.drop(done && operations.gone(done));
  }
};

/** Version 2 keeps the promise of a bulk whatever failed in it. */
function failing(answer) {
  if (answer.hasWriteErrors && answer.hasWriteErrors()) throw answer.getWriteErrorAt(0);
  return answer;
}

/** `forEach` of version 2 gives no promise; `next` does in all. */
function read(cursor, target, done) {
  var found = operations.found(target);
  if (!done) {
    return drained(cursor, found.take).then(function () {
      return found;
    });
  }
  return cursor.forEach(found.take, function (error) {
    done(error, found);
  });
}

function drained(cursor, take) {
  return cursor.next().then(function (document) {
    if (document === null) return undefined;
    take(document);
    return drained(cursor, take);
  });
}

exports.callbacks = {};
exports.promises = {};
Object.keys(CALLS).forEach(function (name) {
  var call = CALLS[name];
  exports.callbacks[name] = { call: call, right: RIGHT[name] };
  exports.promises[name] = {
    call: function promised(target, made, done) {
      call(target, made).then(
        function (answer) {
          done(null, answer);
        },
        name === 'drop' ? operations.gone(done) : done
      );
    },
    right: RIGHT[name]
  };
});

/** The parts of a bulk. */
exports.models = {
  insert_one: function insertOne(made) {
    return { insertOne: { document: made.document } };
  },
  update_one: function updateOne(made, options) {
    var model = given({ filter: made.filter, update: made.update, upsert: options.upsert });
    return { updateOne: model };
  },
  replace_one: function replaceOne(made, options) {
    var model = { filter: made.filter, replacement: made.document, upsert: options.upsert };
    return { replaceOne: given(model) };
  },
  delete_one: function deleteOne(made) {
    return { deleteOne: { filter: made.filter } };
  }
};

exports.extras = [
  'write_concern',
  'read_concern',
  'read_preference',
  'command_concerns',
  'unordered'
];

/**
 * Where an operation goes. `find` is called differently by each generation; `nested`: the write
 * concern is an option of its own, whose parts were options before version 4.
 */
exports.bind = function bind(definition, database, find, nested) {
  var concern = definition.write_concern;
  var level = definition.read_concern;
  var concerns = {};
  var collection;
  // A command is sent as it is given, so there the concerns are its own fields.
  if (definition.kind === 'command') {
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
    // They came with 3.1.
    counts: collection.countDocuments ? 'countDocuments' : 'count',
    estimates: collection.estimatedDocumentCount ? 'estimatedDocumentCount' : 'count',
    options: given({
      ordered: definition.ordered,
      upsert: definition.upsert,
      batchSize: definition.batch_size
    }),
    find: function (filter, options) {
      return find(collection, filter, options);
    }
  };
};
