'use strict';
// node client.js ADDRESS: npm's mongolian 0.1.18, the steps of tests/instruments/old_clients.rs.
const Mongolian = require('mongolian');
const wire = require('buffalo').mongo; // the driver's own BSON and messages
const steps = require('../steps');

const TAILABLE = 2;
const AWAIT_DATA = 32;
const connect = () => new Mongolian(process.argv[2], { log: false }).db('old_clients');

const idsOf = (found) => found.map((document) => document._id);
const total = (numbers) => [numbers.length, numbers.reduce((sum, number) => sum + number, 0)];

steps(function* () {
  const db = connect();
  const other = connect();
  yield (done) => db.dropDatabase(done);
  const items = db.collection('items');
  const find = (query) => (done) => items.find(query).toArray(done);
  const count = (query) => (done) => items.count(query, done);
  const name = (_id) => (done) => items.findOne({ _id }, (error, it) => done(error, it && it.name));
  const seen = {};

  for (let first = 1; first <= 150; first += 50) {
    const batch = [];
    for (let _id = first; _id < first + 50; _id++) {
      batch.push({ _id, name: `n${_id}`, group: _id % 3 });
    }
    yield (done) => items.insert(batch, done);
  }
  seen.all = total(idsOf(yield find({})));
  seen.group = total(idsOf(yield find({ group: 1 })));
  seen.range = idsOf(yield find({ _id: { $gte: 145 } }));
  seen.one = yield name(7);
  seen.counts = [yield count({ group: 1 }), yield count({})];
  seen.updated = yield (done) => items.update({ _id: 7 }, { $set: { name: 'changed' } }, done);
  seen.changed = yield name(7);
  seen.removed = yield (done) => items.remove({ group: 2 }, done);
  seen.left = yield count({});
  seen.duplicate = yield (done) => items.insert({ _id: 7 }, (e) => done(null, e && e.result.code));

  yield (done) => db.runCommand({ create: 'messages', capped: true, size: 1 << 20 }, done);
  yield (done) => db.collection('messages').insert({ number: 0 }, done);
  // Its cursors have no flags, its messages do: applications that tail with it send messages.
  const namespace = 'old_clients.messages';
  const query = wire.serializeQuery(namespace, TAILABLE | AWAIT_DATA, 0, 0, {});
  let batch = yield (done) => db.sendCommand(query, done);
  seen.tailed = batch.documents.map((message) => message.number); // the sentinel
  for (let number = 1; number <= 20; number++) {
    other.collection('messages').insert({ number }, () => {});
  }
  while (seen.tailed.length <= 20) {
    const more = wire.serializeGetMore(namespace, 0, batch.cursor);
    batch = yield (done) => db.sendCommand(more, done);
    for (const message of batch.documents) seen.tailed.push(message.number);
  }

  console.log(JSON.stringify(seen));
  process.exit(0); // a tailable cursor waits for ever
});
