// Documents as an application holds them: pools, copies, stamps (protocol/SPEC.md, section 6).
import { readFileSync } from 'node:fs';
import { Binary, Double, Int32, Long, ObjectId } from 'mongodb';
// The driver's own encoder: js-bson, or bson-ext where driver 4 found it.
import { deserialize, serialize } from 'mongodb/lib/bson.js';
import { now_ns, Refusal, TWO_32 } from './protocol.mjs';

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

/** The documents in `bytes`, one after another. */
export function decode(bytes) {
  const options = { promoteValues: false, promoteLongs: false, bsonRegExp: true };
  const pool = [];
  for (let at = 0; at < bytes.length; at += bytes.readInt32LE(at)) {
    const document = bytes.subarray(at, at + bytes.readInt32LE(at));
    pool.push(plain(deserialize(document, options)));
  }
  return pool;
}

export const readPool = (path) => decode(readFileSync(path));

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
  sequence: (worker) => worker.sequence,
  producer: (worker) => worker.number,
  made_ns: (worker) => worker.clocks.made_ns(),
  time_ms: (worker) => worker.clocks.time_ms(),
};
export const CLOCKS = { made_ns: now_ns, time_ms: Date.now };

/** The record's guid, with the shift XORed in as a u64: its halves, for `^` takes 32 bits. */
function guidOf({ guids, guid_at, shift }) {
  const id = Buffer.from(guids.subarray(guid_at, guid_at + 16));
  id.writeUInt32LE((id.readUInt32LE(0) ^ shift) >>> 0, 0);
  id.writeUInt32LE((id.readUInt32LE(12) ^ Math.floor(shift / TWO_32)) >>> 0, 12);
  return id;
}

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
  guid: (_, _stamp, worker) => new Binary(guidOf(worker), Binary.SUBTYPE_UUID),
  guid_string: (_, _stamp, worker) => {
    const hex = guidOf(worker).toString('hex');
    const [a, b, c] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16)];
    return `${a}-${b}-${c}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  },
};

function compile(stamp) {
  const { path, as, from = 'key', add = 0 } = stamp;
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
    const document = copy(pool[worker.document % pool.length]);
    for (let i = 0; i < compiled.length; i += 1) compiled[i](document, worker);
    return document;
  };
}

/** One document with chosen inputs, as hex, for the vectors. */
export function render({ template, stamps, input = {} }) {
  const { key = 0, guid = '', shift = 0, sequence = 0, producer = 0 } = input;
  const worker = { key: key + shift, shift, sequence, number: producer, document: 0, guid_at: 0 };
  worker.guids = Buffer.from(guid.padEnd(32, '0'), 'hex');
  worker.clocks = { made_ns: () => input.made_ns ?? 0, time_ms: () => input.time_ms ?? 0 };
  const pool = decode(Buffer.from(template, 'hex'));
  return Buffer.from(serialize(pooled(pool, stamps)(worker))).toString('hex');
}
