// Messages for a consumer are stamped as their samples say, in every pacing, and a burst has all of
// them on their way before the first answer. On the server of MDYN_URI.
'use strict';

var assert = require('assert');
var fs = require('fs');
var path = require('path');
var documents = require('./documents');
var harness = require('./harness');
var protocol = require('./protocol');

var dialect = harness.dialect;
var STAMPS = [
  { path: ['_id'], as: 'int64', from: 'key' },
  { path: ['producer'], as: 'int32', from: 'producer' },
  { path: ['sequence'], as: 'int64', from: 'sequence' },
  { path: ['made_ns'], as: 'int64', from: 'made_ns' }
];

/** All documents of a collection, by this process: the drivers have little else in common. */
function allOf(database, collection, done) {
  dialect.connect(process.env.MDYN_URI, database, function (error, connection) {
    var found = [];
    var plan;
    assert.ok(!error, error);
    plan = connection.target({ collection: collection });
    plan.read = function (document) {
      found.push(document);
    };
    dialect.kinds.find.call(plan, { filter: {} }, function (failed) {
      assert.ok(!failed, failed);
      connection.close(function () {
        done(found);
      });
    });
  });
}

/** Inserts `count` messages by three workers; returns the samples and the documents. */
function insertMessages(mode, count, then) {
  var shared = mode === 'rate' || mode === 'burst';
  var name = 'messages_' + mode + '_' + count;
  var database = 'mdyn_callback_' + process.pid;
  var pool = path.join(harness.dir, name + '.bson');
  var long = { $numberLong: '0' };
  var records = harness.repeat(count, 0).map(function (none, i) {
    return { intended: i * 5e4 };
  });
  var limits = shared ? [count] : [count / 3, count / 3, count / 3];
  var message = harness.prepareMessage(name, 3, { mode: mode, size: 4, think_ns: 0 }, limits);
  var bytes = documents.render(
    {
      document: { _id: long, producer: { $numberInt: '0' }, sequence: long, made_ns: long }
    },
    dialect.types
  );
  fs.writeFileSync(pool, protocol.bytesOf(bytes, 'hex'));
  harness.writeSchedule(name + '.schedule', records, { slices: shared ? 1 : 3 });
  message.pools = [pool];
  message.first_worker = 4;
  message.counter.stride = 3;
  message.operations = [
    {
      kind: 'insert_one',
      collection: name,
      key: 'counter',
      documents: { pool: 0, stamps: STAMPS }
    }
  ];
  harness.greeted(
    function () {
      allOf(database, name, function (found) {
        then(harness.readSamples(path.join(harness.dir, name + '.bin')), found);
      });
    },
    function (adapter) {
      var uri = process.env.MDYN_URI;
      adapter.ask({ type: 'open', uri: uri, database: database }, function (opened) {
        assert.equal(opened.type, 'opened', JSON.stringify(opened));
        adapter.ask(message, function () {
          adapter.ask({ type: 'turn', start_ns: 0, until_ns: harness.FOREVER }, function (turned) {
            assert.deepEqual([turned.operations, turned.errors], [count, 0]);
            adapter.ask({ type: 'end' }, function () {
              adapter.child.stdin.end();
            });
          });
        });
      });
    }
  );
}

function onServer(name, act) {
  if (process.env.MDYN_URI) harness.test(name, act);
  else console.log(name + ': skipped, MDYN_URI is not set');
}

['awaited', 'window', 'rate', 'burst'].forEach(function (mode) {
  onServer('messages tell their samples: ' + mode, function (done) {
    insertMessages(mode, 60, function (samples, found) {
      var of = {};
      var indices = {};
      samples.forEach(function (it) {
        of[it.worker + ' ' + it.index] = it;
        indices[it.index] = true;
      });
      // The queue's number where it is shared, else that of the worker.
      assert.equal(Object.keys(indices).length, mode === 'rate' || mode === 'burst' ? 60 : 20);
      assert.equal(Object.keys(of).length, 60);
      assert.equal(found.length, 60);
      found.forEach(function (it) {
        var id = it.producer + ' ' + Number(it.sequence);
        var waited_ns = of[id].start - Number(it.made_ns);
        assert.ok(waited_ns >= 0 && waited_ns < 1e9, id + ': ' + waited_ns + ' ns');
        delete of[id];
      });
      assert.deepEqual(of, {});
      done();
    });
  });
});

onServer('a burst is on its way as a whole before the first answer', function (done) {
  insertMessages('burst', 3000, function (samples, found) {
    var last_start_ns = 0;
    var first_end_ns = harness.FOREVER;
    samples.forEach(function (it) {
      last_start_ns = Math.max(last_start_ns, it.start);
      first_end_ns = Math.min(first_end_ns, it.start + it.service);
    });
    assert.ok(last_start_ns < first_end_ns);
    assert.equal(found.length, 3000);
    done();
  });
});

onServer('the database of these tests is dropped', function (done) {
  var database = 'mdyn_callback_' + process.pid;
  dialect.connect(process.env.MDYN_URI, database, function (error, connection) {
    var plan = connection.target({});
    plan.options = plan.options || {};
    dialect.kinds.command.call(plan, { command: { dropDatabase: 1 } }, function (failed) {
      assert.ok(!error && !failed, failed);
      connection.close(done);
    });
  });
});
