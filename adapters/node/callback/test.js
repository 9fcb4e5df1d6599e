// Tests of the program for callbacks, in plain assertions. Arguments as of adapter.js. Vectors from
// MDYN_VECTORS, a server from MDYN_URI; all operations are the business of `mongodyno check`.
'use strict';

var assert = require('assert');
var fs = require('fs');
var path = require('path');
var documents = require('./documents');
var harness = require('./harness');
var operations = require('./operations');
var protocol = require('./protocol');

var vectors = process.env.MDYN_VECTORS || path.join(__dirname, '../../../protocol/vectors');
var dialect = harness.dialect;
var types = dialect.types;
var dir = harness.dir;
var FOREVER = harness.FOREVER;
var test = harness.test;
var atOnce = harness.atOnce;
var repeat = harness.repeat;
var writeSchedule = harness.writeSchedule;
var readSamples = harness.readSamples;
var greeted = harness.greeted;
var prepareMessage = harness.prepareMessage;

function jsonLines(file) {
  return fs.readFileSync(file, 'utf8').split('\n').filter(Boolean).map(JSON.parse);
}

/** Without the warnings of old drivers on a newer runtime, or without their native part. */
function complaints(log) {
  return log.split('\n').filter(function (line) {
    return line && !/c\+\+ bson extension|DeprecationWarning|--trace-/.test(line);
  });
}

function assertHolds(expected, actual, place) {
  if (expected === '$any') return assert.notEqual(actual, undefined, place);
  if (typeof expected !== 'object' || expected === null || Array.isArray(expected)) {
    return assert.deepEqual(actual, expected, place);
  }
  Object.keys(expected).forEach(function (name) {
    assertHolds(expected[name], (actual || {})[name], place + '.' + name);
  });
}

fs.readdirSync(path.join(vectors, 'documents')).forEach(function (name) {
  jsonLines(path.join(vectors, 'documents', name)).forEach(function (vector) {
    // The core checks whole doubles of mongolian.
    if (dialect.capabilities.whole_doubles === false && /double|pool type/.test(vector.name)) {
      return;
    }
    atOnce('document: ' + vector.name, function () {
      assert.equal(documents.render(vector, types), vector.bson);
    });
    atOnce('pool document: ' + vector.name, function () {
      var file = path.join(dir, 'one.bson');
      var bson = documents.render({ document: vector.document }, types);
      var pool, fresh;
      fs.writeFileSync(file, protocol.bytesOf(bson + bson, 'hex'));
      pool = documents.readPool(file, types);
      assert.equal(pool.length, 2);
      fresh = documents.pooled([pool[1]], [], types)({ document: 0, item: 0 });
      assert.equal(types.serialize(fresh).toString('hex'), bson);
    });
  });
});

function conversation(file, done) {
  var text = fs.readFileSync(file, 'utf8').split('{dir}').join(dir);
  var told = text.split('{epoch}').join(harness.epoch_ns);
  var lines = told.split('\n').filter(Boolean).map(JSON.parse);
  var adapter = harness.start(function (code, signal, log) {
    assert.deepEqual([code, lines.length, complaints(log)], [0, 0, []]);
    done();
  });
  function step() {
    var line = lines.shift();
    if (!line) return;
    if (line.send) adapter.send(JSON.stringify(line.send));
    if (line.send_line !== undefined) adapter.send(line.send_line);
    if (!line.expect) return step();
    adapter.next(function (answer) {
      assertHolds(line.expect, answer, file);
      step();
    });
  }
  step();
}

['valid', 'invalid'].forEach(function (folder) {
  fs.readdirSync(path.join(vectors, folder)).forEach(function (name) {
    test('conversation: ' + folder + '/' + name, function (done) {
      writeSchedule('noop.schedule', repeat(64, {}), { slices: 2 });
      conversation(path.join(vectors, folder, name), done);
    });
  });
});

