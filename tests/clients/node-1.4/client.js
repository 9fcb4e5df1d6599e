'use strict';
// node client.js ADDRESS: npm's mongodb 1.4.3 does the steps of tests/instruments/old_clients.rs.
const MongoClient = require('mongodb').MongoClient;
const steps = require('../steps');

const uri = `mongodb://${process.argv[2]}/old_clients`;
const acknowledged = { w: 1 };

const idsOf = (found) => found.map((document) => document._id);
const total = (numbers) => [numbers.length, numbers.reduce((sum, number) => sum + number, 0)];

steps(function* () {
  const db = yield (done) => MongoClient.connect(uri, done);
  // One connection, or its messages overtake each other.
  const other = yield (done) => MongoClient.connect(`${uri}?maxPoolSize=1`, done);
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
    yield (done) => items.insert(batch, acknowledged, done);
  }
  seen.all = total(idsOf(yield find({})));
  seen.group = total(idsOf(yield find({ group: 1 })));
  seen.range = idsOf(yield find({ _id: { $gte: 145 } }));
  seen.one = yield name(7);
  seen.counts = [yield count({ group: 1 }), yield count({})];
  const change = { $set: { name: 'changed' } };
  const number = (done) => (error, n) => done(error, n); // without the whole answer behind it
  seen.updated = yield (done) => items.update({ _id: 7 }, change, acknowledged, number(done));
  seen.changed = yield name(7);
  seen.removed = yield (done) => items.remove({ group: 2 }, acknowledged, number(done));
  seen.left = yield count({});
  const code = (done) => (error) => done(null, error && error.code);
  seen.duplicate = yield (done) => items.insert({ _id: 7 }, acknowledged, code(done));

  const capped = { capped: true, size: 1 << 20 };
  const messages = yield (done) => db.createCollection('messages', capped, done);
  yield (done) => messages.insert({ number: 0 }, acknowledged, done);
  const options = { tailable: true, awaitdata: true, numberOfRetries: -1 };
  const cursor = messages.find({}, options);
  const next = (done) => cursor.nextObject(done);
  seen.tailed = [(yield next).number]; // the sentinel
  for (let number = 1; number <= 20; number++) {
    other.collection('messages').insert({ number }, acknowledged, () => {});
  }
  while (seen.tailed.length <= 20) seen.tailed.push((yield next).number);

  console.log(JSON.stringify(seen));
  process.exit(0); // a tailable cursor waits for ever
});
