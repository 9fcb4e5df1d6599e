// What an operation is given: decided once before a phase, made anew for each operation.
import { pooled } from './documents.mjs';
import { bind, KINDS, PARTS, reading } from './operations.mjs';
import { Refusal } from './protocol.mjs';

/** It reads what it made, so that the cost of making and reading is measured with it. */
const NOOP = {
  call: () => undefined,
  right: (_, { read }, { documents }) => {
    if (documents) for (let i = 0; i < documents.length; i += 1) read(documents[i]);
    return true;
  },
};
export const KIND_NAMES = ['noop', ...Object.keys(KINDS)];

/** What a document adds to the sum; a Long is a value beyond 2^53, or was made here. */
function summed(name) {
  return (document) => {
    const value = name ? (document[name] ?? 0) : 0;
    return typeof value === 'number' ? value : value.toNumber();
  };
}

/** Adds a document to the totals. */
function reader(totals, number) {
  return (document) => {
    totals.documents += 1;
    totals.sum += number(document);
    return true;
  };
}

/** `phase` has pools, plans, schedule, totals, item_step, databases and acknowledged. */
export function prepareOperation(definition, phase) {
  const { kind, shape, lazy, sum_field, write_concern } = definition;
  if (!KIND_NAMES.includes(kind)) throw new Refusal('unsupported', `operation kind ${kind}`);
  if (shape) throw new Refusal('unsupported', `shape ${shape}`);
  if (lazy) throw new Refusal('unsupported', 'a lazy insert_many');
  const { call, right, writes } = KINDS[kind] ?? NOOP;
  const answered = write_concern ? write_concern.w !== 0 : phase.acknowledged;
  const { totals } = phase;
  const number = summed(sum_field);
  const shared = { read: reader(totals, number), number, totals, answered };
  const bound = KINDS[kind] ? phase.databases.map((it) => bind(definition, it)) : [{}];
  const targets = bound.map((it) => ({ ...it, ...shared }));
  const make = maker(definition, targets[0].options, phase);
  const expected = answered || !writes;
  return { name: definition.name, call, right, expected, targets, make, part: PARTS[kind] };
}

/** worker => all that the call is given. */
function maker(definition, options, phase) {
  const { kind } = definition;
  if (kind === 'bulk_write') return (worker) => partsOf(worker, phase);
  const parts = ['filter', 'update', 'projection', 'pipeline', 'command']
    .filter((name) => definition[name])
    .map((name) => {
      const { pool, document, stamps } = definition[name];
      return [name, pooled([phase.pools[pool][document]], stamps)];
    });
  if (definition.documents) {
    const { pool, stamps } = definition.documents;
    const document = pooled(phase.pools[pool], stamps);
    if (kind === 'noop' || kind === 'insert_many') {
      parts.push(['documents', (worker) => several(worker, document, phase.item_step)]);
    } else {
      parts.push(['document', document]);
    }
  }
  const given = (worker) => {
    const made = {};
    for (const [name, part] of parts) made[name] = part(worker);
    return made;
  };
  if (kind === 'find' || (kind === 'find_one' && definition.projection)) {
    return (worker) => {
      const made = given(worker);
      made.options = reading(options, worker.count, made.projection);
      return made;
    };
  }
  return given;
}

function several(worker, document, item_step) {
  const made = new Array(worker.count);
  for (let item = 0; item < made.length; item += 1) {
    made[item] = document(worker);
    worker.key += item_step;
    worker.shift += item_step;
    worker.sequence += 1;
    worker.document += 1;
  }
  return made;
}

/** The parts are operations of the phase, with records of their own. */
function partsOf(worker, { plans, schedule }) {
  const { document: first, count } = worker;
  const models = [];
  const asked = { inserted: 0, matched: 0, deleted: 0 };
  for (let number = 0; number < count; number += 1) {
    const { make, part, targets } = plans[schedule.part(worker, first + number)];
    models.push(part.model(make(worker), targets[0].options));
    asked[part.adds_to] += 1;
    worker.sequence += 1;
  }
  return { models, asked };
}
