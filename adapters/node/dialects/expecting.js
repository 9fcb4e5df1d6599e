// Outcomes that an operation expects, of mongodb 4 to 7.
'use strict';

const DUPLICATE_KEY = 11000;

const MISSING = {
  find_one: (document) => !document,
  update_one: (answer) => answer.matchedCount === 0 && !answer.upsertedCount,
  delete_one: (answer) => answer.deletedCount === 0
};

/** Documents that were there already; undefined if something else failed. */
function duplicates(error) {
  const refused = [error.writeErrors ?? error].flat();
  const only = refused.every(({ code }) => code === DUPLICATE_KEY);
  return only && !error.result?.getWriteConcernError?.() ? refused.length : undefined;
}

function inserting(call) {
  return {
    call: (target, made, done) => {
      call(target, made, (error) => {
        const known = error ? duplicates(error) : 0;
        if (known === undefined) done(error);
        else done(null, known);
      });
    },
    right: (known, target) => {
      target.totals.documents += known;
      return true;
    }
  };
}

/** The call of a kind, and what is right about its answer. */
module.exports = function expecting({ kind, expect }, found) {
  if (expect === 'missing') return { call: found.call, right: MISSING[kind] };
  return expect === 'duplicate' ? inserting(found.call) : found;
};
