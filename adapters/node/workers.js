// Workers and their pacing. A worker is a chain of callbacks.
'use strict';

var documents = require('./documents');
var phases = require('./phase');
var plans = require('./plan');
var protocol = require('./protocol');

var now_ns = protocol.now_ns;
var stop = phases.stop;
var RIGHT = phases.RIGHT;
var LOOPS = { awaited: awaited, window: windowed, rate: rate, burst: burst };
exports.PACING_NAMES = Object.keys(LOOPS).concat(['think']);

var SLEEP_MAX_NS = 100e6; // a sleeper sees a stop this soon, without a registry of timers
// Before Node.js 16 there are only timers, which are late by up to 2 ms.
var alarm = typeof Atomics === 'object' && Atomics.waitAsync ? require('./alarm') : null;

function Worker(producer, slice, dealt, guids) {
  this.producer = producer;
  this.slice = slice;
  this.dealt = dealt;
  this.guids = guids;
  this.made_ns = now_ns;
  this.time_ms = Date.now;
  // The last record and its values for stamps, set by Schedule.take and changed for each item.
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
function Workers(message, connection, dialect) {
  var mode = message.pacing.mode;
  var shared = mode === 'rate' || mode === 'burst';
  var byTurns = connection.deal === 'operation';
  var w, slice;
  if (!LOOPS.hasOwnProperty(mode)) throw new protocol.Refusal('unsupported', 'pacing ' + mode);
  phases.Phase.call(this, message);
  this.pacing = message.pacing;
  this.loop = LOOPS[mode];
  this.item_step = message.item_step;
  this.connection = connection;
  this.dialect = dialect;
  this.pools = message.pools.map(function (path) {
    return documents.readPool(path, dialect.types);
  });
  this.schedule = new protocol.Schedule(message.schedule, message.lap_step);
  this.plans = [];
  message.operations.forEach(function (definition) {
    this.plans.push(plans.prepare(definition, this));
  }, this);
  // The client of an operation: its worker's, or by turns from there on.
  this.deal_step = byTurns ? 1 : 0;
  this.workers = [];
  for (w = 0; w < message.workers; w += 1) {
    if (w === 0 || !shared) slice = this.schedule.slice(w, message.limits && message.limits[w]);
    this.workers.push(
      new Worker(message.first_worker + w, slice, shared && byTurns ? 0 : w, this.schedule.bytes)
    );
  }
  this.queue = []; // workers that may continue
  this.draining = false;
  this.resume = this.drain.bind(this);
  this.samples = new protocol.Samples(message.samples);
}
Workers.prototype = Object.create(phases.Phase.prototype);
exports.Workers = Workers;

/** Only pacing that sleeps between operations needs the alarm's thread. */
Workers.prototype.ready = function ready(done) {
  var sleeps = this.loop === rate || this.pacing.think_ns > 0;
  if (alarm && sleeps) alarm.prepare(done);
  else done();
};

Workers.prototype.turn = function turn(message, done) {
  this.begin(message);
  this.done = done;
  this.queue = this.loop === burst ? this.workers.slice(0, 1) : this.workers.slice();
  this.running = this.queue.length;
  this.queue.forEach(function (worker) {
    worker.leaving = worker.left = false;
  });
  this.drain();
};

/** The worker continues after those that wait already: they take turns even if nothing waits. */
Workers.prototype.later = function later(worker) {
  this.queue.push(worker);
  if (!this.draining) this.drain();
};

Workers.prototype.drain = function drain() {
  this.draining = true;
  while (this.queue.length > 0) {
    if (this.paused(this.resume)) return;
    this.loop(this, this.queue.shift());
  }
  this.draining = false;
};

/** A worker has nothing more to do in this turn; the last one ends it. */
Workers.prototype.leave = function leave() {
  this.running -= 1;
  if (this.running > 0) return;
  this.done(
    null,
    this.turned(
      this.workers.every(function (worker) {
        return !worker.holds && worker.slice.taken >= worker.slice.limit;
      }),
      this.workers.some(function (worker) {
        return worker.gave_up;
      })
    )
  );
};

/** Whether the worker may begin an operation: the deadline is compared with the last reading. */
Workers.prototype.goesOn = function goesOn(worker) {
  return this.last_ns < this.until_ns && !worker.gave_up && !stop.requested;
};

Workers.prototype.next = function next(worker) {
  return this.goesOn(worker) && this.schedule.take(worker);
};

/** A separate function: V8 of 2014 does not optimise a function that has a `try`. */
function attempt(plan, target, made, finished) {
  try {
    plan.call(target, made, finished);
  } catch (error) {
    finished(error);
  }
}

/** One operation and its sample, then `then(phase, worker, index, end_ns)`. */
Workers.prototype.perform = function perform(worker, intended_ns, then) {
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
    var due_ns = intended_ns === null ? start_ns : intended_ns;
    if (answered) {
      if (error) throw error; // the adapter's own failure, from code after the answer
      return;
    }
    answered = true;
    if (error) outcome = phase.thrown(error);
    else if (plan.expected && !plan.right(answer, target, made)) outcome = phase.wrong(plan);
    phase.last_ns = end_ns;
    phase.samples.add(due_ns, start_ns, end_ns, index, operation, outcome, worker.producer);
    worker.failed = outcome === RIGHT ? 0 : worker.failed + 1;
    if (worker.failed >= phase.errors_max) worker.gave_up = true;
    then(phase, worker, index, end_ns);
  }
  start_ns = now_ns();
  this.last_ns = start_ns;
  attempt(plan, target, made, finished);
};

