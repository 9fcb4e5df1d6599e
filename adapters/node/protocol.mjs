// The contract's formats (protocol/SPEC.md): lines, clock, schedule, samples, templates, stamps.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { Binary, Double, Int32, Long, ObjectId } from 'mongodb';
// The driver's own encoder: js-bson, or bson-ext where driver 4 found it.
import { deserialize, serialize } from 'mongodb/lib/bson.js';

const TWO_32 = 2 ** 32;

/** A refusal is answered with its own code, every other exception as `internal`. */
export class Refusal extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** A password never leaves the process: all between `//` and the last `@` is cut. */
export const masked = (text) => String(text).replace(/:\/\/[^\s"']*@/g, '://***@');

export function parseLine(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    throw new Refusal('protocol', 'the line is no JSON');
  }
  if (typeof message?.type === 'string') return message;
  throw new Refusal('protocol', 'the line is no JSON object with a type');
}

/** Node writes to a pipe synchronously on POSIX: the answer is flushed. */
export const printLine = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

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
  constructor(path) {
    this.bytes = readFileSync(path);
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length);
    this.record_bytes = this.view.getUint32(8, true);
    this.records = this.view.getUint32(12, true);
    this.slices = this.view.getUint32(16, true);
    this.lap_ns = this.u64(24);
    const length = HEADER_BYTES + this.records * this.record_bytes;
    if (this.bytes.toString('latin1', 0, 8) !== 'MDYNSCH1' || this.bytes.length !== length) {
      throw new Error('the schedule file is not what its header should say');
    }
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
    worker.record_key = this.u64(at + 8);
    worker.document = this.view.getUint32(at + 16, true);
    worker.operation = this.bytes[at + 20];
    worker.guid_at = at + 24;
    slice.taken += 1;
    slice.position += 1;
    if (slice.position === slice.length) {
      slice.position = 0;
      slice.lap += 1;
    }
    return true;
  }
}

const SAMPLES_MAX = 32768;
const SAMPLE_BYTES = 32;
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
  constructor(path, warmup) {
    this.file = openSync(path, 'w');
    this.flags = warmup ? 128 : 0;
    this.held = 0;
    this.total = 0;
  }

  add(intended_ns, start_ns, end_ns, index, operation, outcome, worker) {
    if (this.held === SAMPLES_MAX) this.flush();
    const at = this.held * SAMPLE_BYTES;
    setU64(at, intended_ns);
    setU64(at + 8, start_ns);
    setU64(at + 16, end_ns - start_ns);
    view.setUint32(at + 24, index, true);
    view.setUint8(at + 28, operation);
    view.setUint8(at + 29, outcome | this.flags);
    view.setUint16(at + 30, worker, true);
    this.held += 1;
    this.total += 1;
  }

  /** Synchronous: an asynchronous write would still be reading while the buffer is filled again. */
  flush() {
    const length = this.held * SAMPLE_BYTES;
    for (let at = 0; at < length; ) at += writeSync(this.file, buffer, at, length - at);
    this.held = 0;
  }

  close() {
    this.flush();
    closeSync(this.file);
  }
}

/** A plain number encodes as int32 where it is one; only such a double needs the wrapper. */
const plainDouble = (value) => (value === (value | 0) ? new Double(value) : value);
const isPlain = (value) => Object.getPrototypeOf(value) === Object.prototype;

/**
 * Wrappers become plain numbers where these encode to the same bytes: the documents an application
 * holds. Decoding with promoteValues would make int32 of small int64 and of whole doubles.
 */
function plain(value) {
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof Int32) return value.valueOf();
  if (value instanceof Double) return plainDouble(value.valueOf());
  if (Array.isArray(value)) return value.map(plain);
  if (isPlain(value)) for (const name of Object.keys(value)) value[name] = plain(value[name]);
  return value;
}

export function readPool(path) {
  const bytes = readFileSync(path);
  const options = { promoteValues: false, promoteLongs: false, bsonRegExp: true };
  const pool = [];
  for (let at = 0; at < bytes.length; at += bytes.readInt32LE(at)) {
    const document = bytes.subarray(at, at + bytes.readInt32LE(at));
    pool.push(plain(deserialize(document, options)));
  }
  return pool;
}

