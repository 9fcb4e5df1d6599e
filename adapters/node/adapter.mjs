// The adapter's main loop: a line, its answer (protocol/SPEC.md).
import { Consumer } from './consumer.mjs';
import { render } from './documents.mjs';
import { connect, driver, opened } from './operations.mjs';
import { stop } from './phase.mjs';
import { KIND_NAMES } from './plan.mjs';
import { now_ns, printLine, Refusal, setEpoch, told } from './protocol.mjs';
import { PACING_NAMES, Workers } from './workers.mjs';

const PROTOCOL = 2;
const EXTRAS = ['write_concern', 'read_concern', 'read_preference', 'command_concerns'];
const state = { connection: { clients: [] }, phase: null, turning: false };

const HANDLERS = {
  hello({ protocol, epoch_ns }) {
    if (protocol !== PROTOCOL) throw new Refusal('protocol', `this is protocol ${PROTOCOL}`);
    setEpoch(epoch_ns);
    const flags = [...process.execArgv, ...(process.env.NODE_OPTIONS?.split(' ') ?? [])];
    return {
      type: 'hello',
      protocol: PROTOCOL,
      adapter: 'node',
      driver: driver(),
      runtime: { name: 'node', version: process.versions.node, flags },
      clock: { source: 'CLOCK_MONOTONIC', resolution_ns: 1 },
      capabilities: {
        operations: KIND_NAMES,
        pacing: PACING_NAMES,
        extras: [...EXTRAS, 'unacknowledged', 'unordered', 'clients'],
        shapes: [],
        alters: [],
        uri: 'standard',
        consumer_ns: 4000,
        concurrency: { kind: 'tasks', max: null, threads: 1 },
      },
    };
  },

  clock: () => ({ type: 'clock', now_ns: now_ns() }),

  async open({ clients: entries, deal, database }) {
    const clients = [];
    try {
      for (const entry of entries) clients.push(await connect(entry, database));
    } catch (error) {
      await closeAll(clients);
      throw error;
    }
    const answer = opened(clients[0]);
    const { acknowledged } = answer;
    state.connection = { clients, deal, database, acknowledged };
    return { type: 'opened', ...answer };
  },

  async prepare(message) {
    const role = message.consumer ? Consumer : Workers;
    state.phase = await role.prepared(message, state.connection);
    state.phase.ready();
    return { type: 'ready' };
  },

  async turn(message) {
    state.turning = true;
    try {
      return { type: 'turn_done', ...(await state.phase.turn(message)) };
    } finally {
      state.turning = false;
      if (stop.requested) process.exit(0);
    }
  },

  end: async () => ({ type: 'ended', ...(await state.phase.end()) }),

  async close() {
    await closeAll(state.connection.clients);
    return { type: 'closed' };
  },

  render: (message) => ({ type: 'rendered', bson: render(message) }),
};

const closeAll = (clients) => Promise.all(clients.map((client) => client.close()));

function parse(line) {
  let message = null;
  try {
    message = JSON.parse(line);
  } catch {} // told below
  if (Object.hasOwn(HANDLERS, message?.type)) return message;
  throw new Refusal('protocol', 'the line is no JSON object of a known type');
}

async function answer(line) {
  try {
    const message = parse(line);
    printLine(await HANDLERS[message.type](message));
    if (message.type === 'close') process.exit(0);
  } catch (error) {
    const code = error instanceof Refusal ? error.code : 'internal';
    printLine({ type: 'error', code, message: told(error.message) });
  }
}

/**
 * Lines are answered one after the other. Not by node:readline: it also splits at U+2028, which
 * JSON allows in strings. A turn leaves stdin registered, at no cost, so that an adapter whose core
 * died does not go on with a long turn.
 */
function listen() {
  let work = Promise.resolve();
  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) work = work.then(() => answer(line));
  });
  process.stdin.on('end', () => {
    if (state.turning) process.exit(0);
    work.then(() => process.exit(0));
  });
}

process.stdout.on('error', () => process.exit(0)); // the core is gone
process.on('SIGTERM', () => {
  stop.requested = true;
  if (!state.turning) process.exit(0); // nothing is buffered between turns
});
listen();
