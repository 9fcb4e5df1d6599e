// Tests of old drivers and old runtimes, in plain assertions: node:test came with Node.js 18, and
// this runs on 0.11 too. `mongodyno check` tests the rest. Arguments as for adapter.js; MDYN_URI
// names a server for the tests that need one.
'use strict';

var assert = require('assert');
var childProcess = require('child_process');
var fs = require('fs');
var os = require('os');
var path = require('path');
var documents = require('./documents');
var phases = require('./phase');
var plan = require('./plan');
var protocol = require('./protocol');
var workers = require('./workers');
var connecting = require('./dialects/connecting');

var FOREVER = 9007199254740991;
var WORDS = process.argv.slice(2);
var dialect = plan.dialect(WORDS[0], WORDS[1]);
var types = dialect.types;
var dir = path.join(os.tmpdir(), 'mdyn-node-' + process.pid);
var database = 'mdyn_node_' + process.pid;
var tests = [];
var passed = 0;
var finished = false;

function test(name, act) {
  tests.push({ name: name, act: act });
}

function onServer(name, act) {
  if (process.env.MDYN_URI) test(name, act);
  else console.log(name + ': skipped, MDYN_URI is not set');
}

function written(name, bytes) {
  fs.writeFileSync(path.join(dir, name), bytes);
  return path.join(dir, name);
}

/** A phase of awaited operations, one record for each key. */
function prepareMessage(keys, fields) {
  var schedule = protocol.allocate(32 + keys.length * 32);
  var message = {
    type: 'prepare',
    samples: path.join(dir, 'samples'),
    pools: [],
    workers: 1,
    first_worker: 0,
    limits: null,
    pacing: { mode: 'awaited' },
    lap_step: 0,
    item_step: 0,
    errors_consecutive_max: 10,
    operations: [{ name: 'noop', kind: 'noop' }]
  };
  Object.keys(fields).forEach(function (name) {
    message[name] = fields[name];
  });
  schedule.write('MDYNSCH2', 0);
  [32, keys.length, message.workers].forEach(function (value, i) {
    schedule.writeUInt32LE(value, 8 + i * 4);
  });
  keys.forEach(function (key, i) {
    schedule.writeUInt32LE(key, 32 + i * 32 + 8);
  });
  message.schedule = written('schedule', schedule);
  return message;
}

function entry(uri, options) {
  return { uri: uri, hosts: [], user: null, password: null, options: options };
}

test('what an old driver calls back with is told, though it is no error', function (done) {
  var refusal = protocol.refused({ ok: 0, err: 'no open connections' });
  assert.strictEqual(refusal.code, 'connect');
  assert.strictEqual(refusal.message, "{ ok: 0, err: 'no open connections' }");
  assert.strictEqual(protocol.refused(new Error('bad auth')).message, 'Error: bad auth');
  done();
});

test('documents are deep copies, of bytes as well', function (done) {
  var bytes = types.binary(protocol.bytesOf('abcd', 'utf8'), 0);
  var pool = [{ a: { list: [{ n: 1 }] }, at: new Date(5), bytes: bytes }];
  var fresh = documents.pooled(pool, [], types)({ document: 0 });
  fresh.a.list[0].n = 2;
  fresh.at.setTime(6);
  assert.deepEqual([pool[0].a.list[0].n, pool[0].at.getTime()], [1, 5]);
  assert.notEqual(fresh.bytes, bytes);
  done();
});

test('options: each where the driver wants it; others are refused', function (done) {
  var known = { connectTimeoutMS: 'number a.b', journal: 'boolean j', readPreference: 'text uri' };
  function read(options) {
    return connecting.read(entry('mongodb://h/?x', options), known, 'it');
  }
  var given = { connecttimeoutms: '5', journal: 'true', readPreference: 'nearest' };
  var found = read(given);
  assert.deepEqual(found.settings, { a: { b: 5 }, j: true });
  assert.equal(found.address, 'mongodb://h/?readPreference=nearest');
  [{ zz: '1' }, { connectTimeoutMS: 'x' }, { journal: 'yes' }].forEach(function (options) {
    assert.throws(read.bind(null, options), function (error) {
      return error.code === 'unsupported';
    });
  });
  done();
});

