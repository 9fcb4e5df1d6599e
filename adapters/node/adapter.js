// The main loop: a line and its answer (protocol/SPEC.md), in ES5 for Node.js 0.11 and later.
// Arguments: the package, and how it is called (callback or promise).
'use strict';

var documents = require('./documents');
var phases = require('./phase');
var plan = require('./plan');
var protocol = require('./protocol');
var workers = require('./workers');

var PROTOCOL = 2;
var dialect = plan.dialect(process.argv[2], process.argv[3]);
var state = { clients: [], connection: { databases: [] }, phase: null, turning: false };

function capabilities() {
  var own = dialect.capabilities;
  return {
    operations: Object.keys(dialect.kinds),
    pacing: workers.PACING_NAMES,
    extras: own.extras.concat(['clients']),
    shapes: [],
    alters: own.alters,
    uri: own.uri,
    consumer_ns: own.consumer_ns || null,
    concurrency: { kind: 'tasks', max: null, threads: 1 }
  };
}

// Each handler calls `done(error, answer)`; an exception becomes an error answer too.
var HANDLERS = {
  hello: function hello(message, done) {
    var options = process.env.NODE_OPTIONS ? process.env.NODE_OPTIONS.split(' ') : [];
    if (message.protocol !== PROTOCOL) {
      throw new protocol.Refusal('protocol', 'this is protocol ' + PROTOCOL);
    }
    protocol.setEpoch(message.epoch_ns);
    done(null, {
      type: 'hello',
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
    done(null, { type: 'clock', now_ns: protocol.now_ns() });
  },

  open: function open(message, done) {
    var clients = [];
    function connected(error, client) {
      if (error) return closeAll(clients, done.bind(null, protocol.refused(error)));
      if (client) clients.push(client);
      if (clients.length === message.clients.length) return opened();
      try {
        dialect.connect(message.clients[clients.length], message.database, connected);
      } catch (thrown) {
        connected(thrown);
      }
    }
    function opened() {
      var first = clients[0];
      var databases = clients.map(function (client) {
        return client.database;
      });
      state.clients = clients;
      state.connection = { databases: databases, deal: message.deal };
      state.connection.acknowledged = first.acknowledged;
      done(null, { type: 'opened', acknowledged: first.acknowledged, resolved: first.resolved });
    }
    connected();
  },

  prepare: function prepare(message, done) {
    var consumer = message.consumer;
    var Reader = consumer && consumer.change_stream ? dialect.StreamConsumer : dialect.Consumer;
    var Kind = consumer ? Reader : workers.Workers;
    var phase = new Kind(message, state.connection, dialect);
    phase.ready(function ready(error) {
      if (error) return done(error);
      state.phase = phase;
      phase.collections = phases.collections();
      done(null, { type: 'ready' });
    });
  },

  turn: function turn(message, done) {
    state.turning = true;
    state.phase.turn(message, function turned(error, answer) {
      state.turning = false;
      if (phases.stop.requested) process.exit(0);
      done(error, answer);
    });
  },

  end: function end(message, done) {
    state.phase.end(done);
  },

  close: function close(message, done) {
    closeAll(state.clients, function () {
      done(null, { type: 'closed' });
    });
  },

  render: function render(message, done) {
    done(null, { type: 'rendered', bson: documents.render(message, dialect.types) });
  }
};

function closeAll(clients, done) {
  if (clients.length === 0) return done();
  clients[0].close(function () {
    closeAll(clients.slice(1), done);
  });
}

function parse(line) {
  var message = null;
  try {
    message = JSON.parse(line);
  } catch (_error) {} // reported below
  if (message && HANDLERS.hasOwnProperty(message.type)) return message;
  throw new protocol.Refusal('protocol', 'the line is no JSON object of a known type');
}

function failure(error) {
  var code = error instanceof protocol.Refusal ? error.code : 'internal';
  return { type: 'error', code: code, message: protocol.told(error.message || error) };
}

function answer(line, next) {
  var message;
  function done(error, said) {
    protocol.printLine(error ? failure(error) : said);
    if (!error && said.type === 'closed') process.exit(0);
    next();
  }
  try {
    message = parse(line);
    HANDLERS[message.type](message, done);
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
    if (state.turning || !busy) process.exit(0);
  });
}

function fatal(error) {
  process.stderr.write(((error && error.stack) || error) + '\n');
  process.exit(1);
}

process.on('uncaughtException', fatal);
process.on('unhandledRejection', fatal);
process.on('SIGTERM', function () {
  phases.stop.requested = true;
  if (!state.turning) process.exit(0); // nothing is buffered between turns
});
listen();
