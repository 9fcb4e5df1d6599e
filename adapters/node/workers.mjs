// The worker's phase: workers and their pacing. A worker is a loop of awaited promises.
import { prepareAlarm } from './alarm.mjs';
import { prepareOperation } from './operations.mjs';
import { Phase, RIGHT, stop, WRONG } from './phase.mjs';
import { CLOCKS, now_ns, Refusal, readPool, Samples, Schedule } from './protocol.mjs';

const LOOPS = { awaited, window: windowed, rate, burst };
export const PACING_NAMES = Object.keys(LOOPS);

class Worker {
  constructor(number, slice, guids) {
    Object.assign(this, { number, slice, guids, clocks: CLOCKS });
    // The last record and its values for stamps: set by Schedule.take and the plan's make.
    Object.assign(this, { index: 0, lap: 0, intended_ns: 0, record_key: 0, document: 0 });
    Object.assign(this, { operation: 0, guid_at: 0, key: 0, item: 0 });
    this.holds = false; // that record's time has not come
    this.made = 0; // documents made for insertion
    this.failed = 0; // operations failed in a row
    this.gave_up = false;
  }
}

export class Workers extends Phase {
  constructor(message, connection) {
    super(message);
    const { document_form, pacing, workers, first_worker, limits } = message;
    if (document_form !== 'native' || !Object.hasOwn(LOOPS, pacing.mode)) {
      const wanted = [document_form, pacing.mode].join(', ');
      throw new Refusal('unsupported', `document form or pacing: ${wanted}`);
    }
    this.pacing = pacing;
    const pools = message.pools.map(readPool);
    const parts = { connection, pools, counter: message.counter, totals: this.totals };
    this.plans = message.operations.map((definition) => prepareOperation(definition, parts));
    this.schedule = new Schedule(message.schedule);
    const shared = pacing.mode === 'rate' || pacing.mode === 'burst';
    if (this.schedule.slices !== (shared ? 1 : workers)) throw new Error('wrong number of slices');
    const slices = Array.from({ length: this.schedule.slices }, (_, w) =>
      this.schedule.slice(w, limits?.[w]),
    );
    this.workers = Array.from(
      { length: workers },
      (_, w) => new Worker(first_worker + w, slices[shared ? 0 : w], this.schedule.bytes),
    );
    this.samples = new Samples(message.samples, message.warmup);
  }

  /** Only pacing that sleeps between operations has the alarm's thread. */
  static async prepared(message, connection) {
    const { mode, think_ns } = message.pacing;
    const workers = new Workers(message, connection);
    workers.hasAlarm = mode === 'rate' || think_ns > 0;
    if (workers.hasAlarm) await prepareAlarm();
    return workers;
  }

  /** The workers are let go by starting their loops. */
  async run() {
    const loop = LOOPS[this.pacing.mode];
    await Promise.all(loop === burst ? [burst(this)] : this.workers.map((w) => loop(this, w)));
    const exhausted = this.workers.every((w) => !w.holds && w.slice.taken >= w.slice.limit);
    const gave_up = this.workers.some((worker) => worker.gave_up);
    return { exhausted, gave_up };
  }

  /** Whether the worker may begin an operation: the deadline is held against the last reading. */
  goesOn(worker) {
    return this.last_ns < this.until_ns && !worker.gave_up && !stop.requested;
  }

  next(worker) {
    return this.goesOn(worker) && this.schedule.take(worker);
  }

  /** One operation and its sample; an operation that fails does not reject. */
  async perform(worker, intended_ns) {
    const { operation, index } = worker; // the next record may come before this one's answer
    const plan = this.plans[operation];
    const made = plan.make(worker);
    let outcome = RIGHT;
    let end_ns;
    const start_ns = now_ns();
    this.last_ns = start_ns;
    try {
      const answer = await plan.call(plan, made);
      end_ns = now_ns();
      if (plan.asserted && !plan.right(answer, plan)) outcome = this.wrong(plan);
    } catch (error) {
      end_ns = now_ns();
      outcome = this.thrown(error);
    }
    this.last_ns = end_ns;
    const due_ns = intended_ns ?? start_ns;
    this.samples.add(due_ns, start_ns, end_ns, index, operation, outcome, worker.number);
    this.count(worker, end_ns, outcome);
    if (end_ns >= this.pause_due_ns) await this.pause();
    return end_ns;
  }

  count(worker, end_ns, outcome) {
    this.counts.operations += 1;
    this.counts.ended_ns = end_ns;
    if (end_ns <= this.until_ns) this.counts.completed_by_deadline += 1;
    if (outcome !== RIGHT) this.counts.errors += 1;
    worker.failed = outcome === RIGHT ? 0 : worker.failed + 1;
    if (worker.failed >= this.errors_max) worker.gave_up = true;
  }

  wrong({ name }) {
    this.note(0, 'WrongAnswer', `${name}: no error, but not the right answer`);
    return WRONG;
  }
}

async function awaited(phase, worker) {
  const { think_ns = 0 } = phase.pacing;
  while (phase.next(worker)) {
    const end_ns = await phase.perform(worker);
    if (think_ns > 0) {
      if (end_ns + think_ns >= phase.until_ns) return; // the turn need not wait for a sleeper
      await phase.sleepUntil(end_ns + think_ns);
    }
  }
}

async function windowed(phase, worker) {
  const slots = new Array(phase.pacing.size).fill(undefined);
  for (let oldest = 0; ; oldest = (oldest + 1) % slots.length) {
    await slots[oldest];
    if (!phase.next(worker)) break;
    slots[oldest] = phase.perform(worker);
  }
  await Promise.all(slots);
}

/** A record whose time lies behind the deadline is held for the next turn, never skipped. */
async function rate(phase, worker) {
  while (phase.goesOn(worker)) {
    if (!worker.holds && !phase.schedule.take(worker)) return;
    worker.holds = true;
    const due_ns = phase.t0_ns + worker.intended_ns;
    if (due_ns >= phase.until_ns) return;
    if (due_ns > phase.last_ns) {
      await phase.sleepUntil(due_ns);
      if (!phase.goesOn(worker)) return;
    }
    worker.holds = false;
    await phase.perform(worker, due_ns);
  }
}

/**
 * All at once, as Promise.all over a map would, in one loop that nothing interrupts: with pauses
 * answers would come in between. The records go round the workers.
 */
async function burst(phase) {
  const flying = [];
  for (let i = 0; phase.next(phase.workers[i]); i = (i + 1) % phase.workers.length) {
    flying.push(phase.perform(phase.workers[i], phase.t0_ns));
  }
  await Promise.all(flying);
}
