// The main loop of the program for drivers with callbacks: a line, its answer (protocol/SPEC.md).
// Arguments: the package, and the way of its calls (callback or promise).
'use strict';

var documents = require('./documents');
var operations = require('./operations');
var phases = require('./phase');
var protocol = require('./protocol');

var PROTOCOL = 1;
var dialect = operations.dialect(process.argv[2], process.argv[3]);
var state = { greeted: false, connection: null, phase: null, turning: false };

function check(condition, message) {
  if (!condition) throw new protocol.Refusal('protocol', message);
}

function capabilities() {
  var all = {
    operations: Object.keys(dialect.kinds),
    roles: ['worker'],
    pacing: phases.PACING_NAMES,
    document_forms: ['native'],
    concurrency: { kind: 'tasks', max: null, threads: 1 },
    noop_makes: true,
    stop: 'sigterm'
  };
  Object.keys(dialect.capabilities).forEach(function (name) {
    all[name] = dialect.capabilities[name];
  });
  return all;
}

// Each answers `done(error, fields)`; an exception is answered as an error too.
var HANDLERS = {
  hello: function hello(message, done) {
    var range = message.protocol || {};
    var options = process.env.NODE_OPTIONS ? process.env.NODE_OPTIONS.split(' ') : [];
    check(!state.greeted, 'a second hello');
    check(range.min <= PROTOCOL && range.max >= PROTOCOL, 'protocol is ' + PROTOCOL);
    check(/^\d+$/.test(message.epoch_ns), 'epoch_ns is no decimal string');
    protocol.setEpoch(message.epoch_ns);
    state.greeted = true;
    done(null, {
      protocol: PROTOCOL,
      adapter: 'node',
      driver: dialect.driver,
      runtime: {
        name: 'node',
        version: process.versions.node,
        flags: process.execArgv.concat(options)
      },
      clock: { source: 'CLOCK_MONOTONIC', resolution_ns: 1 },
      capabilities: capabilities()
    });
  },

  clock: function clock(message, done) {
    done(null, { now_ns: protocol.now_ns() });
  },

  open: function open(message, done) {
    var role = message.role || 'worker';
    check(!state.connection, 'a second open');
    if (role !== 'worker') throw new protocol.Refusal('unsupported', 'role ' + role);
    dialect.connect(message.uri, message.database, function (error, connection) {
      if (error) return done(refused(error));
      state.connection = connection;
      done(null, { resolved: connection.resolved, server: connection.server });
    });
  },

  prepare: function prepare(message, done) {
    check(!state.phase, 'prepare before end');
    state.phase = new phases.Phase(message, state.connection, dialect);
    done(null, {});
  },

  turn: function turn(message, done) {
    check(state.phase, 'turn before prepare');
    state.turning = true;
    state.phase.turn(message, function (turned) {
      state.turning = false;
      if (phases.stop.requested) process.exit(0);
      done(null, turned);
    });
  },

  end: function end(message, done) {
    var phase = state.phase;
    check(phase, 'end before prepare');
    state.phase = null;
    done(null, phase.end());
  },

  close: function close(message, done) {
    if (!state.connection) return done(null, {});
    state.connection.close(function () {
      done(null, {});
    });
  },

  render: function render(message, done) {
    done(null, { bson: documents.render(message, dialect.types) });
  }
};

var ANSWERS = {
  open: 'opened',
  prepare: 'armed',
  turn: 'turned',
  end: 'ended',
  close: 'closed',
  render: 'rendered'
};

/** Drivers of old tell by words, if at all, that nobody listens or that a password is wrong. */
function refused(error) {
  var text = error.name + ': ' + error.message;
  var code = 'internal';
  if (error instanceof protocol.Refusal) return error;
  if (/Unsupported OP_QUERY|OP_QUERY is no longer/.test(text)) {
    text += ' (this driver speaks with servers before 5.1, such as --server embedded@4.4)';
  } else if (/auth/i.test(text) || [11, 18, 8000].indexOf(error.code) >= 0) {
    code = 'auth';
  } else if (/connect|ECONN|ServerSelection|Network|socket|seed/i.test(text)) {
    code = 'connect';
  }
  return new protocol.Refusal(code, text);
}

function answer(line, next) {
  var message;
  var type;
  function done(error, fields) {
    var said;
    if (error) {
      said = { type: 'error' };
      said.code = error instanceof protocol.Refusal ? error.code : 'internal';
      said.message = protocol.masked(error.message || error);
    } else {
      said = { type: ANSWERS[type] || type };
      Object.keys(fields).forEach(function (name) {
        said[name] = fields[name];
      });
    }
    protocol.printLine(said);
    if (type === 'close' && !error) process.exit(0);
    next();
  }
  try {
    message = protocol.parseLine(line);
    type = message.type;
    check(HANDLERS.hasOwnProperty(type), 'an unknown type');
    check(state.greeted || type === 'hello', type + ' before hello');
    HANDLERS[type](message, done);
  } catch (error) {
    done(error);
  }
}

/** Lines are answered one after the other; a turn leaves stdin registered, at no cost. */
function listen() {
  var lines = [];
  var rest = '';
  var busy = false;
  var ended = false;
  function next() {
    busy = lines.length > 0;
    if (busy) answer(lines.shift(), next);
    else if (ended) process.exit(0);
  }
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', function (chunk) {
    var parts = (rest + chunk).split('\n');
    rest = parts.pop();
    lines = lines.concat(parts);
    if (!busy) next();
  });
  process.stdin.on('end', function () {
    ended = true;
    if ((state.turning && lines.length === 0) || !busy) process.exit(0);
  });
}

function fatal(error) {
  process.stderr.write(protocol.masked((error && error.stack) || error) + '\n');
  process.exit(1);
}

process.on('uncaughtException', fatal);
process.on('unhandledRejection', fatal);
process.on('SIGTERM', function () {
  phases.stop.requested = true;
  if (!state.turning) process.exit(0); // nothing is buffered between turns
});
listen();
