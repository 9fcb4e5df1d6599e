// The adapter's main loop: a line, its answer (protocol/SPEC.md).
import { Consumer } from './consumer.mjs';
import { connect, driverInfo, KIND_NAMES } from './operations.mjs';
import { stop } from './phase.mjs';
import { masked, now_ns, parseLine, printLine, Refusal, render, setEpoch } from './protocol.mjs';
import { PACING_NAMES, Workers } from './workers.mjs';

const PROTOCOL = 1;
const ROLES = {
  worker: Workers.prepared,
  consumer: Consumer.prepared,
};
const state = { greeted: false, connection: null, phase: null, turning: false, unread: 0 };

function check(condition, message) {
  if (!condition) throw new Refusal('protocol', message);
}

function checkRole(role) {
  if (!Object.hasOwn(ROLES, role)) throw new Refusal('unsupported', `role ${role}`);
}

const HANDLERS = {
  hello({ protocol, epoch_ns }) {
    check(!state.greeted, 'a second hello');
    check(protocol?.min <= PROTOCOL && protocol?.max >= PROTOCOL, `protocol is ${PROTOCOL}`);
    check(/^\d+$/.test(epoch_ns), 'epoch_ns is no decimal string');
    setEpoch(epoch_ns);
    state.greeted = true;
    const flags = [...process.execArgv, ...(process.env.NODE_OPTIONS?.split(' ') ?? [])];
    return {
      protocol: PROTOCOL,
      adapter: 'node',
      driver: driverInfo(),
      runtime: { name: 'node', version: process.versions.node, flags },
      clock: { source: 'CLOCK_MONOTONIC', resolution_ns: 1 },
      capabilities: {
        operations: KIND_NAMES,
        roles: Object.keys(ROLES),
        pacing: PACING_NAMES,
        document_forms: ['native'],
        concurrency: { kind: 'tasks', max: null, threads: 1 },
        noop_makes: true,
        stop: 'sigterm',
      },
    };
  },

  clock: () => ({ now_ns: now_ns() }),

  async open({ uri, database, role = 'worker' }) {
    check(!state.connection, 'a second open');
    checkRole(role);
    state.connection = await connect(uri, database);
    const { resolved, server } = state.connection;
    return { resolved, server };
  },

  async prepare(message) {
    check(!state.phase, 'prepare before end');
    checkRole(message.role);
    state.phase = await ROLES[message.role](message, state.connection);
  },

  async turn(message) {
    check(state.phase, 'turn before prepare');
    state.turning = true;
    try {
      return await state.phase.turn(message);
    } finally {
      state.turning = false;
      if (stop.requested) process.exit(0);
    }
  },

  end() {
    check(state.phase, 'end before prepare');
    const { phase } = state;
    state.phase = null;
    return phase.end();
  },

  close: () => state.connection?.client.close(),

  render: (message) => ({ bson: render(message) }),
};

const ANSWERS = {
  open: 'opened',
  prepare: 'armed',
  turn: 'turned',
  end: 'ended',
  close: 'closed',
  render: 'rendered',
};

async function answer(line) {
  try {
    const message = parseLine(line);
    const { type } = message;
    check(Object.hasOwn(HANDLERS, type), 'an unknown type');
    check(state.greeted || type === 'hello', `${type} before hello`);
    printLine({ type: ANSWERS[type] ?? type, ...(await HANDLERS[type](message)) });
    if (type === 'close') process.exit(0);
  } catch (error) {
    const code = error instanceof Refusal ? error.code : 'internal';
    printLine({ type: 'error', code, message: masked(error.message) });
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
    state.unread += lines.length;
    for (const line of lines) {
      work = work.then(() => {
        state.unread -= 1;
        return answer(line);
      });
    }
  });
  process.stdin.on('end', () => {
    if (state.turning && state.unread === 0) process.exit(0);
    work.then(() => process.exit(0));
  });
}

function fatal(error) {
  process.stderr.write(`${masked(error?.stack ?? error)}\n`);
  process.exit(1);
}

process.on('uncaughtException', fatal);
process.on('unhandledRejection', fatal);
process.stdout.on('error', () => process.exit(0)); // the core is gone
process.on('SIGTERM', () => {
  stop.requested = true;
  if (!state.turning) process.exit(0); // nothing is buffered between turns
});
listen();
