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

// flight is one operation between its record and its sample.
type flight struct {
	record
	operation            *operation
	target               *target
	given                given
	intended, start, end int64
	answer               answer
	err                  error
	flying               bool // used in a window only
	landed               chan struct{}
}

// background is the context of calls that belong to no transaction.
var background = context.Background()

func (f *flight) fly() {
	f.start = now()
	f.answer, f.err = f.operation.call(background, f.target, &f.given)
	f.end = now()
}

// slot is one of a window's goroutines; it keeps its grown stack as the worker does.
func (w *worker) slot() {
	for f := range w.slots {
		f.fly()
		f.landed <- struct{}{}
	}
}

// worker is a goroutine that sleeps on a channel between turns: no spinning, and its grown stack
// is kept, which a goroutine per turn would have to grow again within the measurement.
type worker struct {
	phase        *phase
	number       int64 // number in this process
	queue        *queue
	turns        chan struct{}
	flights      []flight
	slots        chan *flight // places of a window
	reading, due int64        // the last clock reading; when the next operation may begin
	failures     int          // failures in a row
	gaveUp       bool
	buffer       []byte
	used         int
	written      int64 // time of the last write, or of the turn's beginning
	failure      error // failure of the sample file
	sleeper      *sleeper
	totals       answer
	in           input // one for all: it would escape to the heap
}

func (w *worker) work() {
	for range w.turns {
		w.reading, w.written, w.due = w.phase.began, w.phase.began, 0
		switch w.phase.Pacing.Mode {
		case "window":
			w.window()
		case "burst":
			w.burst()
		default:
			for f := &w.flights[0]; w.take(f); w.land(f) {
				f.fly()
			}
		}
		w.flush()
		w.phase.done <- struct{}{}
	}
}

// window keeps every slot in flight. Slots are a ring: the next operation takes the place of the
// oldest.
func (w *worker) window() {
	begun, size := 0, len(w.flights)
	land := func(f *flight) {
		if f.flying {
			<-f.landed
			w.land(f)
			f.flying = false
		}
	}
	for f := &w.flights[0]; w.take(f); land(f) {
		f.flying = true
		w.slots <- f
		begun++
		f = &w.flights[begun%size]
	}
	for i := range w.flights {
		land(&w.flights[(begun+i)%size])
	}
}

// burst gives each operation its own goroutine, as a program that fires everything at once. It
// lands ended operations in between, so that memory holds only those in flight.
func (w *worker) burst() {
	inFlight, landed := 0, make(chan *flight, burstLanded)
	for f := new(flight); w.take(f); f = new(flight) {
		go func() {
			f.fly()
			landed <- f
		}()
		for inFlight++; len(landed) > 0; inFlight-- {
			w.land(<-landed)
		}
		w.reading = max(w.reading, now()) // there may be no sample yet to compare with the deadline
	}
	for ; inFlight > 0; inFlight-- {
		w.land(<-landed)
	}
}

// take gets the next operation ready to be called, unless this worker's turn has ended.
func (w *worker) take(f *flight) (ok bool) {
	p, before := w.phase, int64(math.MaxInt64)
	if stop.Err() != nil || w.gaveUp || max(w.reading, w.due) >= p.until {
		return false
	}
	if p.Pacing.Mode == "rate" {
		before = p.until - p.t0
	}
	if f.record, ok = w.queue.take(before); !ok {
		return false
	}
	switch p.Pacing.Mode {
	case "rate":
		f.intended = p.t0 + f.record.intended
		w.due = f.intended
	case "burst":
		f.intended = p.t0
	}
	if w.due > w.reading && !w.sleeper.until(w.due) {
		return false
	}
	o, client := p.Operations[f.record.operation], w.number
	if p.deal == "operation" && p.shared {
		client = f.number
	} else if p.deal == "operation" {
		client += f.number
	}
	client %= int64(len(o.targets))
	f.operation, f.target = o, o.targets[client]
	o.give(&f.given, w, &f.record, client)
	f.target.setOptions(&f.given)
	return true
}

// input sets the values that the stamps of a record's first document take.
func (w *worker) input(r *record) *input {
	w.in = input{Key: r.key, Sequence: r.number, GUID: r.guid, live: true,
		Producer: w.number + w.phase.FirstWorker}
	if r.advances {
		w.in.Shift = r.lap * w.phase.LapStep
	}
	return &w.in
}

// land writes the sample of an operation that has ended.
func (w *worker) land(f *flight) {
	p := w.phase
	outcome := f.judge(p, &w.totals)
	w.failures++
	if outcome == 0 {
		w.failures = 0
	}
	w.gaveUp = w.gaveUp || w.failures == p.ErrorsConsecutiveMax
	if !p.shared {
		f.intended = f.start
	}
	putSample(w.buffer[w.used:], f, outcome, w.number+p.FirstWorker)
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
		w.failure = err
	}
	w.used, w.written = 0, w.reading
}

// sleeper is a timer of the kernel. The runtime's own timers round up to the next millisecond in an
// idle process, and that would count as the driver's lateness.
type sleeper struct {
	fd     int // timer.Fd() would make it blocking
	timer  *os.File
	buffer [8]byte
	forget func() bool
}

func newSleeper() (*sleeper, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	s := &sleeper{fd: fd, timer: os.NewFile(uintptr(fd), "timer")}
	s.forget = context.AfterFunc(stop, func() { s.timer.SetReadDeadline(time.Unix(1, 0)) })
	return s, err
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
