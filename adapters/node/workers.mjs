// Workers and their pacing. A worker is a loop of awaited promises.
import { at, prepareAlarm } from './alarm.mjs';
import { CLOCKS, readPool } from './documents.mjs';
import { Phase, RIGHT, stop, WRONG } from './phase.mjs';
import { prepareOperation } from './plan.mjs';
import { now_ns, ofSystem, Refusal, Samples, Schedule } from './protocol.mjs';

const LOOPS = { awaited, window: windowed, rate, burst };
export const PACING_NAMES = [...Object.keys(LOOPS), 'think'];
const SLEEP_MAX_NS = 100e6; // a sleeper sees a stop this soon, without a registry of timers

class Worker {
  constructor(number, slice, dealt, guids) {
    Object.assign(this, { number, slice, dealt, guids, clocks: CLOCKS });
    // The last record and its values for stamps: set by Schedule.take, moved on by items.
    Object.assign(this, { index: 0, lap: 0, intended_ns: 0, operation: 0, sequence: 0 });
    Object.assign(this, { shift: 0, key: 0, document: 0, count: 0, guid_at: 0 });
    this.holds = false; // that record's time has not come
    this.failed = 0; // operations failed in a row
    this.gave_up = false;
  }
}

export class Workers extends Phase {
  /** `clients` are open, `deal` says how they are dealt. */
  constructor(message, { clients, deal, database, acknowledged }) {
    super(message);
    const { pacing, workers, first_worker, limits, item_step } = message;
    if (!Object.hasOwn(LOOPS, pacing.mode)) {
      throw new Refusal('unsupported', `pacing ${pacing.mode}`);
    }
    Object.assign(this, { pacing, item_step, acknowledged });
    this.databases = clients.map((client) => client.db(database));
    this.pools = message.pools.map(readPool);
    this.schedule = new Schedule(message.schedule, message.lap_step);
    this.plans = [];
    for (const it of message.operations) this.plans.push(prepareOperation(it, this));
    const queue = pacing.mode === 'rate' || pacing.mode === 'burst';
    const slices = Array.from({ length: this.schedule.slices }, (_, w) =>
      this.schedule.slice(w, limits?.[w]),
    );
    // An operation's client: that of its worker, or by turns from there on.
    this.deal_step = deal === 'operation' ? 1 : 0;
    this.workers = Array.from({ length: workers }, (_, w) => {
      const dealt = queue && deal === 'operation' ? 0 : w;
      return new Worker(first_worker + w, slices[queue ? 0 : w], dealt, this.schedule.bytes);
    });
    this.samples = new Samples(message.samples);
  }

  /** Only pacing that sleeps between operations has the alarm's thread. */
  static async prepared(message, connection) {
    const { mode, think_ns } = message.pacing;
    const workers = new Workers(message, connection);
    if (mode === 'rate' || think_ns > 0) await prepareAlarm();
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
    const { targets } = plan;
    const target = targets[(worker.dealt + index * this.deal_step) % targets.length];
    const made = plan.make(worker);
    let outcome = RIGHT;
    let end_ns;
    const start_ns = now_ns();
    this.last_ns = start_ns;
    try {
      const answer = await plan.call(target, made);
      end_ns = now_ns();
      if (plan.expected && !plan.right(answer, target, made)) outcome = this.wrong(plan);
    } catch (error) {
      end_ns = now_ns();
      outcome = this.thrown(error);
    }
    this.last_ns = end_ns;
    const due_ns = intended_ns ?? start_ns;
    this.samples.add(due_ns, start_ns, end_ns, index, operation, outcome, worker.number);
    worker.failed = outcome === RIGHT ? 0 : worker.failed + 1;
    if (worker.failed >= this.errors_max) worker.gave_up = true;
    if (end_ns >= this.pause_due_ns) await this.pause();
    return end_ns;
  }

  wrong({ name }) {
    const message = `${name}: no error, but not the right answer`;
    this.note({ code: 0, name: 'WrongAnswer', message });
    return WRONG;
  }

  async sleepUntil(due_ns) {
    this.last_ns = now_ns();
    while (this.last_ns < due_ns && !stop.requested) {
      await at(ofSystem(Math.min(due_ns, this.last_ns + SLEEP_MAX_NS)));
      this.last_ns = now_ns();
    }
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
