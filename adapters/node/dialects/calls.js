// The calls of mongodb 2 to 7 as good users write them: with callbacks up to 4, and with promises.
'use strict';

var plan = require('../plan');

var given = plan.given;

/** Version 2 counts an upserted document as matched, too. */
function matched(answer) {
  return answer.upsertedCount === 1 || answer.matchedCount === 1;
}

/** Without `done` the driver returns a promise. `read` reads a cursor to its end. */
function table(read) {
  return {
    insert_one: {
      call: function call(target, made, done) {
        return target.collection.insertOne(made.document, done);
      },
      right: function right(answer) {
        return answer.insertedId !== undefined;
      }
    },
    insert_many: {
      call: function call(target, made, done) {
        return target.collection.insertMany(made.documents, target.options, done);
      },
      right: function right(answer, target, made) {
        return answer.insertedCount === made.documents.length;
      }
    },
    find_one: {
      call: function call(target, made, done) {
        var collection = target.collection;
        if (!made.options) return collection.findOne(made.filter, done);
        // Version 2 counts the arguments.
        if (!done) return collection.findOne(made.filter, made.options);
        return collection.findOne(made.filter, made.options, done);
      },
      right: plan.one
    },
    find: {
      call: function call(target, made, done) {
        return read(target.find(target.collection, made.filter, made.options), target, done);
      },
      right: plan.added
    },
    update_one: {
      call: function call(target, made, done) {
        return target.collection.updateOne(made.filter, made.update, target.options, done);
      },
      right: matched
    },
    replace_one: {
      call: function call(target, made, done) {
        return target.collection.replaceOne(made.filter, made.document, target.options, done);
      },
      right: matched
    },
    delete_one: {
      call: function call(target, made, done) {
        return target.collection.deleteOne(made.filter, done);
      },
      right: function right(answer) {
        return answer.deletedCount === 1;
      }
    },
    count: {
      call: function call(target, made, done) {
        return target.collection[target.counts](made.filter, done);
      },
      right: plan.counted
    },
    estimated_count: {
      call: function call(target, made, done) {
        return target.collection[target.estimates](done);
      },
      right: plan.counted
    },
    update_many: {
      call: function call(target, made, done) {
        return target.collection.updateMany(made.filter, made.update, done);
      },
      right: function right(answer, target) {
        return plan.counted(answer.matchedCount, target);
      }
    },
    delete_many: {
      call: function call(target, made, done) {
        return target.collection.deleteMany(made.filter, done);
      },
      right: function right(answer, target) {
        return plan.counted(answer.deletedCount, target);
      }
    },
    distinct: {
      call: function call(target, made, done) {
        return target.collection.distinct(target.field, made.filter, done);
      },
      right: plan.values
    },
    find_one_and_update: {
      call: function call(target, made, done) {
        var options = target.options;
        return target.collection.findOneAndUpdate(made.filter, made.update, options, done);
      },
      // Up to 5 the document is part of the server's answer.
      right: function right(answer, target) {
        return plan.one(answer.value, target);
      }
    },
    bulk_write: {
      call: function call(target, made, done) {
        var promise = target.collection.bulkWrite(made.models, target.options, done);
        return done ? undefined : promise.then(failing);
      },
      right: function right(answer, target, made) {
        return (
          answer.insertedCount === made.asked.inserted &&
          answer.matchedCount + answer.upsertedCount === made.asked.matched &&
          answer.deletedCount === made.asked.deleted
        );
      }
    },
    aggregate: {
      call: function call(target, made, done) {
        return read(target.collection.aggregate(made.pipeline.pipeline), target, done);
      },
      right: plan.added
    },
    command: {
      call: function call(target, made, done) {
        return target.database.command(made.command, target.options, done);
      },
      right: plan.isOk
    },
    drop: {
      call: function call(target, made, done) {
        return target.collection.drop(done && plan.gone(done));
      },
      right: plan.always
    }
  };
}

/** Version 2 resolves the promise of a bulk even if writes failed. */
function failing(answer) {
  if (answer.hasWriteErrors && answer.hasWriteErrors()) throw answer.getWriteErrorAt(0);
  return answer;
}

/** Only `next` of version 2 returns promises. */
function nextByNext(cursor, take) {
  return cursor.next().then(function (document) {
    if (document === null) return undefined;
    take(document);
    return nextByNext(cursor, take);
  });
}

/** The same calls, reported by promises; `drained` reads a cursor and returns one. */
exports.kinds = function kinds(promises, drained) {
  var found = table(function read(cursor, target, done) {
    var it = plan.found(target);
    if (done) {
      return cursor.forEach(it.take, function (error) {
        done(error, it);
      });
    }
    return (drained || nextByNext)(cursor, it.take).then(function () {
      return it;
    });
  });
  if (promises) {
    Object.keys(found).forEach(function (name) {
      var call = found[name].call;
      found[name].call = function promised(target, made, done) {
        call(target, made).then(
          function (answer) {
            done(null, answer);
          },
          name === 'drop' ? plan.gone(done) : done
        );
      };
    });
  }
  return found;
};

/** The parts of a bulk. */
exports.models = {
  insert_one: function insertOne(made) {
    return { insertOne: { document: made.document } };
  },
  update_one: function updateOne(made, options) {
    var model = { filter: made.filter, update: made.update, upsert: options.upsert };
    return { updateOne: given(model) };
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
  'unordered',
  'unacknowledged',
  'sort',
  'hint',
  'collation',
  'max_time'
];

/** js-bson does not report that its compiled part is missing; the loaded modules show it. */
exports.compiled = function compiled() {
  return Object.keys(require.cache).some(function (path) {
    return /[\\/]bson-ext[\\/].*\.node$/.test(path);
  });
};

/**
 * The target of an operation. A write concern is `nested` since 4; before, its parts were options.
 */
exports.binder = function binder(find, nested) {
  return function bind(definition, database) {
    var concern = definition.write_concern || {};
    var level = definition.read_concern;
    var preference = given({ readPreference: definition.read_preference });
    var options = given({
      readPreference: definition.read_preference,
      readConcern: level && { level: level },
      writeConcern: nested ? definition.write_concern : undefined,
      w: nested ? undefined : concern.w,
      j: nested ? undefined : concern.j
    });
    var collection;
    if (definition.kind === 'command') return { database: database, options: preference };
    collection = database.collection(definition.collection, options);
    return {
      collection: collection,
      find: find,
      // Both came with 3.1.
      counts: collection.countDocuments ? 'countDocuments' : 'count',
      estimates: collection.estimatedDocumentCount ? 'estimatedDocumentCount' : 'count',
      options: given({
        ordered: definition.ordered,
        upsert: definition.upsert,
        batchSize: definition.batch_size,
        sort: definition.sort,
        skip: definition.skip,
        hint: definition.hint,
        collation: definition.collation,
        maxTimeMS: definition.max_time_ms
      })
    };
  };
};