atOnce('schedule: equal slices, laps, limits', function () {
  var records = [5, 6, 7, Math.pow(2, 40) + 3].map(function (key, i) {
    return { intended: 10 * i, key: key, document: i };
  });
  var file = writeSchedule('s.schedule', records, { slices: 2, lap_ns: 1000 });
  var schedule = new protocol.Schedule(file);
  var worker = { slice: schedule.slice(1, 3) };
  var taken = [];
  while (schedule.take(worker)) {
    taken.push([worker.index, worker.lap, worker.intended_ns, worker.record_key]);
  }
  assert.deepEqual(taken, [
    [0, 0, 20, 7],
    [1, 0, 30, Math.pow(2, 40) + 3],
    [2, 1, 1020, 7]
  ]);
  fs.writeFileSync(file, 'MDYNSCH2 and nothing that follows it');
  assert.throws(function () {
    new protocol.Schedule(file);
  });
});

atOnce('samples: 32 bytes, written when the buffer is full', function () {
  var file = path.join(dir, 'samples.bin');
  var samples = new protocol.Samples(file, true);
  var start_ns = Math.pow(2, 33) + 5;
  var long_ns = Math.pow(2, 40) + 1;
  var i, read;
  samples.add(FOREVER, start_ns, start_ns + long_ns, 4294967295, 3, 2, 65535);
  for (i = 1; i <= 32768; i += 1) samples.add(i, i, i, i, 0, 0, 0);
  assert.equal(fs.readFileSync(file).length, 32768 * 32);
  samples.close();
  read = readSamples(file);
  assert.deepEqual(read[0], {
    intended: FOREVER,
    start: start_ns,
    service: long_ns,
    index: 4294967295,
    operation: 3,
    outcome: 130,
    worker: 65535
  });
  assert.equal(read.length, 32769);
  assert.equal(read[32768].index, 32768);
});

atOnce('keys: counter and latest', function () {
  var connection = {
    resolved: {},
    target: function () {
      return {};
    }
  };
  var parts = {
    dialect: dialect,
    connection: connection,
    pools: [[{ _id: 0 }]],
    totals: {},
    counter: { first: 100, stride: 4, loaded: 50 }
  };
  var stamps = [{ path: ['_id'], as: 'int32', from: 'key' }];
  var insert = operations.prepare(
    {
      kind: 'insert_many',
      key: 'counter',
      batch: 3,
      documents: { pool: 0, stamps: stamps }
    },
    parts
  );
  var latest = operations.prepare(
    {
      kind: 'find_one',
      key: 'latest',
      filter: { document: { _id: { $numberInt: '0' } }, stamps: stamps }
    },
    parts
  );
  var worker = { number: 2, made: 0, document: 0, item: 0, index: 0, record_key: 0 };
  function keyAt(back) {
    worker.record_key = back;
    return latest.make(worker).filter._id;
  }
  function inserted() {
    return insert.make(worker).documents.map(function (it) {
      return it._id;
    });
  }
  assert.deepEqual([keyAt(0), keyAt(49), keyAt(60)], [49, 0, 0]);
  assert.deepEqual(inserted(), [102, 106, 110]);
  assert.deepEqual(inserted(), [114, 118, 122]);
  assert.deepEqual([keyAt(0), keyAt(5), keyAt(6)], [122, 102, 49]);
});

atOnce('documents are deep copies', function () {
  var pool = [{ a: { list: [{ n: 1 }] }, at: new Date(5) }];
  var fresh = documents.pooled(pool, [], types)({ document: 0, item: 0 });
  fresh.a.list[0].n = 2;
  fresh.at.setTime(6);
  assert.deepEqual(pool, [{ a: { list: [{ n: 1 }] }, at: new Date(5) }]);
});

atOnce('credentials are masked, and options the driver does not know are refused', function () {
  var text = protocol.masked('bad "mongodb://me:p@ss@host:1/x"');
  assert.equal(text, 'bad "mongodb://***@host:1/x"');
  assert.throws(
    function () {
      operations.split('mongodb://h/?w=1&compressors=zlib', ['w'], 'it');
    },
    function (error) {
      return error.code === 'unsupported' && /compressors/.test(error.message);
    }
  );
});