const EXTENDED = {
  $numberInt: Number,
  $numberLong: (text) => Long.fromString(text),
  $numberDouble: (text) => plainDouble(Number(text)),
  $oid: (hex) => new ObjectId(hex),
  $date: ({ $numberLong }) => new Date(Number($numberLong)),
  $binary: ({ base64, subType }) =>
    new Binary(Buffer.from(base64, 'base64'), parseInt(subType, 16)),
};

/** Not the driver's EJSON: that also rewrites operators of filters, as `$regex`. */
function fromExtended(value) {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(fromExtended);
  const [name, ...more] = Object.keys(value);
  if (more.length === 0 && Object.hasOwn(EXTENDED, name)) return EXTENDED[name](value[name]);
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fromExtended(v)]));
}

/** A deep copy; structuredClone would lose the classes. Rare types, all immutable, are shared. */
function copy(value) {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(copy);
  if (isPlain(value)) {
    const fresh = { ...value };
    for (const name in fresh) {
      if (typeof fresh[name] === 'object') fresh[name] = copy(fresh[name]);
    }
    return fresh;
  }
  if (value instanceof Long) return new Long(value.low, value.high, value.unsigned);
  if (value instanceof Double) return new Double(value.value);
  if (value instanceof Date) return new Date(value.getTime());
  if (value instanceof ObjectId) return new ObjectId(Buffer.from(value.id));
  if (value instanceof Binary) {
    return new Binary(Buffer.from(value.buffer.subarray(0, value.position)), value.sub_type);
  }
  return value;
}

/** The values for stamps by worker; its clocks are `CLOCKS`, those of `render` are inputs. */
const SOURCES = {
  key: (worker) => worker.key,
  sequence: (worker) => worker.index + worker.item,
  producer: (worker) => worker.number,
  made_ns: (worker) => worker.clocks.made_ns(),
  time_ms: (worker) => worker.clocks.time_ms(),
};
export const CLOCKS = { made_ns: now_ns, time_ms: Date.now };

const FORMS = {
  int32: (value) => value | 0,
  int64: (value) => Long.fromNumber(value),
  double: (value) => new Double(value),
  date: (value) => new Date(value),
  string: (value, { prefix = '', width = 0 }) => prefix + String(value).padStart(width, '0'),
  objectid: (value, { prefix }) => {
    const id = Buffer.from(`${prefix}0000000000000000`, 'hex');
    id.writeUInt32BE(Math.floor(value / TWO_32), 4);
    id.writeUInt32BE(value >>> 0, 8);
    return new ObjectId(id);
  },
  guid: (_, _stamp, worker) => {
    const id = Buffer.from(worker.guids.subarray(worker.guid_at, worker.guid_at + 16));
    id.writeUInt32BE((id.readUInt32BE(0) ^ worker.lap) >>> 0, 0);
    id.writeUInt32BE((id.readUInt32BE(12) ^ worker.item) >>> 0, 12);
    return new Binary(id, Binary.SUBTYPE_UUID);
  },
};

function compile(stamp) {
  const { path, as, from, add = 0 } = stamp;
  const form = FORMS[as];
  const source = SOURCES[from];
  if (!form || !source) throw new Refusal('unsupported', `stamp ${as} from ${from}`);
  const parents = path.slice(0, -1);
  const name = path.at(-1);
  return (document, worker) => {
    let parent = document;
    for (let i = 0; i < parents.length; i += 1) parent = parent[parents[i]];
    parent[name] = form(source(worker) + add, stamp, worker);
  };
}

/** worker => a fresh, stamped document, out of those of the pool. */
export function pooled(pool, stamps = []) {
  const compiled = stamps.map(compile);
  return (worker) => {
    const document = copy(pool[(worker.document + worker.item) % pool.length]);
    for (let i = 0; i < compiled.length; i += 1) compiled[i](document, worker);
    return document;
  };
}

export const template = ({ document, stamps }) => pooled([fromExtended(document)], stamps);

/** One document with chosen inputs, as hex, for the vectors. */
export function render({ document, stamps, input = {} }) {
  const { guid = '', sequence = 0, producer = 0, made_ns = 0, time_ms = 0 } = input;
  const worker = { key: 0, lap: 0, item: 0, ...input, document: 0, index: sequence };
  worker.number = producer;
  worker.guids = Buffer.from(guid.padEnd(32, '0'), 'hex');
  worker.guid_at = 0;
  worker.clocks = { made_ns: () => made_ns, time_ms: () => time_ms };
  return Buffer.from(serialize(template({ document, stamps })(worker))).toString('hex');
}
