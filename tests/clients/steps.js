'use strict';
// Runs a generator that yields functions of one callback. Node 4 has generators, but no async
// functions, and these drivers are older than promises.
module.exports = function (generator) {
  const steps = generator();
  const fail = (error) => {
    console.error(error.stack || error);
    process.exit(1);
  };
  const go = (error, value) => {
    let step;
    try {
      step = error ? steps.throw(error) : steps.next(value);
    } catch (thrown) {
      return fail(thrown);
    }
    // setImmediate: a driver that catches exceptions of its callbacks would swallow ours.
    if (!step.done) step.value((wrong, result) => setImmediate(go, wrong, result));
  };
  process.on('uncaughtException', fail);
  go();
};
