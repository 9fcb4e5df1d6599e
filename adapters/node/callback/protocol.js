// The contract's formats (protocol/SPEC.md) in ES5, for Node.js 0.11 and later: lines, clock,
// schedule, samples. Newer features are used only where a check finds them.
'use strict';

var fs = require('fs');

var TWO_32 = Math.pow(2, 32);
exports.TWO_32 = TWO_32;

/** A refusal is answered with its own code, every other exception as `internal`. */
function Refusal(code, message) {
  this.code = code;
  this.message = message;
}
exports.Refusal = Refusal;

/** What is told of an error: the message of a batch's names each of its documents. */
exports.told = function told(message) {
  return String(message).slice(0, 4096);
};

/** Zeroed. `new Buffer`, the only way before 4.5, is not zeroed and warns since 10. */
exports.allocate = function allocate(size) {
  var buffer;
  if (Buffer.alloc) return Buffer.alloc(size);
  buffer = new Buffer(size);
  buffer.fill(0);
  return buffer;
};

/** Bytes from text. Before 4.5 `Buffer.from` is that of Uint8Array, if there is one at all. */
exports.bytesOf = function bytesOf(text, encoding) {
  return Buffer.alloc ? Buffer.from(text, encoding) : new Buffer(text, encoding);
};

exports.copyOf = function copyOf(buffer, length) {
  var copy = exports.allocate(length === undefined ? buffer.length : length);
  buffer.copy(copy, 0, 0, copy.length);
  return copy;
};

function writeAll(file, bytes, length) {
  var at = 0;
  while (at < length) at += fs.writeSync(file, bytes, at, length - at);
}

/** Not by process.stdout: old versions write to a pipe later, and an exit would lose the line. */
exports.printLine = function printLine(answer) {
  var bytes = exports.bytesOf('\x1e' + JSON.stringify(answer) + '\n', 'utf8');
  try {
    writeAll(1, bytes, bytes.length);
  } catch (_error) {
    process.exit(0); // the core is gone
  }
};

var epoch = { s: 0, ns: 0 };

exports.setEpoch = function setEpoch(epoch_ns) {
  epoch.s = Number(epoch_ns.slice(0, -9));
  epoch.ns = Number(epoch_ns.slice(-9));
};

/** CLOCK_MONOTONIC in ns since the epoch, as a pair, for it exceeds 2^53. */
function now_ns() {
  var time = process.hrtime();
  return (time[0] - epoch.s) * 1e9 + (time[1] - epoch.ns);
}
exports.now_ns = now_ns;

var HEADER_BYTES = 32;

/** The schedule as it lies in the file: records are read where they are, nothing is unpacked. */
function Schedule(path, lap_step) {
  this.lap_step = lap_step;
  this.bytes = fs.readFileSync(path);
  if (this.bytes.toString('binary', 0, 8) !== 'MDYNSCH2') throw new Error(path + ': no schedule');
  this.record_bytes = this.bytes.readUInt32LE(8);
  this.records = this.bytes.readUInt32LE(12);
  this.slices = this.bytes.readUInt32LE(16);
  this.lap_ns = this.u64(24);
  this.parts_at = HEADER_BYTES + this.records * this.record_bytes;
}
exports.Schedule = Schedule;

Schedule.prototype.u64 = function u64(at) {
  return this.bytes.readUInt32LE(at) + this.bytes.readUInt32LE(at + 4) * TWO_32;
};

/** The w-th of the equal contiguous parts, with the position in it. */
Schedule.prototype.slice = function slice(w, limit) {
  var length = Math.floor(this.records / this.slices);
  var most = limit === undefined || limit === null ? Infinity : limit;
  return {
    first: w * length,
    length: length,
    position: 0,
    lap: 0,
    taken: 0,
    limit: length ? most : 0
  };
};

/** Puts the next record of the worker's slice into the worker; false where it is exhausted. */
Schedule.prototype.take = function take(worker) {
  var slice = worker.slice;
  var at;
  if (slice.taken >= slice.limit) return false;
  at = HEADER_BYTES + (slice.first + slice.position) * this.record_bytes;
  worker.index = slice.taken;
  worker.lap = slice.lap;
  worker.intended_ns = this.u64(at) + slice.lap * this.lap_ns;
  worker.operation = this.bytes[at + 24];
  worker.sequence = slice.taken;
  this.load(worker, at);
  slice.taken += 1;
  slice.position += 1;
  if (slice.position === slice.length) {
    slice.position = 0;
    slice.lap += 1;
  }
  return true;
};

/** What documents are made of, for item 0. */
Schedule.prototype.load = function load(worker, at) {
  worker.shift = this.bytes[at + 25] & 1 ? worker.lap * this.lap_step : 0;
  worker.key = this.u64(at + 8) + worker.shift;
  worker.document = this.bytes.readUInt32LE(at + 16);
  worker.count = this.bytes.readUInt32LE(at + 20);
  worker.guid_at = at + 32;
};

/** Part `number` of a bulk, in the worker's lap; returns its operation. */
Schedule.prototype.part = function part(worker, number) {
  var at = this.parts_at + number * this.record_bytes;
  this.load(worker, at);
  return this.bytes[at + 24];
};

var SAMPLES_MAX = 32768;
var SAMPLE_BYTES = 32;
var FLUSH_EVERY_NS = 1e9;
// All workers of a process share one thread, and so one buffer.
var buffer = exports.allocate(SAMPLES_MAX * SAMPLE_BYTES);

function setU64(at, value) {
  buffer.writeUInt32LE(value >>> 0, at);
  buffer.writeUInt32LE(Math.floor(value / TWO_32), at + 4);
}

function Samples(path) {
  this.file = fs.openSync(path, 'w');
  this.held = 0;
  this.due_ns = Infinity; // until a turn begins
}
exports.Samples = Samples;

Samples.prototype.begin = function begin(began_ns) {
  this.due_ns = began_ns + FLUSH_EVERY_NS;
};

Samples.prototype.add = function add(
  intended_ns,
  start_ns,
  end_ns,
  index,
  operation,
  outcome,
  worker
) {
  var at = this.held * SAMPLE_BYTES;
  setU64(at, intended_ns);
  setU64(at + 8, start_ns);
  setU64(at + 16, end_ns - start_ns);
  buffer.writeUInt32LE(index, at + 24);
  buffer[at + 28] = operation;
  buffer[at + 29] = outcome;
  buffer.writeUInt16LE(worker, at + 30);
  this.held += 1;
  if (this.held === SAMPLES_MAX || end_ns >= this.due_ns) {
    this.flush();
    this.begin(end_ns);
  }
};

Samples.prototype.flush = function flush() {
  writeAll(this.file, buffer, this.held * SAMPLE_BYTES);
  this.held = 0;
};

Samples.prototype.close = function close() {
  fs.closeSync(this.file);
};
