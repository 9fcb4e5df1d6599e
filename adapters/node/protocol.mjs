// The contract's formats (protocol/SPEC.md): lines, clock, schedule, samples.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

export const TWO_32 = 2 ** 32;

/** A refusal is answered with its own code, every other exception as `internal`. */
export class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** What is told of an error: the message of a batch's names each of its documents. */
export const told = (message) => String(message).slice(0, 4096);

/** Node writes to a pipe synchronously on POSIX: the answer is flushed. */
export const printLine = (answer) => process.stdout.write(`\x1e${JSON.stringify(answer)}\n`);

const epoch = { s: 0, ns: 0 };

export function setEpoch(epoch_ns) {
  epoch.s = Number(BigInt(epoch_ns) / 1_000_000_000n);
  epoch.ns = Number(BigInt(epoch_ns) % 1_000_000_000n);
}

/**
 * CLOCK_MONOTONIC in ns since the epoch. A reading on Node 20 takes 41-46 ns by hrtime(), 35-50 by
 * hrtime.bigint() made a Number, 44-58 by performance.now(), whose origin can only be bracketed.
 * So the pair: exact, nothing is cheaper beyond the noise, and no BigInt lands on the heap.
 */
export function now_ns() {
  const [s, ns] = process.hrtime();
  return (s - epoch.s) * 1e9 + (ns - epoch.ns);
}

/** The same moment by the system's own count. */
export const ofSystem = (at_ns) => epoch.s * 1e9 + epoch.ns + at_ns;

const HEADER_BYTES = 32;

/** The schedule as it lies in the file: records are read where they are, nothing is unpacked. */
export class Schedule {
  constructor(path, lap_step) {
    this.lap_step = lap_step;
    this.bytes = readFileSync(path);
    if (this.bytes.toString('latin1', 0, 8) !== 'MDYNSCH2') throw new Error(`${path}: no schedule`);
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length);
    this.record_bytes = this.view.getUint32(8, true);
    this.records = this.view.getUint32(12, true);
    this.slices = this.view.getUint32(16, true);
    this.lap_ns = this.u64(24);
    this.parts_at = HEADER_BYTES + this.records * this.record_bytes;
  }

  u64(at) {
    return this.view.getUint32(at, true) + this.view.getUint32(at + 4, true) * TWO_32;
  }

  /** The w-th of the equal contiguous parts, with the position in it. */
  slice(w, limit) {
    const length = Math.floor(this.records / this.slices);
    const most = length === 0 ? 0 : (limit ?? Infinity);
    return { first: w * length, length, position: 0, lap: 0, taken: 0, limit: most };
  }

  /** Puts the next record of the worker's slice into the worker; false where it is exhausted. */
  take(worker) {
    const { slice } = worker;
    if (slice.taken >= slice.limit) return false;
    const at = HEADER_BYTES + (slice.first + slice.position) * this.record_bytes;
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
  }

  /** What documents are made of, for item 0. */
  load(worker, at) {
    worker.shift = this.bytes[at + 25] & 1 ? worker.lap * this.lap_step : 0;
    worker.key = this.u64(at + 8) + worker.shift;
    worker.document = this.view.getUint32(at + 16, true);
    worker.count = this.view.getUint32(at + 20, true);
    worker.guid_at = at + 32;
  }

  /** Part `number` of a bulk, in the worker's lap; returns its operation. */
  part(worker, number) {
    const at = this.parts_at + number * this.record_bytes;
    this.load(worker, at);
    return this.bytes[at + 24];
  }
}

const SAMPLES_MAX = 32768;
const SAMPLE_BYTES = 32;
const FLUSH_EVERY_NS = 1e9;
// All workers of a process are tasks of one thread, so they share one buffer: as many writes an
// operation as with one buffer each, without a mebibyte a worker.
const buffer = Buffer.alloc(SAMPLES_MAX * SAMPLE_BYTES);
const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);

/** Two u32 in place of setBigUint64: a BigInt would be an allocation a field. */
function setU64(at, value) {
  view.setUint32(at, value >>> 0, true);
  view.setUint32(at + 4, Math.floor(value / TWO_32), true);
}

export class Samples {
  constructor(path) {
    this.file = openSync(path, 'w');
    this.held = 0;
    this.due_ns = Infinity; // until a turn begins
  }

  begin(began_ns) {
    this.due_ns = began_ns + FLUSH_EVERY_NS;
  }

  add(intended_ns, start_ns, end_ns, index, operation, outcome, worker) {
    const at = this.held * SAMPLE_BYTES;
    setU64(at, intended_ns);
    setU64(at + 8, start_ns);
    setU64(at + 16, end_ns - start_ns);
    view.setUint32(at + 24, index, true);
    view.setUint8(at + 28, operation);
    view.setUint8(at + 29, outcome);
    view.setUint16(at + 30, worker, true);
    this.held += 1;
    if (this.held === SAMPLES_MAX || end_ns >= this.due_ns) {
      this.flush();
      this.begin(end_ns);
    }
  }

  /** Synchronous: an asynchronous write would still be reading while the buffer is filled again. */
  flush() {
    const length = this.held * SAMPLE_BYTES;
    for (let at = 0; at < length; ) at += writeSync(this.file, buffer, at, length - at);
    this.held = 0;
  }

  close() {
    closeSync(this.file);
  }
}
