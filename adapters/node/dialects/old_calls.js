// The calls of drivers before 2: `insert`, `update` and `remove`, with callbacks.
'use strict';

var plan = require('../plan');

/** A write and its right answer. */
function written(send, right) {
  return {
    call: function call(target, made, done) {
      if (target.answered) return send(target, made, done);
      send(target, made); // users wrote w: 0 like this
      done(null);
    },
    right: right
  };
}

function drained(cursor, target, each, done) {
  var found = plan.found(target);
  each(cursor, found.take, function (error) {
    done(error, found);
  });
}

/**
 * `driver` has what the drivers do not share: `insert`, `update`, `remove`, `findOne`, `find`,
 * `findAndModify` and `command`, and `each`, which reads a cursor to its end.
 */
module.exports = function kinds(driver) {
  return {
    insert_one: written(function send(target, made, done) {
      driver.insert(target, made.document, done);
    }, Boolean),
    insert_many: written(
      function send(target, made, done) {
        driver.insert(target, made.documents, done);
      },
      function right(answer, target, made) {
        return answer.length === made.documents.length;
      }
    ),
    find_one: { call: driver.findOne, right: plan.one },
    find: {
      call: function call(target, made, done) {
        drained(driver.find(target, made), target, driver.each, done);
      },
      right: plan.added
    },
    update_one: written(function send(target, made, done) {
      driver.update(target, made.filter, made.update, done);
    }, plan.isOne),
    replace_one: written(function send(target, made, done) {
      driver.update(target, made.filter, made.document, done);
    }, plan.isOne),
    delete_one: written(function send(target, made, done) {
      driver.remove(target, made.filter, done);
    }, plan.isOne),
    update_many: written(function send(target, made, done) {
      driver.update(target, made.filter, made.update, done);
    }, plan.counted),
    delete_many: written(function send(target, made, done) {
      driver.remove(target, made.filter, done);
    }, plan.counted),
    distinct: {
      call: function call(target, made, done) {
        target.collection.distinct(target.field, made.filter, done);
      },
      right: plan.values
    },
    count: {
      call: function call(target, made, done) {
        target.collection.count(made.filter, done);
      },
      right: plan.counted
    },
    estimated_count: {
      call: function call(target, made, done) {
        target.collection.count(done);
      },
      right: plan.counted
    },
    find_one_and_update: { call: driver.findAndModify, right: plan.one },
    command: { call: driver.command, right: plan.isOk },
    drop: {
      call: function call(target, made, done) {
        target.collection.drop(plan.gone(done));
      },
      right: plan.always
    }
  };
};

module.exports.drained = drained;
module.exports.written = written;
