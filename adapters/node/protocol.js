// The contract's formats (protocol/SPEC.md) in ES5, for Node.js 0.11 and later: lines, clock,
// schedule, samples. Newer features are used only if a check finds them.
'use strict';

var fs = require('fs');
var util = require('util');

var TWO_32 = Math.pow(2, 32);
exports.TWO_32 = TWO_32;

/** A refusal is answered with its own code, every other exception as `internal`. */
function Refusal(code, message) {
  this.code = code;
  this.message = message;
}
exports.Refusal = Refusal;

/**
 * The refusal for an error that a driver passes to a callback; in old drivers it may be a plain
 * object. Only their words, if anything, say that no server listens or that a password is wrong.
 */
exports.refused = function refused(error) {
  var text = error.message ? error.name + ': ' + error.message : util.inspect(error);
  var code = 'internal';
  if (error instanceof Refusal) return error;
  if (/MongoParse|MissingDependency|is not installed/.test(text)) {
    code = 'unsupported';
  } else if ([11, 18, 8000].indexOf(error.code) >= 0) {
    code = 'auth'; // UserNotFound, AuthenticationFailed, Atlas
  } else if (/connect|ECONN|ServerSelection|Network|socket|seed|ENOTFOUND|EAI_AGAIN/i.test(text)) {
    code = 'connect';
  } else if (/auth/i.test(text)) {
    code = 'auth';
  }
  return new Refusal(code, text);
};

/** The text of an error, cut: the message of a batch names each of its documents. */
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

/** Bytes from text. Before 4.5 `Buffer.from`, if it exists, is that of Uint8Array. */
exports.bytesOf = function bytesOf(text, encoding) {
  return Buffer.alloc ? Buffer.from(text, encoding) : new Buffer(text, encoding);
};

exports.copyOf = function copyOf(buffer, length) {
  var copy = exports.allocate(length === undefined ? buffer.length : length);
  buffer.copy(copy, 0, 0, copy.length);
  return copy;
};

/**
 * Little-endian fields: a DataView is ten times as fast as the buffer's own methods, and V8 treats
 * a Uint8Array as an array only since Node.js 4.
 */
function viewOf(buffer) {
  if (buffer instanceof Uint8Array) {
    return new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
  }
  return {
    getUint32: function getUint32(at) {
      return buffer.readUInt32LE(at);
    },
    setUint32: function setUint32(at, value) {
      buffer.writeUInt32LE(value, at);
    },
    setUint16: function setUint16(at, value) {
      buffer.writeUInt16LE(value, at);
    }
  };
}

function writeAll(file, bytes, length) {
  var at = 0;
  while (at < length) at += fs.writeSync(file, bytes, at, length - at);
}

/**
 * process.stdout would not do: old versions write to a pipe later, and an exit would lose the line.
 */
exports.printLine = function printLine(answer) {
  var bytes = exports.bytesOf('\x1e' + JSON.stringify(answer) + '\n', 'utf8');
  try {
    writeAll(1, bytes, bytes.length);
  } catch (_error) {
    process.exit(0); // the core has ended
  }
};

var epoch = { s: 0, ns: 0 };

exports.setEpoch = function setEpoch(epoch_ns) {
  epoch.s = Number(epoch_ns.slice(0, -9));
  epoch.ns = Number(epoch_ns.slice(-9));
};

/** CLOCK_MONOTONIC in ns since the epoch, as a pair, because it exceeds 2^53. */
function now_ns() {
  var time = process.hrtime();
  return (time[0] - epoch.s) * 1e9 + (time[1] - epoch.ns);
}
exports.now_ns = now_ns;

var HEADER_BYTES = 32;

/** The schedule as it is in the file: records are read in place, nothing is unpacked. */
function Schedule(path, lap_step) {
  this.lap_step = lap_step;
  this.bytes = fs.readFileSync(path);
  if (this.bytes.toString('binary', 0, 8) !== 'MDYNSCH2') throw new Error(path + ': no schedule');
  this.view = viewOf(this.bytes);
  this.record_bytes = this.view.getUint32(8, true);
  this.records = this.view.getUint32(12, true);
  this.slices = this.view.getUint32(16, true);
  this.lap_ns = this.u64(24);
  this.parts_at = HEADER_BYTES + this.records * this.record_bytes;
}
exports.Schedule = Schedule;

Schedule.prototype.u64 = function u64(at) {
  return this.view.getUint32(at, true) + this.view.getUint32(at + 4, true) * TWO_32;
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

/** Puts the next record of the worker's slice into the worker; false if it is exhausted. */
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

/** Values of documents, for item 0. */
Schedule.prototype.load = function load(worker, at) {
  worker.shift = this.bytes[at + 25] & 1 ? worker.lap * this.lap_step : 0;
  worker.key = this.u64(at + 8) + worker.shift;
  worker.document = this.view.getUint32(at + 16, true);
  worker.count = this.view.getUint32(at + 20, true);
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
var view = viewOf(buffer);

/** Two u32 instead of setBigUint64, because a BigInt would be an allocation per field. */
function setU64(at, value) {
  view.setUint32(at, value >>> 0, true);
  view.setUint32(at + 4, Math.floor(value / TWO_32), true);
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
  view.setUint32(at + 24, index, true);
  buffer[at + 28] = operation;
  buffer[at + 29] = outcome;
  view.setUint16(at + 30, worker, true);
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
