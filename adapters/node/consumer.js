// The consumer (protocol/SPEC.md, section 9): reads messages through a tailable cursor, or from a
// change stream.
'use strict';

const { setTimeout: sleep } = require('node:timers/promises');
const { Phase, RIGHT, stop } = require('./phase');
const { now_ns, Samples } = require('./protocol');

// The natural order is the only one that tailable cursors have, so it is not requested.
const TAIL = { tailable: true, awaitData: true, maxAwaitTimeMS: 100 };
const INSERTS = [{ $match: { operationType: 'insert' } }];
const REOPEN_AFTER_MS = 10;

class Consumer extends Phase {
  constructor(message, { databases }, { types }) {
    super(message);
    const { collection, expected, idle_ms, marker_field } = message.consumer;
    Object.assign(this, { expected, marker_field, idle_ns: idle_ms * 1e6 });
    this.path = message.samples;
    this.types = types;
    this.collection = databases[0].collection(collection);
    this.cursor = null; // none after one has died
    this.opened = false; // that cursor, as far as the server has answered
    this.last_id = undefined; // _id of the document read last: the position
    this.seeking = false; // the cursor's documents are known, up to the position
    this.lost = false; // the position has been overwritten
    this.failed = 0; // failures in a row
    this.gave_up = false;
    this.exhausted = false; // by the marker or by `expected`
    this.counted = { cursors: 0, positions_lost: 0 };
  }

  /** Takes its position after the sentinel. */
  ready(done) {
    this.takePosition().then(
      () => {
        this.samples = new Samples(this.path);
        done();
      },
      (error) => this.leaveCursor().then(() => done(error))
    );
  }

  async takePosition() {
    this.cursor = this.collection.find({}, TAIL);
    const document = await this.next();
    if (document?.sentinel !== true) {
      throw new Error(`${this.collection.collectionName} does not begin with a sentinel`);
    }
    this.last_id = document._id;
  }

  turn(message, done) {
    this.begin(message);
    this.run().then(() => done(null, this.turned(this.exhausted, this.gave_up)));
  }

  async run() {
    this.heard_ns = this.last_ns; // the last document
    while (this.goesOn()) {
      let document = null;
      try {
        if (!this.cursor) await this.reopen();
        document = await this.next();
        if (!this.seeking) this.failed = 0;
        // Overwritten between the look and the opening.
        else if (!document) throw new Error('the position is not where it was');
      } catch (error) {
        await this.recover(error);
      }
      if (document) this.take(document);
      await new Promise((go) => this.paused(go) || go());
    }
  }

  /** Limits are compared with the last reading; one await of the cursor lasts 100 ms at most. */
  goesOn() {
    const idle = this.last_ns - this.heard_ns >= this.idle_ns;
    const ended = this.exhausted || this.gave_up || idle || stop.requested;
    return !ended && this.last_ns < this.until_ns;
  }

  /** The next document, or null if none has come, with the reading of the clock when it came. */
  async next() {
    const document = await this.read();
    this.last_ns = now_ns();
    if (!this.opened) {
      this.opened = true;
      this.counted.cursors += 1;
    }
    if (!document && this.cursor.closed) throw new Error('the server ended the cursor');
    return document;
  }

  read() {
    return this.cursor.tryNext();
  }

  take(document) {
    this.heard_ns = this.last_ns;
    if (this.seeking) {
      this.seeking = !this.isLast(document._id);
      return;
    }
    if (this.lost) {
      this.lost = false;
      this.counted.positions_lost += 1;
    }
    this.last_id = document._id;
    if (document[this.marker_field] !== undefined) this.exhausted = true;
    else if (!document.sentinel) this.add(document);
  }

  /** Compared by their bytes: an _id may have any type. */
  isLast(_id) {
    const { serialize } = this.types;
    return serialize({ _id }).equals(serialize({ _id: this.last_id }));
  }

  add({ producer, sequence, made_ns }) {
    const start_ns = this.last_ns;
    this.samples.add(made_ns, start_ns, start_ns, sequence, 0, RIGHT, producer);
    this.totals.documents += 1;
    if (this.totals.documents >= this.expected) this.exhausted = true;
  }

  async recover(error) {
    this.last_ns = now_ns();
    this.thrown(error);
    await this.leaveCursor();
    this.failed += 1;
    this.gave_up = this.failed >= this.errors_max;
    if (!this.gave_up) await sleep(REOPEN_AFTER_MS);
  }

  /** Looks first: a cursor opened after a look in vain cannot see anything that was read before. */
  async reopen() {
    const position = await this.collection.findOne({ _id: this.last_id });
    this.seeking = Boolean(position); // undefined from the first of driver 4
    this.lost = !this.seeking;
    this.cursor = this.collection.find({}, TAIL);
  }

  async leaveCursor() {
    const { cursor } = this;
    this.cursor = null;
    this.opened = false;
    await cursor?.close().catch(() => {}); // one that failed may be beyond closing
  }

  end(done) {
    this.leaveCursor().then(() => done(null, { ...this.ended(), consumer: this.counted }));
  }
}

/** Reads a change stream. Its driver resumes it; the adapter only has to open it anew. */
class StreamConsumer extends Consumer {
  /** The first answer is that it is open. */
  async takePosition() {
    this.reopen();
    await this.next();
  }

  async read() {
    const change = await this.cursor.tryNext();
    this.token = this.cursor.resumeToken;
    return change?.fullDocument ?? null;
  }

  reopen() {
    const behind = this.token ? { resumeAfter: this.token } : {};
    this.cursor = this.collection.watch(INSERTS, { maxAwaitTimeMS: 100, ...behind });
  }
}

module.exports = { Consumer, StreamConsumer };
