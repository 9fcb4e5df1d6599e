package main

import (
	"context"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const samplesBuffered = 32768

// writtenNS is how long samples may wait in a turn that is longer.
const writtenNS = 1_000_000_000

// burstLanded bounds how many operations of a burst have ended and wait for their samples.
const burstLanded = 1024

// given is what one call is given; all of it exists before the first clock reading.
type given struct {
	filter, projection, update, document, command document
	documents                                     batch
	pipeline                                      array
	limit                                         int64
	prepared
}

type answer struct{ documents, sum int64 }

// call is the measured part: the driver's call as its users write it, its answer consumed.
type call func(t *target, ctx context.Context, with *given) (answer, error)

// wrong is an answer that came, and is not the right one.
type wrong string

func (w wrong) Error() string { return string(w) }

// noop reads the documents made for it, as those of an answer are read.
func (t *target) noop(_ context.Context, with *given) (got answer, err error) {
	for _, made := range with.documents {
		got.documents++
		got.sum += integer(made, t.SumField)
	}
	return got, nil
}

func (t *target) readModifyWrite(ctx context.Context, with *given) (answer, error) {
	got, err := t.findOne(ctx, with)
	if err == nil {
		_, err = t.updateOne(ctx, with)
	}
	return got, err
}

// flight is one operation between its record and its sample.
type flight struct {
	record
	call                 call
	target               *target
	given                given
	intended, start, end int64
	answer               answer
	err                  error
	begin, landed        chan struct{} // of a window's slots
}

// worker is a goroutine that sleeps on a channel between turns: no spinning, and its grown stack
// is kept, which a goroutine per turn would have to grow again within the measurement.
type worker struct {
	phase                   *phase
	number                  int64 // of the sample's field
	firstClient, clientStep int64 // of its operation 0; from one operation to the next
	queue                   *queue
	turns                   chan *turn
	flights                 []flight
	reading, due            int64 // the last clock reading; the end of the think time
	failures                int   // in a row
	gaveUp                  bool
	buffer                  []byte
	used                    int
	written                 int64 // when the buffer was, or the turn's beginning
	sleeper                 *sleeper
	totals                  answer
	in                      input // one for all: it would escape to the heap
}

func (w *worker) work() {
	for t := range w.turns {
		w.reading, w.written, w.due = t.began, t.began, 0
		switch w.phase.Pacing.Mode {
		case "window":
			w.window(t)
		case "burst":
			w.burst(t)
		default:
			for f := &w.flights[0]; w.take(t, f); w.land(f) {
				f.fly()
			}
		}
		w.flush()
		if t.running.Add(-1) == 0 {
			close(t.done)
		}
	}
}

// window keeps every slot in flight; the next operation begins when the oldest slot is free.
func (w *worker) window(t *turn) {
	begun, landed := 0, 0
	land := func() {
		f := &w.flights[landed%len(w.flights)]
		<-f.landed
		w.land(f)
		landed++
	}
	for f := &w.flights[0]; w.take(t, f); f = &w.flights[begun%len(w.flights)] {
		f.begin <- struct{}{}
		begun++
		if begun-landed == len(w.flights) {
			land()
		}
	}
	for landed < begun {
		land()
	}
}

// burst gives each operation a goroutine of its own, as a program that fires everything at once.
// Ended operations are landed in between, so that memory holds only those in flight.
func (w *worker) burst(t *turn) {
	inFlight, landed := 0, make(chan *flight, burstLanded)
	for f := new(flight); w.take(t, f); f = new(flight) {
		go func() {
			f.fly()
			landed <- f
		}()
		for inFlight++; len(landed) > 0; inFlight-- {
			w.land(<-landed)
		}
		w.reading = max(w.reading, now()) // there may be no sample yet to hold against the deadline
	}
	for ; inFlight > 0; inFlight-- {
		w.land(<-landed)
	}
}

// take gets the next operation ready to be called, unless this worker's turn is over.
func (w *worker) take(t *turn, f *flight) (ok bool) {
	p, before := w.phase, int64(math.MaxInt64)
	select {
	case <-p.stop.Done():
		return false
	default:
	}
	if w.gaveUp || max(w.reading, w.due) >= t.until {
		return false
	}
	if p.Pacing.Mode == "rate" {
		before = t.until - p.t0
	} else if w.due > w.reading && !w.sleeper.until(w.due) {
		return false
	}
	if f.record, ok = w.queue.take(before); !ok {
		return false
	}
	switch p.Pacing.Mode {
	case "rate":
		f.intended = p.t0 + f.record.intended
		if f.intended > w.reading && !w.sleeper.until(f.intended) {
			return false
		}
	case "burst":
		f.intended = p.t0
	}
	w.give(f)
	return true
}

// give makes the values that an application has at hand when it calls the driver.
func (w *worker) give(f *flight) {
	p, r, with := w.phase, &f.record, &f.given
	o, in := p.operations[r.operation], w.input(r)
	f.call, f.target = o.call, o.targets[0]
	if clients := int64(len(o.targets)); clients > 1 {
		f.target = o.targets[(w.firstClient+w.clientStep*r.number)%clients]
	}
	switch {
	case o.batched:
		with.documents = make(batch, r.count)
		for j := range with.documents {
			with.documents[j] = o.documents[(r.document+j)%len(o.documents)].make(in)
			in.Sequence++
			in.Shift += p.ItemStep
		}
	case o.Kind == "bulk_write":
		for j := range r.count {
			part := p.schedule.record(p.schedule.length + r.document + j)
			part.lap, part.number = r.lap, r.number+int64(j)
			var of given
			to := p.operations[part.operation]
			to.give(&of, w.input(&part), &part)
			with.add(to.operationSpec, &of)
		}
	default:
		o.give(with, in, r)
	}
}

// input is what the stamps of a record's first document are made of, until the next one.
func (w *worker) input(r *record) *input {
	w.in = input{Key: r.key, Sequence: r.number, Producer: w.number, GUID: r.guid}
	if r.advances {
		w.in.Shift = r.lap * w.phase.LapStep
	}
	return &w.in
}

func (o *operation) give(with *given, in *input, r *record) {
	if o.filter != nil {
		with.filter = o.filter.make(in)
	}
	if o.update != nil {
		with.update = o.update.make(in)
	}
	if o.documents != nil {
		with.document = o.documents[r.document].make(in)
	}
	if o.pipeline != nil {
		with.pipeline = o.pipeline.make(in)[0].Value.(array)
	}
	if o.command != nil {
		with.command = o.command.make(in)
	}
	if o.projection != nil {
		with.projection = o.projection.make(in)
	}
	if o.Kind == "find" {
		with.limit = int64(r.count)
	}
	if with.limit > 0 || with.projection != nil {
		with.setOptions(o.operationSpec)
	}
}

func (f *flight) fly() {
	f.start = now()
	f.answer, f.err = f.call(f.target, context.Background(), &f.given)
	f.end = now()
}

// land writes the sample of an operation that has ended.
func (w *worker) land(f *flight) {
	p, outcome := w.phase, byte(0)
	if f.err == nil {
		w.totals.documents += f.answer.documents
		w.totals.sum += f.answer.sum
		w.failures = 0
	} else {
		outcome = p.note(f.err)
		w.failures++
		w.gaveUp = w.gaveUp || w.failures == p.ErrorsConsecutiveMax
	}
	if !p.shared {
		f.intended = f.start
	}
	putSample(w.buffer[w.used:], f, outcome, w.number)
	w.used += sampleBytes
	w.reading = max(w.reading, f.end)
	if w.used == len(w.buffer) || w.reading-w.written >= writtenNS {
		w.flush()
	}
	if p.Pacing.ThinkNS > 0 {
		w.due = f.end + p.Pacing.ThinkNS
	}
	f.given = given{} // a batch is not kept while the worker sleeps
}

// flush appends; the file's own lock keeps the writes of several workers apart.
func (w *worker) flush() {
	if _, err := w.phase.samples.Write(w.buffer[:w.used]); err != nil {
		w.phase.mutex.Lock()
		w.phase.failure = err
		w.phase.mutex.Unlock()
	}
	w.used, w.written = 0, w.reading
}

// sleeper is a timer of the kernel. The runtime's own timers round up to the next millisecond in
// an idle process, and that would count as the driver's lateness.
type sleeper struct {
	fd     int // timer.Fd() would make it blocking
	timer  *os.File
	buffer [8]byte
	forget func() bool
}

func newSleeper(stop context.Context) (*sleeper, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	s := &sleeper{fd: fd, timer: os.NewFile(uintptr(fd), "timer")}
	s.forget = context.AfterFunc(stop, func() { s.timer.SetReadDeadline(time.Unix(1, 0)) })
	return s, nil
}

// until sleeps; false: the process must stop.
func (s *sleeper) until(at int64) bool {
	alarm := unix.ItimerSpec{Value: unix.NsecToTimespec(at + clock.epoch)}
	err := unix.TimerfdSettime(s.fd, unix.TFD_TIMER_ABSTIME, &alarm, nil)
	if err == nil {
		_, err = s.timer.Read(s.buffer[:])
	}
	return err == nil
}

func (s *sleeper) close() {
	s.forget()
	s.timer.Close()
}
