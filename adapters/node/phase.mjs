// A phase of workers or of the consumer: turns, pauses, errors, samples.
import { PerformanceObserver } from 'node:perf_hooks';
import { describe } from './operations.mjs';
import { now_ns } from './protocol.mjs';

export const [RIGHT, WRONG, FAILED, TIMEOUT] = [0, 1, 2, 3];

// Promises that resolve without I/O (noop, a closed client, a waiting batch) never let the event
// loop look at signals. So it turns between operations, once in this time: an idle turn takes some
// 2 us, 0.02 % of the time.
const PAUSE_EVERY_NS = 10e6;

/** Set by SIGTERM: nothing new is issued. */
export const stop = { requested: false };

export class Phase {
  constructor({ errors_consecutive_max }) {
    this.errors_max = errors_consecutive_max;
    this.totals = { documents: 0, sum: 0 };
    this.errors = new Map(); // by code and name: as many as there are kinds of errors
    this.t0_ns = null;
    this.last_ns = 0; // the last clock reading taken
    this.pause_due_ns = 0;
    this.pausing = null;
    this.samples = null; // opened when nothing can go wrong any more
    this.runtime = { gc_count: 0, gc_ns: 0 };
    this.observer = new PerformanceObserver((list) => this.collected(list.getEntries()));
  }

  ready() {
    this.observer.observe({ entryTypes: ['gc'] });
  }

  collected(entries) {
    for (const { duration } of entries) {
      this.runtime.gc_count += 1;
      this.runtime.gc_ns += Math.round(duration * 1e6);
    }
  }

  /** `run` is the subclass's; between turns there is nothing that waits. */
  async turn({ until_ns }) {
    const began_ns = now_ns();
    this.last_ns = began_ns;
    this.t0_ns ??= began_ns;
    this.until_ns = until_ns;
    this.samples.begin(began_ns);
    const { exhausted, gave_up } = await this.run();
    this.samples.flush();
    return { began_ns, exhausted, gave_up };
  }

  thrown(error) {
    const { timeout, ...described } = describe(error);
    this.note(described);
    return timeout ? TIMEOUT : FAILED;
  }

  note({ code, name, message }) {
    const id = `${code} ${name}`;
    const entry = this.errors.get(id) ?? { code, name, count: 0, message };
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

  end() {
    this.samples.close();
    this.collected(this.observer.takeRecords());
    this.observer.disconnect();
    return { totals: this.totals, errors: [...this.errors.values()], runtime: this.runtime };
  }
}
