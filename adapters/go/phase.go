package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"golang.org/x/sys/unix"
)

type prepareMessage struct {
	Role, Samples, Schedule string
	Warmup                  bool
	Pools                   []string
	DocumentForm            string `json:"document_form"`
	Workers                 int
	FirstWorker             int `json:"first_worker"`
	Limits                  []int64
	Pacing                  struct {
		Mode    string
		ThinkNS int64 `json:"think_ns"`
		Size    int
	}
	Counter              struct{ First, Stride, Loaded int64 }
	ErrorsConsecutiveMax int `json:"errors_consecutive_max"`
	Operations           []*operationSpec
}

// phase holds the state from `prepare` to `end`.
type phase struct {
	*prepareMessage
	operations []*operation
	schedule   *schedule
	queues     []*queue
	workers    []*worker
	samples    *os.File
	stop       context.Context
	t0         int64
	started    bool
	mutex      sync.Mutex // guards the fields below
	errors     []*errorCount
	failure    error // a sample file that cannot be written
}

type errorCount struct {
	Code    int    `json:"code"`
	Name    string `json:"name"`
	Count   int    `json:"count"`
	Message string `json:"message"`
}

func newPhase(stop context.Context, m *prepareMessage, db *mongo.Database,
	concern *writeconcern.WriteConcern) (p *phase, err error) {
	p = &phase{prepareMessage: m, stop: stop}
	bind := func() error { return p.bind(db, concern) }
	steps := []func() error{m.check, bind, p.loadPools, p.cutSchedule, p.addWorkers}
	for _, step := range steps {
		if err = step(); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *phase) bind(db *mongo.Database, concern *writeconcern.WriteConcern) error {
	for _, spec := range p.Operations {
		o, err := newOperation(spec, db, concern)
		if err != nil {
			return err
		}
		p.operations = append(p.operations, o)
	}
	return nil
}

func (m *prepareMessage) check() error {
	switch m.Pacing.Mode {
	case "awaited", "rate", "burst":
		m.Pacing.Size = 1
	case "window":
	default:
		return refuse("unsupported", "pacing %q", m.Pacing.Mode)
	}
	if m.Role != "worker" {
		return refuse("unsupported", "role %q", m.Role)
	}
	if m.DocumentForm != "native" {
		return refuse("unsupported", "document form %q", m.DocumentForm)
	}
	if m.Workers < 1 || m.FirstWorker < 0 || m.FirstWorker+m.Workers > 1<<16 || m.Pacing.Size < 1 {
		return refuse("protocol", "workers, first_worker or size out of range")
	}
	for _, spec := range m.Operations {
		if spec.Key != "schedule" && spec.Key != "counter" && spec.Key != "latest" && spec.Key != "" {
			return refuse("unsupported", "key %q", spec.Key)
		}
		if spec.Documents != nil && (spec.Documents.Pool < 0 || spec.Documents.Pool >= len(m.Pools)) {
			return refuse("protocol", "pool %d of %d", spec.Documents.Pool, len(m.Pools))
		}
	}
	return nil
}

func (m *prepareMessage) shared() bool {
	return m.Pacing.Mode == "rate" || m.Pacing.Mode == "burst"
}

func (p *phase) loadPools() error {
	for _, o := range p.operations {
		if o.Documents == nil {
			continue
		}
		documents, err := readPool(p.Pools[o.Documents.Pool])
		if err != nil {
			return err
		}
		for _, document := range documents {
			t, err := newTemplate(document, o.Documents.Stamps)
			if err != nil {
				return err
			}
			o.pool = append(o.pool, t)
		}
	}
	return nil
}

// cutSchedule looks at every record once, so that the hot path need not doubt them.
func (p *phase) cutSchedule() (err error) {
	if p.schedule, err = openSchedule(p.Schedule); err != nil {
		return err
	}
	s, slices := p.schedule, p.Workers
	if p.shared() {
		slices = 1
	}
	if s.slices != slices || p.Limits != nil && len(p.Limits) != slices {
		return fmt.Errorf("schedule of %d slices and %d limits, expected %d", s.slices,
			len(p.Limits), slices)
	}
	for i := range s.length {
		r := s.record(i)
		if r.operation >= len(p.operations) {
			return fmt.Errorf("record %d: operation %d", i, r.operation)
		}
		if o := p.operations[r.operation]; o.Documents != nil && r.document >= len(o.pool) {
			return fmt.Errorf("record %d: document %d of %d", i, r.document, len(o.pool))
		}
	}
	for i := range slices {
		q := &queue{schedule: s, first: i * s.length / slices, length: s.length / slices,
			limit: math.MaxInt64}
		if p.Limits != nil {
			q.limit = p.Limits[i]
		}
		p.queues = append(p.queues, q)
	}
	return nil
}

func (p *phase) addWorkers() (err error) {
	if p.samples, err = os.Create(p.Samples); err != nil {
		return err
	}
	for i := 0; i < p.Workers && err == nil; i++ {
		err = p.addWorker(i)
	}
	return err
}

func (p *phase) addWorker(i int) (err error) {
	w := &worker{phase: p, number: int64(p.FirstWorker + i), queue: p.queues[i%len(p.queues)],
		turns: make(chan *turn), flights: make([]flight, p.Pacing.Size)}
	// Outside of the heap, as the schedule is.
	const access, kind = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_ANON | unix.MAP_PRIVATE
	w.buffer, err = unix.Mmap(-1, 0, samplesBuffered*sampleBytes, access, kind)
	if err != nil {
		return err
	}
	if p.Pacing.Mode == "rate" || p.Pacing.ThinkNS > 0 {
		if w.sleeper, err = newSleeper(p.stop); err != nil {
			return err
		}
	}
	if p.Pacing.Mode == "window" {
		for i := range w.flights {
			f := &w.flights[i]
			f.begin, f.landed = make(chan struct{}), make(chan struct{}, 1)
			go func() {
				for range f.begin {
					f.fly()
					f.landed <- struct{}{}
				}
			}()
		}
	}
	p.workers = append(p.workers, w)
	go w.work()
	return nil
}

func (p *phase) close() {
	for _, w := range p.workers {
		close(w.turns)
		for i := range w.flights {
			if begin := w.flights[i].begin; begin != nil {
				close(begin)
			}
		}
		unix.Munmap(w.buffer)
		if w.sleeper != nil {
			w.sleeper.close()
		}
	}
	if p.samples != nil {
		p.samples.Close()
	}
	if p.schedule != nil {
		p.schedule.close()
	}
}

// turn lets the workers go, waits for them, and returns the sums of their work.
func (p *phase) turn(start, until int64) (fields, error) {
	t := &turn{until: until}
	ahead := start > now()
	if ahead {
		s, err := newSleeper(p.stop)
		if err != nil {
			return nil, err
		}
		s.until(start)
		s.close()
	}
	t.began = now()
	if !p.started {
		p.started = true
		if p.t0 = t.began; ahead {
			p.t0 = start
		}
	}
	t.done.Add(len(p.workers))
	for _, w := range p.workers {
		w.turns <- t
	}
	t.done.Wait()
	sum, exhausted, gaveUp := counts{ended: t.began}, true, false
	for _, w := range p.workers {
		sum.add(&w.turn)
		gaveUp = gaveUp || w.gaveUp
	}
	for _, q := range p.queues {
		exhausted = exhausted && q.exhausted()
	}
	return fields{"began_ns": t.began, "ended_ns": sum.ended, "operations": sum.operations,
		"completed_by_deadline": sum.completed, "errors": sum.errors, "exhausted": exhausted,
		"gave_up": gaveUp}, p.failure
}

func (p *phase) end() (fields, error) {
	var all counts
	var totals answer
	for _, w := range p.workers {
		all.add(&w.all)
		totals.documents += w.totals.documents
		totals.sum += w.totals.sum
	}
	info, err := p.samples.Stat()
	if err = cmp.Or(p.failure, err); err != nil {
		return nil, err
	}
	return fields{"operations": all.operations, "samples": info.Size() / sampleBytes,
		"totals": fields{"documents": totals.documents, "sum": totals.sum},
		"errors": append([]*errorCount{}, p.errors...)}, nil
}

// note counts an error and returns its outcome.
func (p *phase) note(err error) byte {
	code, name := describe(err)
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var entry *errorCount
	for _, known := range p.errors {
		if known.Code == code && known.Name == name {
			entry = known
		}
	}
	if entry == nil {
		entry = &errorCount{Code: code, Name: name, Message: masked(err.Error())}
		p.errors = append(p.errors, entry)
	}
	entry.Count++
	switch {
	case errors.As(err, new(wrong)):
		return 1
	case mongo.IsTimeout(err):
		return 3
	}
	return 2
}