test('SIGTERM ends a long turn of noop with its samples', function (done) {
  function ended(code) {
    var samples = readSamples(path.join(dir, 'long.bin'));
    var first = samples.filter(function (it) {
      return it.worker === 0;
    }).length;
    assert.equal(code, 0);
    assert.ok(samples.length > 1000);
    assert.ok(Math.abs(first - samples.length / 2) <= 1, 'the workers take turns');
    done();
  }
  greeted(ended, function (adapter, hello) {
    assert.equal(hello.runtime.version, process.versions.node);
    writeSchedule('long.schedule', repeat(4, {}), { slices: 2 });
    adapter.ask(prepareMessage('long', 2, { mode: 'awaited' }, null), function (armed) {
      assert.equal(armed.type, 'armed');
      adapter.send(JSON.stringify({ type: 'turn', start_ns: 0, until_ns: FOREVER }));
      setTimeout(function () {
        adapter.child.kill('SIGTERM');
      }, 300);
    });
  });
});

test('end of input', function (done) {
  greeted(
    function (code) {
      assert.equal(code, 0);
      done();
    },
    function (adapter) {
      adapter.child.stdin.end();
    }
  );
});

['awaited', 'window', 'rate', 'burst'].forEach(function (mode) {
  test('pacing ' + mode + ': two turns, every operation once', function (done) {
    var shared = mode === 'rate' || mode === 'burst';
    var records = repeat(40, 0).map(function (none, i) {
      return { intended: i * 1e6 };
    });
    var limits = shared ? [40] : [10, 10, 10, 10];
    var pacing = { mode: mode, size: 3, think_ns: 0 };
    writeSchedule(mode + '.schedule', records, { slices: shared ? 1 : 4 });
    greeted(
      function () {
        done();
      },
      function (adapter) {
        adapter.ask(prepareMessage(mode, 4, pacing, limits), function (armed) {
          assert.equal(armed.type, 'armed');
          adapter.ask({ type: 'clock' }, function (clock) {
            turns(clock.now_ns + 20e6);
          });
        });
        function turns(t0) {
          adapter.ask({ type: 'turn', start_ns: t0, until_ns: t0 + 20e6 }, function (first) {
            assert.ok(first.began_ns >= t0);
            adapter.ask({ type: 'turn', start_ns: 0, until_ns: FOREVER }, function (second) {
              assert.equal(second.exhausted, true);
              assert.equal(first.operations + second.operations, 40);
              adapter.ask({ type: 'end' }, function (ended) {
                assert.equal(ended.samples, 40);
                examine(t0, first.began_ns);
              });
            });
          });
        }
        function examine(planned_ns, began_ns) {
          var samples = readSamples(path.join(dir, mode + '.bin'));
          var firsts = samples.filter(function (it) {
            return it.index === 0;
          });
          // On a busy machine the turn may come after the time it was to begin at.
          var t0 = shared ? firsts[0].intended : planned_ns;
          assert.ok(planned_ns <= t0 && t0 <= began_ns);
          assert.equal(firsts.length, shared ? 1 : 4);
          samples.forEach(function (it) {
            if (mode === 'rate') assert.equal(it.intended, t0 + it.index * 1e6);
            else assert.equal(it.intended, mode === 'burst' ? t0 : it.start);
            assert.ok(it.start >= it.intended);
          });
          adapter.child.stdin.end();
        }
      }
    );
  });
});

test('open: no server there', function (done) {
  greeted(
    function () {
      done();
    },
    function (adapter) {
      var uri = 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200';
      adapter.ask({ type: 'open', uri: uri, database: 'mdyn_x', role: 'worker' }, function (said) {
        assert.equal(said.code, 'connect', JSON.stringify(said));
        adapter.ask({ type: 'clock' }, function (clock) {
          assert.equal(clock.type, 'clock');
          adapter.child.stdin.end();
        });
      });
    }
  );
});

require('./test_messages');
harness.run();
