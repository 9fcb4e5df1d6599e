// One phase: its workers, their pacing and their turns. A worker is a chain of callbacks.
'use strict';

var documents = require('./documents');
var operations = require('./operations');
var protocol = require('./protocol');

var Refusal = protocol.Refusal;
var now_ns = protocol.now_ns;
var RIGHT = 0;
var WRONG = 1;
var FAILED = 2;
var TIMEOUT = 3;
var LOOPS = { awaited: awaited, window: windowed, rate: rate, burst: burst };
exports.PACING_NAMES = Object.keys(LOOPS).concat(['think']);

// Operations that call back at once (noop) never let the event loop look at signals. So it turns
// between operations, once in this time.
var PAUSE_EVERY_NS = 10e6;
var SLEEP_MAX_MS = 100; // a sleeper sees a stop this soon, without a registry of timers
var TIMER_STEP_NS = 1.5e6; // timers count whole milliseconds and are late by up to one

/** Set by SIGTERM: nothing new is issued. */
var stop = { requested: false };
exports.stop = stop;
// To sleep the last millisecond; before Node.js 8 there are only timers.
var never = typeof Atomics === 'undefined' ? null : new Int32Array(new SharedArrayBuffer(4));

function Worker(number, slice, dealt, guids) {
  this.number = number;
  this.slice = slice;
  this.dealt = dealt;
  this.guids = guids;
  this.clocks = documents.CLOCKS;
  // The last record and its values for stamps: set by Schedule.take, moved on by items.
  this.index = 0;
  this.lap = 0;
  this.intended_ns = 0;
  this.operation = 0;
  this.sequence = 0;
  this.shift = 0;
  this.key = 0;
  this.document = 0;
  this.count = 0;
  this.guid_at = 0;
  this.holds = false; // that record's time has not come
  this.failed = 0; // operations failed in a row
  this.gave_up = false;
  this.flying = 0; // operations without an answer
  this.free = []; // slots of a window
  this.leaving = false; // begins nothing more in this turn
  this.left = false;
}

/** `connection` has the databases of the clients, and how they are dealt. */
function Phase(message, connection, dialect) {
  var mode = message.pacing.mode;
  var shared = mode === 'rate' || mode === 'burst';
  var byTurns = connection.deal === 'operation';
  var w, slice;
  if (!LOOPS.hasOwnProperty(mode)) throw new Refusal('unsupported', 'pacing ' + mode);
  this.pacing = message.pacing;
  this.loop = LOOPS[mode];
  this.errors_max = message.errors_consecutive_max;
  this.item_step = message.item_step;
  this.totals = { documents: 0, sum: 0 };
  this.errors = {}; // by code and name: as many as there are kinds of errors
  this.connection = connection;
  this.dialect = dialect;
  this.pools = message.pools.map(function (path) {
    return documents.readPool(path, dialect.types);
  });
  this.schedule = new protocol.Schedule(message.schedule, message.lap_step);
  this.plans = [];
  message.operations.forEach(function (definition) {
    this.plans.push(operations.prepare(definition, this));
  }, this);
  // An operation's client: that of its worker, or by turns from there on.
  this.deal_step = byTurns ? 1 : 0;
  this.workers = [];
  for (w = 0; w < message.workers; w += 1) {
    if (w === 0 || !shared) {
      slice = this.schedule.slice(w, message.limits ? message.limits[w] : null);
    }
    this.workers.push(
      new Worker(message.first_worker + w, slice, shared && byTurns ? 0 : w, this.schedule.bytes)
    );
  }
  this.t0_ns = null;
  this.last_ns = 0; // the last clock reading taken
  this.in_flight = 0;
  this.pause_due_ns = 0;
  this.queue = []; // workers that may go on
  this.draining = false;
  this.samples = new protocol.Samples(message.samples);
}
exports.Phase = Phase;

