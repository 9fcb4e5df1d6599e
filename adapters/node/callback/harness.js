// Shared by the tests: schedules and samples, the adapter as a child process, and a runner,
// for node:test came with Node.js 18, and this runs on 0.11 too.
'use strict';

var assert = require('assert');
var childProcess = require('child_process');
var fs = require('fs');
var os = require('os');
var path = require('path');
var operations = require('./operations');
var protocol = require('./protocol');

var WORDS = process.argv.slice(2);
var dir = path.join(os.tmpdir(), 'mdyn-callback-' + process.pid);
var dialect = operations.dialect(WORDS[0], WORDS[1]);
var time = process.hrtime();
var epoch_ns = String(time[0]) + ('00000000' + time[1]).slice(-9);
var FOREVER = 9007199254740991;
var tests = [];

function test(name, act) {
  tests.push({ name: name, act: act });
}

/** A test that ends with its last line. */
function atOnce(name, act) {
  test(name, function (done) {
    act();
    done();
  });
}

function repeat(count, record) {
  var records = [];
  while (records.length < count) records.push(record);
  return records;
}

function writeSchedule(name, records, options) {
  var size = options.record_bytes || 24;
  var bytes = protocol.allocate(32 + records.length * size);
  var file = path.join(dir, name);
  bytes.write('MDYNSCH1', 0);
  bytes.writeUInt32LE(size, 8);
  bytes.writeUInt32LE(records.length, 12);
  bytes.writeUInt32LE(options.slices || 1, 16);
  bytes.writeUInt32LE(options.lap_ns || 0, 24);
  records.forEach(function (record, i) {
    var at = 32 + i * size;
    var intended = record.intended || 0;
    var key = record.key || 0;
    bytes.writeUInt32LE(intended % 4294967296, at);
    bytes.writeUInt32LE(Math.floor(intended / 4294967296), at + 4);
    bytes.writeUInt32LE(key % 4294967296, at + 8);
    bytes.writeUInt32LE(Math.floor(key / 4294967296), at + 12);
    bytes.writeUInt32LE(record.document || 0, at + 16);
    if (record.guid) bytes.write(record.guid, at + 24, 16, 'hex');
  });
  fs.writeFileSync(file, bytes);
  return file;
}

function u64(bytes, at) {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 4294967296;
}

function readSamples(file) {
  var bytes = fs.readFileSync(file);
  var samples = [];
  var at;
  assert.equal(bytes.length % 32, 0);
  for (at = 0; at < bytes.length; at += 32) {
    samples.push({
      intended: u64(bytes, at),
      start: u64(bytes, at + 8),
      service: u64(bytes, at + 16),
      index: bytes.readUInt32LE(at + 24),
      operation: bytes[at + 28],
      outcome: bytes[at + 29],
      worker: bytes.readUInt16LE(at + 30)
    });
  }
  return samples;
}

/** The adapter as the core has it: a child that is asked and answers, line by line. */
function start(ended) {
  var words = [path.join(__dirname, 'adapter.js')].concat(WORDS);
  var child = childProcess.spawn(process.execPath, words);
  var lines = [];
  var waiting = [];
  var rest = '';
  var log = '';
  child.stdout.setEncoding('utf8');
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', function (chunk) {
    log += chunk;
  });
  child.stdout.on('data', function (chunk) {
    var parts = (rest + chunk).split('\n');
    rest = parts.pop();
    lines = lines.concat(parts);
    while (lines.length > 0 && waiting.length > 0) waiting.shift()(JSON.parse(lines.shift()));
  });
  child.on('close', function (code, signal) {
    ended(code, signal, log);
  });
  function send(line) {
    child.stdin.write(line + '\n');
  }
  function next(answered) {
    if (lines.length > 0) answered(JSON.parse(lines.shift()));
    else waiting.push(answered);
  }
  return {
    child: child,
    send: send,
    next: next,
    ask: function ask(message, answered) {
      send(JSON.stringify(message));
      next(answered);
    }
  };
}

function greeted(ended, then) {
  var adapter = start(ended);
  var range = { min: 1, max: 1 };
  adapter.ask({ type: 'hello', protocol: range, epoch_ns: epoch_ns }, function (hello) {
    assert.equal(hello.type, 'hello');
    then(adapter, hello);
  });
}

function prepareMessage(name, workers, pacing, limits) {
  return {
    type: 'prepare',
    phase: name,
    role: 'worker',
    warmup: false,
    samples: path.join(dir, name + '.bin'),
    schedule: path.join(dir, name + '.schedule'),
    pools: [],
    document_form: 'native',
    workers: workers,
    first_worker: 0,
    limits: limits,
    pacing: pacing,
    counter: { first: 0, stride: 1, loaded: 0 },
    errors_consecutive_max: 10,
    operations: [{ name: 'noop', kind: 'noop', key: 'schedule' }]
  };
}

var passed = 0;
function next() {
  var it = tests.shift();
  if (!it) {
    fs.readdirSync(dir).forEach(function (name) {
      fs.unlinkSync(path.join(dir, name));
    });
    fs.rmdirSync(dir);
    console.log(passed + ' passed, 0 failed, on Node.js ' + process.versions.node);
    return;
  }
  console.log(it.name);
  it.act(function () {
    passed += 1;
    setImmediate(next);
  });
}

process.on('exit', function (code) {
  if (code === 0 && tests.length > 0) {
    console.log('a test never ended');
    process.exit(1);
  }
});

fs.mkdirSync(dir);
module.exports = {
  FOREVER: FOREVER,
  atOnce: atOnce,
  dialect: dialect,
  dir: dir,
  epoch_ns: epoch_ns,
  greeted: greeted,
  prepareMessage: prepareMessage,
  readSamples: readSamples,
  repeat: repeat,
  run: next,
  start: start,
  test: test,
  writeSchedule: writeSchedule
};
