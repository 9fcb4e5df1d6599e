// A phase in either role: turns, sleeping, errors, samples.
import { at } from './alarm.mjs';
import { masked, now_ns, ofSystem } from './protocol.mjs';

export const [RIGHT, WRONG, FAILED, TIMEOUT] = [0, 1, 2, 3];

// Promises that resolve without I/O (noop, a closed client, a waiting batch) never let the event
// loop look at signals. So it turns between operations, once in this time: an idle turn takes some
// 2 us, 0.02 % of the time.
const PAUSE_EVERY_NS = 10e6;
const SLEEP_MAX_MS = 100; // a sleeper sees a stop this soon, without a registry of timers
const TIMER_STEP_NS = 1.5e6; // timers count whole milliseconds and are late by up to one

/** Set by SIGTERM: nothing new is issued. */
export const stop = { requested: false };
const never = new Int32Array(new SharedArrayBuffer(4));

export class Phase {
  constructor({ errors_consecutive_max }) {
    this.errors_max = errors_consecutive_max ?? Infinity;
    this.totals = { documents: 0, sum: 0 };
    this.errors = new Map(); // by code and name: as many as there are kinds of errors
    this.t0_ns = null;
    this.last_ns = 0; // the last clock reading taken
    this.pause_due_ns = 0;
    this.pausing = null;
    this.hasAlarm = false;
    this.samples = null; // opened when nothing can go wrong any more
  }

  /** `run` is the role's; between turns there is nothing that waits. */
  async turn({ start_ns, until_ns }) {
    this.last_ns = now_ns();
    const ahead = start_ns > this.last_ns;
    if (ahead) await this.sleepUntil(start_ns);
    const began_ns = this.last_ns;
    this.t0_ns ??= ahead ? start_ns : began_ns;
    this.until_ns = until_ns;
    this.counts = { ended_ns: began_ns, operations: 0, completed_by_deadline: 0, errors: 0 };
    const { exhausted, gave_up } = await this.run();
    this.samples.flush();
    return { began_ns, ...this.counts, exhausted, gave_up };
  }

  thrown(error) {
    const code = Number.isInteger(error.code) ? error.code : 0;
    this.note(code, error.codeName ?? error.name, error.message);
    const timeout = code === 50 || code === 262; // MaxTimeMSExpired, ExceededTimeLimit
    return timeout || /Timeout/.test(error.name) ? TIMEOUT : FAILED;
  }

  note(code, name, message) {
    const id = `${code} ${name}`;
    const entry = this.errors.get(id) ?? { code, name, count: 0, message: masked(message) };
    entry.count += 1;
    this.errors.set(id, entry);
  }

  /** One pause for all: a single worker left running would keep the loop from turning. */
  pause() {
    this.pausing ??= new Promise(setImmediate).then(() => {
      this.pause_due_ns = this.last_ns + PAUSE_EVERY_NS;
      this.pausing = null;
    });
    return this.pausing;
  }

  /**
   * By the alarm where the pacing needs it. Else nothing is in flight, and the last millisecond
   * blocks the thread (late by 0.09 ms in place of 0.9, measured; spinning on setImmediate would
   * take a whole CPU).
   */
  async sleepUntil(due_ns) {
    this.last_ns = now_ns();
    while (this.last_ns < due_ns && !stop.requested) {
      const left_ns = due_ns - this.last_ns;
      if (this.hasAlarm) {
        await at(ofSystem(this.last_ns + Math.min(left_ns, SLEEP_MAX_MS * 1e6)));
      } else if (left_ns <= TIMER_STEP_NS) {
        Atomics.wait(never, 0, 0, left_ns / 1e6);
      } else {
        const sleep_ms = Math.min(Math.floor(left_ns / 1e6 - 0.5), SLEEP_MAX_MS);
        await new Promise((wake) => {
          setTimeout(wake, sleep_ms);
        });
      }
      this.last_ns = now_ns();
    }
  }

  end() {
    this.samples.close();
    const {
      samples: { total },
      totals,
      errors,
    } = this;
    return { operations: total, samples: total, totals, errors: [...errors.values()] };
  }
}