test('errors: the code or 0, timeouts of the driver and of the server', function (done) {
  function thrown(fields) {
    var phase = new phases.Phase({ errors_consecutive_max: 1 });
    var outcome = phase.thrown(fields);
    return [outcome, phase.errors[Object.keys(phase.errors)[0]].code];
  }
  assert.deepEqual(thrown({ name: 'MongoServerError', code: 11000 }), [2, 11000]);
  assert.deepEqual(thrown({ name: 'MongoError', result: { code: 50 } }), [3, 50]);
  assert.deepEqual(thrown({ name: 'MongoNetworkTimeoutError' }), [3, 0]);
  assert.deepEqual(thrown({ name: 'MongoError', message: 'connection 1 to h timed out' }), [3, 0]);
  assert.deepEqual(thrown({ name: 'Error', code: 'ECONNRESET' }), [2, 0]);
  done();
});

test('open: no server there', function (done) {
  var wait = { serverSelectionTimeoutMS: '200' };
  var uri = 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200';
  dialect.connect(entry(uri, wait), database, function (error) {
    assert.ok(error && /connect|ECONN|seed/i.test(error.message), error);
    done();
  });
});

/** The adapter as the core starts it, in a turn that only `stop` ends; `then` gets the code. */
function turning(message, stop, then) {
  var script = path.join(__dirname, 'adapter.js');
  var child = childProcess.spawn(process.execPath, [script].concat(WORDS));
  var said = '';
  child.stdin.write(JSON.stringify({ type: 'hello', protocol: 2, epoch_ns: '0' }) + '\n');
  child.stdin.write(JSON.stringify(message) + '\n');
  child.stdin.write(JSON.stringify({ type: 'turn', until_ns: FOREVER }) + '\n');
  child.stdout.on('data', function (chunk) {
    said += chunk;
    if (/"ready"/.test(said)) setTimeout(stop.bind(null, child), 300);
  });
  child.on('close', then);
}

function terminate(child) {
  child.kill('SIGTERM');
}

test('SIGTERM is seen among no-ops, that call back at once', function (done) {
  turning(prepareMessage([1, 2, 3, 4], { workers: 2 }), terminate, function (code) {
    var bytes = fs.readFileSync(path.join(dir, 'samples'));
    var second = 0;
    var at;
    assert.equal(code, 0);
    assert.ok(bytes.length > 32 * 1000);
    for (at = 0; at < bytes.length; at += 32) second += bytes[at + 30];
    assert.ok(Math.abs(second - bytes.length / 64) <= 1, 'the workers take turns');
    done();
  });
});

test('SIGTERM and the end of stdin are seen by sleepers', function (done) {
  var thinking = prepareMessage([1], { pacing: { mode: 'awaited', think_ns: 60e9 } });
  function endStdin(child) {
    child.stdin.end();
  }
  turning(thinking, terminate, function (code) {
    assert.equal(code, 0);
    turning(thinking, endStdin, function (ended) {
      assert.equal(ended, 0);
      done();
    });
  });
});

/** One phase of one operation; `then` gets the answer to `end`. */
function phase(client, definition, keys, then) {
  var connection = { databases: [client.database], deal: 'worker', acknowledged: true };
  var pools = [path.join(dir, 'pool')];
  var fields = { operations: [definition], limits: [keys.length], pools: pools };
  var running = new workers.Workers(prepareMessage(keys, fields), connection, dialect);
  running.turn({ until_ns: FOREVER }, function () {
    then(running.ended());
  });
}

