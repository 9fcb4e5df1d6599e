// Transactions of mongodb 4 to 7, with promises.
'use strict';

const { given } = require('../plan');

/** What ends a transaction whose part is not right. */
class WrongAnswer extends Error {}

/** The parts' calls, and what of their answers is a document or true if they are right. */
const PARTS = {
  insert_one: [
    (collection, made, options) => collection.insertOne(made.document, options),
    (answer) => answer.insertedId !== undefined
  ],
  find_one: [
    (collection, made, options) => collection.findOne(made.filter, { ...made.options, ...options }),
    (document) => document
  ],
  update_one: [
    (collection, made, options) => collection.updateOne(made.filter, made.update, options),
    matched
  ],
  replace_one: [
    (collection, made, options) => collection.replaceOne(made.filter, made.document, options),
    matched
  ],
  delete_one: [
    (collection, made, options) => collection.deleteOne(made.filter, options),
    (answer) => answer.deletedCount === 1
  ],
  find_one_and_update: [
    (collection, made, options) => collection.findOneAndUpdate(made.filter, made.update, options),
    (answer, major) => (major < 6 ? answer.value : answer)
  ]
};

function matched({ matchedCount, upsertedCount }) {
  return matchedCount === 1 || upsertedCount === 1;
}

/** One attempt: what its parts' answers are. */
async function attempt(parts, session, major) {
  const found = [];
  for (const { kind, target, made } of parts) {
    const [call, read] = PARTS[kind];
    const answer = read(await call(target.collection, made, { ...target.options, session }), major);
    if (!answer) throw new WrongAnswer(kind);
    found.push(answer);
  }
  return found;
}

/** By the driver's own loop, which tries again what may be tried again. */
async function transaction(target, parts, major) {
  const session = target.client.startSession();
  let attempts = 0;
  let found;
  try {
    await session.withTransaction(async () => {
      attempts += 1;
      found = await attempt(parts, session, major);
    }, target.options);
    return found;
  } catch (error) {
    if (error instanceof WrongAnswer) return null;
    throw error;
  } finally {
    target.totals.retries += attempts - 1;
    await session.endSession();
  }
}

exports.kind = (major) => ({
  call: (target, made, done) => {
    transaction(target, made.parts, major).then((found) => done(null, found), done);
  },
  right: (found, _target, made) => {
    if (!found) return false;
    made.parts.forEach(({ kind, target }, number) => {
      if (kind.startsWith('find_one')) target.read(found[number]);
    });
    return true;
  }
});

exports.bind = (definition, client) => ({
  client,
  options: given({
    writeConcern: definition.write_concern,
    readConcern: definition.read_concern && { level: definition.read_concern }
  })
});
