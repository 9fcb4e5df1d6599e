package main

import (
	"context"
	"math"
	"os"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sys/unix"
)

const samplesBuffered = 32768

// burstLanded bounds how many operations of a burst have ended and wait for their samples.
const burstLanded = 1024

type turn struct {
	began, until int64
	done         sync.WaitGroup
}

// flight is one operation between its record and its sample.
type flight struct {
	record
	operation            *operation
	arguments            arguments
	intended, start, end int64
	answer               answer
	err                  error
	begin, landed        chan struct{} // of a window's slots
}

type counts struct{ operations, completed, errors, ended int64 }

// worker is a goroutine that sleeps on a channel between turns: no spinning, and its grown stack
// is kept, which a goroutine per turn would have to grow again within the measurement.
type worker struct {
	phase        *phase
	number       int64 // of the sample's field
	queue        *queue
	turns        chan *turn
	flights      []flight
	made         int64 // documents for insertion in this phase
	reading, due int64 // the last clock reading; the end of the think time
	failures     int   // in a row
	gaveUp       bool
	buffer       []byte
	used         int
	sleeper      *sleeper
	turn, all    counts
	totals       answer
}

func (c *counts) add(other *counts) {
	c.operations += other.operations
	c.completed += other.completed
	c.errors += other.errors
	c.ended = max(c.ended, other.ended)
}

func (w *worker) work() {
	for t := range w.turns {
		w.turn, w.reading = counts{}, t.began
		switch w.phase.Pacing.Mode {
		case "window":
			w.window(t)
		case "burst":
			w.burst(t)
		default:
			for f := &w.flights[0]; w.take(t, f); w.land(t, f) {
				f.fly()
			}
		}
		w.all.add(&w.turn)
		w.flush()
		t.done.Done()
	}
}

// window keeps every slot in flight; the next operation begins when the oldest slot is free.
func (w *worker) window(t *turn) {
	begun, landed := 0, 0
	land := func() {
		f := &w.flights[landed%len(w.flights)]
		<-f.landed
		w.land(t, f)
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
			w.land(t, <-landed)
		}
		w.reading = max(w.reading, now()) // there may be no sample yet to hold against the deadline
	}
	for ; inFlight > 0; inFlight-- {
		w.land(t, <-landed)
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
	w.makeArguments(f)
	return true
}

// makeArguments makes the values that an application has at hand when it calls the driver.
func (w *worker) makeArguments(f *flight) {
	f.operation = w.phase.operations[f.record.operation]
	o, with := f.operation, &f.arguments
	in := input{Key: w.key(o, f), Lap: f.lap, Sequence: f.number, Producer: w.number, GUID: f.guid}
	*with = arguments{}
	if o.filter != nil {
		with.filter = o.filter.make(&in)
	}
	if o.update != nil {
		with.update = o.update.make(&in)
	}
	if o.pipeline != nil {
		with.pipeline = stages(o.pipeline.make(&in))
	}
	if o.command != nil {
		with.command = o.command.make(&in)
	}
	switch {
	case o.Kind == "insert_many":
		with.documents = make([]bson.D, o.Batch)
		for j := range with.documents {
			in.Item, in.Key = int64(j), w.key(o, f)
			with.documents[j] = o.pool[(f.document+j)%len(o.pool)].make(&in)
			w.made++
		}
	case o.pool != nil:
		with.document = o.pool[f.document].make(&in)
		if o.Kind == "insert_one" {
			w.made++
		}
	}
}

func (w *worker) key(o *operation, f *flight) int64 {
	c, n := &w.phase.Counter, w.made
	switch o.Key {
	case "counter":
	case "latest":
		if n -= 1 + f.record.key; n < 0 {
			return max(0, c.Loaded+n)
		}
	default:
		return f.record.key
	}
	return c.First + w.number + c.Stride*n
}

func (f *flight) fly() {
	f.start = now()
	f.answer, f.err = f.operation.call(context.Background(), &f.arguments)
	f.end = now()
}

// land writes the sample of an operation that has ended.
func (w *worker) land(t *turn, f *flight) {
	p, outcome := w.phase, byte(0)
	w.turn.operations++
	w.totals.documents += f.answer.documents
	w.totals.sum += f.answer.sum
	if f.err == nil {
		w.failures = 0
	} else {
		outcome = p.note(f.err)
		w.turn.errors++
		w.failures++
		w.gaveUp = w.gaveUp || w.failures == p.ErrorsConsecutiveMax
	}
	if f.end <= t.until {
		w.turn.completed++
	}
	if !p.shared() {
		f.intended = f.start
	}
	if p.Warmup {
		outcome += 128
	}
	putSample(w.buffer[w.used:], f, outcome, w.number)
	if w.used += sampleBytes; w.used == len(w.buffer) {
		w.flush()
	}
	w.reading = max(w.reading, f.end)
	w.turn.ended = w.reading
	if p.Pacing.ThinkNS > 0 {
		w.due = f.end + p.Pacing.ThinkNS
	}
}

// flush appends; the file's own lock keeps the writes of several workers apart.
func (w *worker) flush() {
	if _, err := w.phase.samples.Write(w.buffer[:w.used]); err != nil {
		w.phase.mutex.Lock()
		w.phase.failure = err
		w.phase.mutex.Unlock()
	}
	w.used = 0
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