onServer('what no server of our own can answer', function (done) {
  var stamps = [{ path: ['_id'], as: 'int32', from: 'key' }];
  var parts = ['filter', 'documents', 'update', 'projection'];
  var steps = [
    ['insert_one', { documents: 0 }, [1, 2], [0, 0, undefined]],
    ['find_one', { filter: 1, projection: 3 }, [1, 2, 3], [2, 8, 1]],
    ['find', { filter: 1, projection: 3 }, [1, 2, 3], [2, 8, undefined]],
    // Restored.
    ['find_one_and_update', { filter: 1, update: 2 }, [1, 2, 3], [2, 8, 1]],
    ['read_modify_write', { filter: 1, update: 2 }, [1, 2, 3], [2, 28, 1]],
    ['drop', {}, [0, 0], [0, 0, undefined]]
  ];
  var pool = [{ _id: 0, n: 4, a: 'x' }, { _id: 0 }, { $inc: { n: 10 } }, { n: 1 }];
  written('pool', Buffer.concat(pool.map(types.serialize)));
  dialect.connect(entry(process.env.MDYN_URI, {}), database, function (error, client) {
    assert.ok(!error, error);
    function next() {
      var step = steps.shift();
      var definition;
      if (!step) return client.close(done);
      definition = { name: step[0], kind: step[0], collection: 'items', sum_field: 'n' };
      parts.forEach(function (part) {
        var from = { pool: 0, document: step[1][part], stamps: [] };
        if (from.document === undefined) return;
        if (part === 'filter' || part === 'documents') from.stamps = stamps;
        definition[part] = from;
      });
      phase(client, definition, step[2], function (ended) {
        var failed = ended.errors[0] && ended.errors[0].count;
        var told = [ended.totals.documents, ended.totals.sum, failed];
        assert.deepEqual(told, step[3], step[0] + ': ' + JSON.stringify(ended));
        next();
      });
    }
    next();
  });
});

/** 500 messages after a sentinel, which come in batches. */
function consuming(client, done) {
  var fields = { collection: 'm', expected: 500, idle_ms: 5000, marker_field: 'last' };
  var message = prepareMessage([], { consumer: fields });
  var consumer = new dialect.Consumer(message, { databases: [client.database] }, dialect);
  var messages = [];
  while (messages.length < 500) {
    messages.push({ producer: 1, sequence: messages.length, made_ns: 1 });
  }
  consumer.ready(function (failed) {
    assert.ok(!failed, failed);
    client.database
      .collection('m')
      .insertMany(messages)
      .then(function () {
        consumer.turn({ until_ns: FOREVER }, function (error, turned) {
          var bytes = fs.readFileSync(message.samples);
          var starts = {};
          var at;
          assert.ok(turned.exhausted, error);
          for (at = 0; at < bytes.length; at += 32)
            starts[bytes.toString('hex', at + 8, at + 16)] = 1;
          assert.ok(Object.keys(starts).length > 450, 'a reading for each, not for a batch');
          consumer.end(done);
        });
      });
  });
}

if (dialect.Consumer) {
  onServer('the consumer reads the clock for each message', function (done) {
    dialect.connect(entry(process.env.MDYN_URI, {}), database, function (error, client) {
      var capped = { capped: true, size: 1 << 20 };
      assert.ok(!error, error);
      client.database
        .createCollection('m', capped)
        .then(function (collection) {
          return collection.insertOne({ sentinel: true });
        })
        .then(function () {
          consuming(client, function () {
            client.close(done);
          });
        });
    });
  });
}

function next() {
  var it = tests.shift();
  if (it) {
    console.log(it.name);
    return it.act(function () {
      passed += 1;
      setImmediate(next);
    });
  }
  fs.readdirSync(dir).forEach(function (name) {
    fs.unlinkSync(path.join(dir, name));
  });
  fs.rmdirSync(dir);
  console.log(passed + ' passed, 0 failed, on Node.js ' + process.versions.node);
  finished = true;
  process.exit(0); // old drivers keep a timer
}

process.on('exit', function (code) {
  if (code === 0 && !finished) process.exit(1); // a test never called back
});

fs.mkdirSync(dir);
next();