Phase.prototype.turn = function turn(message, done) {
  var workers = this.loop === burst ? this.workers.slice(0, 1) : this.workers;
  this.began_ns = this.last_ns = now_ns();
  if (this.t0_ns === null) this.t0_ns = this.began_ns;
  this.until_ns = message.until_ns;
  this.done = done;
  this.running = workers.length;
  this.workers.forEach(function (worker) {
    worker.leaving = worker.left = false;
  });
  this.samples.begin(this.began_ns);
  this.queue = workers.slice();
  this.drain();
};

/** The worker goes on, after those that wait already: by turns even where nothing waits. */
Phase.prototype.later = function later(worker) {
  this.queue.push(worker);
  if (!this.draining) this.drain();
};

Phase.prototype.drain = function drain() {
  var phase = this;
  this.draining = true;
  while (this.queue.length > 0) {
    if (this.last_ns >= this.pause_due_ns) {
      setImmediate(function () {
        phase.pause_due_ns = phase.last_ns + PAUSE_EVERY_NS;
        phase.drain();
      });
      return;
    }
    this.loop(this, this.queue.shift());
  }
  this.draining = false;
};

/** A worker has nothing more to do in this turn; the last one ends it. */
Phase.prototype.leave = function leave() {
  this.running -= 1;
  if (this.running > 0) return;
  this.samples.flush();
  this.done({
    began_ns: this.began_ns,
    exhausted: this.workers.every(function (worker) {
      return !worker.holds && worker.slice.taken >= worker.slice.limit;
    }),
    gave_up: this.workers.some(function (worker) {
      return worker.gave_up;
    })
  });
};

/** Whether the worker may begin an operation: the deadline is held against the last reading. */
Phase.prototype.goesOn = function goesOn(worker) {
  return this.last_ns < this.until_ns && !worker.gave_up && !stop.requested;
};

Phase.prototype.next = function next(worker) {
  return this.goesOn(worker) && this.schedule.take(worker);
};

/** By itself: V8 of 2014 does not optimise a function that has a `try`. */
function attempt(plan, target, made, finished) {
  try {
    plan.call(target, made, finished);
  } catch (error) {
    finished(error);
  }
}

/** One operation and its sample, then `then(phase, worker, index, end_ns)`. */
Phase.prototype.perform = function perform(worker, intended_ns, then) {
  var phase = this;
  var operation = worker.operation; // the next record may come before this one's answer
  var index = worker.index;
  var plan = this.plans[operation];
  var target = plan.targets[(worker.dealt + index * this.deal_step) % plan.targets.length];
  var made = plan.make(worker);
  var answered = false;
  var start_ns;
  function finished(error, answer) {
    var end_ns = now_ns();
    var outcome = RIGHT;
    if (answered) {
      if (error) throw error; // our own, from code after the answer
      return;
    }
    answered = true;
    if (error) outcome = phase.failed(error);
    else if (plan.expected && !plan.right(answer, target, made)) outcome = phase.wrong(plan);
    phase.last_ns = end_ns;
    phase.in_flight -= 1;
    phase.samples.add(
      intended_ns === null ? start_ns : intended_ns,
      start_ns,
      end_ns,
      index,
      operation,
      outcome,
      worker.number
    );
    worker.failed = outcome === RIGHT ? 0 : worker.failed + 1;
    if (worker.failed >= phase.errors_max) worker.gave_up = true;
    then(phase, worker, index, end_ns);
  }
  this.in_flight += 1;
  start_ns = now_ns();
  this.last_ns = start_ns;
  attempt(plan, target, made, finished);
};

Phase.prototype.wrong = function wrong(plan) {
  this.note(0, 'WrongAnswer', plan.name + ': no error, but not the right answer');
  return WRONG;
};

Phase.prototype.failed = function failed(error) {
  // Old drivers put the server's whole answer into `result`, or tell no code at all.
  var result = error.result || {};
  var told = typeof error.code === 'number' ? error.code : result.code;
  var code = typeof told === 'number' ? told : 0;
  var message = protocol.told(error.message || error.errmsg || error.err || error);
  var timeout = code === 50 || code === 262; // MaxTimeMSExpired, ExceededTimeLimit
  // Up to 2 a socket's timeout has no name of its own.
  var waited = /^connection .* timed out/.test(message);
  this.note(code, error.codeName || result.codeName || error.name || 'Error', message);
  return timeout || waited || /Timeout|ServerSelection/.test(error.name) ? TIMEOUT : FAILED;
};

