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
  find: always,
  update_one: matched,
  replace_one: matched,
  delete_one: function deleteOne(answer) {
    return answer.deletedCount === 1;
  },
  count: counted,
  estimated_count: counted,
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
  aggregate: always,
  command: function command(answer) {
    return answer.ok === 1;
  },
  drop: always
};

function always() {
  return true;
}

/** Version 2 counts an upserted document as matched, too. */
function matched(answer) {
  var upserted = answer.upsertedCount || 0;
  return upserted === 1 || answer.matchedCount === 1;
}

function counted(answer, target) {
  target.totals.documents += answer;
  return typeof answer === 'number';
}

var CALLBACKS = {
  insert_one: function insertOne(target, made, done) {
    target.collection.insertOne(made.document, done);
  },
  insert_many: function insertMany(target, made, done) {
    target.collection.insertMany(made.documents, target.options, done);
  },
  find_one: function findOne(target, made, done) {
    if (made.options) target.collection.findOne(made.filter, made.options, done);
    else target.collection.findOne(made.filter, done);
  },
  find: function find(target, made, done) {
    target.find(made.filter, made.options).forEach(target.read, done);
  },
  update_one: function updateOne(target, made, done) {
    target.collection.updateOne(made.filter, made.update, target.options, done);
  },
  replace_one: function replaceOne(target, made, done) {
    target.collection.replaceOne(made.filter, made.document, target.options, done);
  },
  delete_one: function deleteOne(target, made, done) {
    target.collection.deleteOne(made.filter, done);
  },
  count: function count(target, made, done) {
    target.collection[target.counts](made.filter, done);
  },
  estimated_count: function estimatedCount(target, made, done) {
    target.collection[target.estimates](done);
  },
  find_one_and_update: function findOneAndUpdate(target, made, done) {
    target.collection.findOneAndUpdate(made.filter, made.update, done);
  },
  bulk_write: function bulkWrite(target, made, done) {
    target.collection.bulkWrite(made.models, target.options, done);
  },
  aggregate: function aggregate(target, made, done) {
    target.collection.aggregate(made.pipeline.pipeline).forEach(target.read, done);
  },
  command: function command(target, made, done) {
    target.database.command(target.withConcerns(made.command), target.options, done);
  },
  drop: function drop(target, made, done) {
    target.collection.drop(operations.gone(done));
  }
};

var PROMISES = {
  insert_one: function insertOne(target, made) {
    return target.collection.insertOne(made.document);
  },
  insert_many: function insertMany(target, made) {
    return target.collection.insertMany(made.documents, target.options);
  },
  find_one: function findOne(target, made) {
    if (made.options) return target.collection.findOne(made.filter, made.options);
    return target.collection.findOne(made.filter);
  },
  find: function find(target, made) {
    return drained(target.find(made.filter, made.options), target.read);
  },
  update_one: function updateOne(target, made) {
    return target.collection.updateOne(made.filter, made.update, target.options);
  },
  replace_one: function replaceOne(target, made) {
    return target.collection.replaceOne(made.filter, made.document, target.options);
  },
  delete_one: function deleteOne(target, made) {
    return target.collection.deleteOne(made.filter);
  },
  count: function count(target, made) {
    return target.collection[target.counts](made.filter);
  },
  estimated_count: function estimatedCount(target) {
    return target.collection[target.estimates]();
  },
  find_one_and_update: function findOneAndUpdate(target, made) {
    return target.collection.findOneAndUpdate(made.filter, made.update);
  },
  bulk_write: function bulkWrite(target, made) {
    return target.collection.bulkWrite(made.models, target.options).then(failing);
  },
  aggregate: function aggregate(target, made) {
    return drained(target.collection.aggregate(made.pipeline.pipeline), target.read);
  },
  command: function command(target, made) {
    return target.database.command(target.withConcerns(made.command), target.options);
  },
  drop: function drop(target) {
    return target.collection.drop();
  }
};

/** Version 2 keeps the promise of a bulk whatever failed in it. */
function failing(answer) {
  if (answer.hasWriteErrors && answer.hasWriteErrors()) throw answer.getWriteErrorAt(0);
  return answer;
}

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
    made[name] = { call: wrap(calls[name], name), right: RIGHT[name] };
  });
  return made;
}

exports.callbacks = kinds(CALLBACKS, function (call) {
  return call;
});
exports.promises = kinds(PROMISES, function (call, name) {
  return function (target, made, done) {
    call(target, made).then(
      function (answer) {
        done(null, answer);
      },
      name === 'drop' ? operations.gone(done) : done
    );
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

exports.extras = ['write_concern', 'read_concern', 'read_preference', 'command_concerns'];

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
