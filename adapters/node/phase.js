// What workers and the consumer share: turns, errors, pauses, garbage collections.
'use strict';

var protocol = require('./protocol');

// Operations that call back at once (noop) never let the event loop look at signals. The adapter
// therefore yields to the loop between operations, once in this time: an idle turn takes some 2 us,
// 0.02 % of the time.
var PAUSE_EVERY_NS = 10e6;

exports.RIGHT = 0;
exports.WRONG = 1;
exports.FAILED = 2;
exports.TIMEOUT = 3;

/** Set by SIGTERM: nothing new is issued. */
var stop = { requested: false };
exports.stop = stop;

function Phase(message) {
  this.errors_max = message.errors_consecutive_max;
  this.totals = { documents: 0, sum: 0 };
  this.errors = {}; // by code and name: as many as there are kinds of errors
  this.t0_ns = null;
  this.last_ns = 0; // the last clock reading taken
  this.pause_due_ns = 0;
  this.samples = null; // opened when nothing can fail any more
  this.collections = null; // of garbage, since the phase is ready
}
exports.Phase = Phase;

/**
 * Counts garbage collections on this thread; null before Node.js 16, which does not report them.
 */
exports.collections = function collections() {
  var counted = { gc_count: 0, gc_ns: 0 };
  var Observer, observer;
  function add(entries) {
    entries.forEach(function (entry) {
      counted.gc_count += 1;
      counted.gc_ns += Math.round(entry.duration * 1e6);
    });
  }
  try {
    Observer = require('perf_hooks').PerformanceObserver;
  } catch (_error) {} // before 8.5
  if (!Observer || !Observer.prototype.takeRecords) return null;
  observer = new Observer(function (list) {
    add(list.getEntries());
  });
  observer.observe({ entryTypes: ['gc'] });
  return function end() {
    add(observer.takeRecords());
    observer.disconnect();
    return counted;
  };
};

Phase.prototype.begin = function begin(message) {
  this.began_ns = this.last_ns = protocol.now_ns();
  if (this.t0_ns === null) this.t0_ns = this.began_ns;
  this.until_ns = message.until_ns;
  this.samples.begin(this.began_ns);
};

Phase.prototype.turned = function turned(exhausted, gave_up) {
  this.samples.flush();
  return { type: 'turn_done', began_ns: this.began_ns, exhausted: exhausted, gave_up: gave_up };
};

/** Yields to the event loop if it is time; returns whether `then` will be called. */
Phase.prototype.paused = function paused(then) {
  var phase = this;
  if (this.last_ns < this.pause_due_ns) return false;
  setImmediate(function () {
    phase.pause_due_ns = phase.last_ns + PAUSE_EVERY_NS;
    then();
  });
  return true;
};

Phase.prototype.thrown = function thrown(error) {
  // Old drivers put the server's whole answer into `result`, or report no code at all.
  var result = error.result || {};
  var told = typeof error.code === 'number' ? error.code : result.code;
  var code = typeof told === 'number' ? told : 0;
  var message = protocol.told(error.message || error.errmsg || error.err || error);
  var slow = code === 50 || code === 262; // MaxTimeMSExpired, ExceededTimeLimit
  // Up to 2 a socket's timeout has no separate name.
  var waited =
    /Timeout|ServerSelection/.test(error.name) || /^connection .* timed out/.test(message);
  this.note(code, error.codeName || result.codeName || error.name || 'Error', message);
  return slow || waited ? exports.TIMEOUT : exports.FAILED;
};

Phase.prototype.note = function note(code, name, message) {
  var id = code + ' ' + name;
  if (!this.errors[id]) this.errors[id] = { code: code, name: name, count: 0, message: message };
  this.errors[id].count += 1;
};

Phase.prototype.ended = function ended() {
  var errors = this.errors;
  var answer = { type: 'ended', totals: this.totals };
  this.samples.close();
  answer.errors = Object.keys(errors).map(function (id) {
    return errors[id];
  });
  if (this.collections) answer.runtime = this.collections();
  return answer;
};