Workers.prototype.end = function end(done) {
  done(null, this.ended());
};

Workers.prototype.wrong = function wrong(plan) {
  this.note(0, 'WrongAnswer', plan.name + ': no error, but not the right answer');
  return phases.WRONG;
};

/** Spinning on setImmediate would take a whole CPU. */
Workers.prototype.sleepUntil = function sleepUntil(due_ns, worker) {
  var phase = this;
  function wake() {
    var left_ns;
    phase.last_ns = now_ns();
    left_ns = Math.min(due_ns - phase.last_ns, SLEEP_MAX_NS);
    if (left_ns <= 0 || stop.requested) phase.later(worker);
    else if (alarm) alarm.sleep(left_ns, wake);
    else setTimeout(wake, Math.max(0, Math.floor(left_ns / 1e6 - 0.5)));
  }
  wake();
};

function proceed(phase, worker) {
  phase.later(worker);
}

function think(phase, worker, index, end_ns) {
  var due_ns = end_ns + phase.pacing.think_ns;
  if (due_ns >= phase.until_ns) return phase.leave(); // the turn need not wait for a sleeper
  phase.sleepUntil(due_ns, worker);
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

/** Begins one operation if the oldest slot is free, and calls itself again. */
function windowed(phase, worker) {
  var slot = worker.slice.taken % phase.pacing.size;
  if (!worker.leaving) {
    if (worker.free[slot] === false) return; // `landed` calls this again
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

/** A record that is due after the deadline is kept for the next turn, never skipped. */
function rate(phase, worker) {
  var due_ns;
  if (!phase.goesOn(worker)) return phase.leave();
  if (!worker.holds && !phase.schedule.take(worker)) return phase.leave();
  worker.holds = true;
  due_ns = phase.t0_ns + worker.intended_ns;
  if (due_ns >= phase.until_ns) return phase.leave();
  if (due_ns > phase.last_ns) return phase.sleepUntil(due_ns, worker);
  worker.holds = false;
  phase.perform(worker, due_ns, proceed);
}

/**
 * Issues all operations at once, as Promise.all over a map would, in one loop without interruption;
 * the workers take the records in turn.
 */
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