Phase.prototype.note = function note(code, name, message) {
  var id = code + ' ' + name;
  if (!this.errors[id]) {
    this.errors[id] = { code: code, name: name, count: 0, message: message };
  }
  this.errors[id].count += 1;
};

/**
 * Timers for all but the last millisecond. That one blocks the thread while nothing is in flight,
 * where the runtime can do that, and is left to the timer otherwise: starts are then late by up
 * to two. Spinning on setImmediate would take a whole CPU.
 */
Phase.prototype.sleepUntil = function sleepUntil(due_ns, then) {
  var phase = this;
  function wake() {
    var left_ns;
    phase.last_ns = now_ns();
    left_ns = due_ns - phase.last_ns;
    if (left_ns <= 0 || stop.requested) return then();
    if (never && left_ns <= TIMER_STEP_NS && phase.in_flight === 0) {
      Atomics.wait(never, 0, 0, left_ns / 1e6);
      return wake();
    }
    setTimeout(wake, Math.min(Math.max(0, Math.floor(left_ns / 1e6 - 0.5)), SLEEP_MAX_MS));
  }
  wake();
};

Phase.prototype.end = function end() {
  var errors = this.errors;
  this.samples.close();
  return {
    totals: this.totals,
    errors: Object.keys(errors).map(function (id) {
      return errors[id];
    })
  };
};

function proceed(phase, worker) {
  phase.later(worker);
}

function think(phase, worker, index, end_ns) {
  var due_ns = end_ns + phase.pacing.think_ns;
  if (due_ns >= phase.until_ns) return phase.leave(); // the turn need not wait for a sleeper
  phase.sleepUntil(due_ns, function () {
    phase.later(worker);
  });
}

function awaited(phase, worker) {
  if (!phase.next(worker)) return phase.leave();
  phase.perform(worker, null, phase.pacing.think_ns > 0 ? think : proceed);
}

function landed(phase, worker, index) {
  worker.flying -= 1;
  worker.free[index % phase.pacing.size] = true;
  phase.later(worker);
}

/** Begins one operation where the oldest slot is free, and comes again. */
function windowed(phase, worker) {
  var slot = worker.slice.taken % phase.pacing.size;
  if (!worker.leaving) {
    if (worker.free[slot] === false) return; // `landed` comes here again
    if (phase.next(worker)) {
      worker.free[slot] = false;
      worker.flying += 1;
      phase.perform(worker, null, landed);
      phase.later(worker);
      return;
    }
    worker.leaving = true;
  }
  if (worker.flying > 0 || worker.left) return;
  worker.left = true;
  phase.leave();
}

/** A record whose time lies behind the deadline is held for the next turn, never skipped. */
function rate(phase, worker) {
  var due_ns;
  if (!phase.goesOn(worker)) return phase.leave();
  if (!worker.holds && !phase.schedule.take(worker)) return phase.leave();
  worker.holds = true;
  due_ns = phase.t0_ns + worker.intended_ns;
  if (due_ns >= phase.until_ns) return phase.leave();
  if (due_ns > phase.last_ns) {
    return phase.sleepUntil(due_ns, function () {
      phase.later(worker);
    });
  }
  worker.holds = false;
  phase.perform(worker, due_ns, proceed);
}

/** All at once, in one loop that nothing interrupts; the records go round the workers. */
function burst(phase, first) {
  var workers = phase.workers;
  var i = 0;
  function ended() {
    first.flying -= 1;
    if (first.leaving && first.flying === 0) phase.leave();
  }
  first.flying += 1; // this loop itself
  while (phase.next(workers[i])) {
    first.flying += 1;
    phase.perform(workers[i], phase.t0_ns, ended);
    i = (i + 1) % workers.length;
  }
  first.leaving = true;
  ended();
}
