// Shared by the tests: schedules and samples, and the adapter as a child process.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';

export const here = import.meta.dirname;
export const needsServer = process.env.MDYN_URI ? {} : { skip: 'MDYN_URI is not set' };
export const dir = mkdtempSync(join(tmpdir(), 'mdyn-node-'));
after(() => rmSync(dir, { recursive: true }));

export const epoch_ns = String(process.hrtime.bigint());
export const FOREVER = Number.MAX_SAFE_INTEGER;

export function writeSchedule(path, records, { slices = 1, lap_ns = 0, record_bytes = 24 } = {}) {
  const bytes = Buffer.alloc(32 + records.length * record_bytes);
  bytes.write('MDYNSCH1');
  bytes.writeUInt32LE(record_bytes, 8);
  bytes.writeUInt32LE(records.length, 12);
  bytes.writeUInt32LE(slices, 16);
  bytes.writeBigUInt64LE(BigInt(lap_ns), 24);
  records.forEach(({ intended = 0, key = 0, document = 0, operation = 0, guid }, i) => {
    const at = 32 + i * record_bytes;
    bytes.writeBigUInt64LE(BigInt(intended), at);
    bytes.writeBigUInt64LE(BigInt(key), at + 8);
    bytes.writeUInt32LE(document, at + 16);
    bytes.writeUInt8(operation, at + 20);
    if (guid) bytes.write(guid, at + 24, 'hex');
  });
  writeFileSync(path, bytes);
  return path;
}

export function readSamples(path) {
  const bytes = readFileSync(path);
  assert.equal(bytes.length % 32, 0);
  return Array.from({ length: bytes.length / 32 }, (_, i) => ({
    intended: Number(bytes.readBigUInt64LE(i * 32)),
    start: Number(bytes.readBigUInt64LE(i * 32 + 8)),
    service: Number(bytes.readBigUInt64LE(i * 32 + 16)),
    index: bytes.readUInt32LE(i * 32 + 24),
    operation: bytes[i * 32 + 28],
    outcome: bytes[i * 32 + 29],
    worker: bytes.readUInt16LE(i * 32 + 30),
  }));
}

/** The adapter as the core has it: a child that is asked and answers, line by line. */
export function start() {
  const child = spawn(process.execPath, ['adapter.mjs'], { cwd: here });
  const answers = (async function* lines() {
    let rest = '';
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop();
      yield* parts;
    }
  })();
  let log = '';
  child.stderr.on('data', (chunk) => {
    log += chunk;
  });
  const ended = new Promise((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, log }));
  });
  const send = (line) => child.stdin.write(`${line}\n`);
  const next = async () => {
    const { value } = await answers.next();
    assert.match(value ?? 'no answer', /^\{"type":/);
    return JSON.parse(value);
  };
  const ask = (message) => {
    send(JSON.stringify(message));
    return next();
  };
  return { child, send, next, ask, ended };
}

export async function greeted() {
  const adapter = start();
  await adapter.ask({ type: 'hello', protocol: { min: 1, max: 1 }, epoch_ns });
  return adapter;
}
