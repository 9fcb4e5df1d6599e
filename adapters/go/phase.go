package main

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

type prepareMessage struct {
	Samples, Schedule string
	Pools             []string
	Workers           int
	FirstWorker       int `json:"first_worker"`
	Limits            []int64
	Pacing            struct {
		Mode    string
		ThinkNS int64 `json:"think_ns"`
		Size    int
	}
	LapStep              int64 `json:"lap_step"`
	ItemStep             int64 `json:"item_step"`
	ErrorsConsecutiveMax int   `json:"errors_consecutive_max"`
	Operations           []*operationSpec
}

// operationSpec is one entry of `operations`.
type operationSpec struct {
	Kind, Collection, Shape       string
	Documents, Filter, Projection *reference
	Update, Pipeline, Command     *reference
	Lazy                          bool
	Ordered, Upsert               *bool
	BatchSize                     int32    `json:"batch_size"`
	SumField                      string   `json:"sum_field"`
	WriteConcern                  *concern `json:"write_concern"`
	ReadConcern                   string   `json:"read_concern"`
	ReadPreference                string   `json:"read_preference"`
}

type concern struct {
	W any
	J *bool
}

// reference names a document of a pool, or with `documents` all of them.
type reference struct {
	Pool, Document int
	Stamps         []stamp
}

// operation is what is ready before the first turn.
type operation struct {
	*operationSpec
	call                                          call
	targets                                       []*target // one for each client
	filter, projection, update, pipeline, command *template
	documents                                     []*template
	batched                                       bool // takes `count` documents
}

// phase holds the state from `prepare` to `end`.
type phase struct {
	*prepareMessage
	shared     bool // one queue for all workers
	operations []*operation
	schedule   *schedule
	queues     []*queue
	workers    []*worker
	samples    *os.File
	stop       context.Context
	gone       chan struct{}
	t0         int64
	collected  debug.GCStats // until `ready`
	mutex      sync.Mutex    // guards the fields below
	errors     []*errorCount
	failure    error // a sample file that cannot be written
}

type errorCount struct {
	Code    int    `json:"code"`
	Name    string `json:"name"`
	Count   int    `json:"count"`
	Message string `json:"message"`
}

func newPhase(a *adapter, m *prepareMessage) (*phase, error) {
	p := &phase{prepareMessage: m, stop: a.stop, gone: a.gone}
	err := p.prepare(a)
	if err != nil {
		p.close()
		return nil, err
	}
	debug.ReadGCStats(&p.collected)
	return p, nil
}

func (p *phase) prepare(a *adapter) (err error) {
	switch p.Pacing.Mode {
	case "awaited", "window":
	case "rate", "burst":
		p.shared = true
	default:
		return refuse("unsupported", "pacing %q", p.Pacing.Mode)
	}
	pools := make([][]document, len(p.Pools))
	for i, path := range p.Pools {
		if pools[i], err = readPool(path); err != nil {
			return err
		}
	}
	for _, spec := range p.Operations {
		o, err := newOperation(spec, pools, a.clients)
		if err != nil {
			return err
		}
		p.operations = append(p.operations, o)
	}
	if p.schedule, err = openSchedule(p.Schedule); err != nil {
		return err
	}
	for i := range p.schedule.slices {
		length := p.schedule.length / p.schedule.slices
		q := &queue{schedule: p.schedule, first: i * length, length: length, limit: math.MaxInt64}
		if p.Limits != nil {
			q.limit = p.Limits[i]
		}
		p.queues = append(p.queues, q)
	}
	if p.samples, err = os.Create(p.Samples); err != nil {
		return err
	}
	for i := 0; i < p.Workers && err == nil; i++ {
		err = p.addWorker(i, a.deal)
	}
	return err
}

func newOperation(spec *operationSpec, pools [][]document, clients []*client) (*operation, error) {
	o := &operation{operationSpec: spec, call: calls[spec.Kind]}
	if o.call == nil || spec.Shape != "" || spec.Lazy {
		return nil, refuse("unsupported", "operation %q, shape %q, lazy %t", spec.Kind, spec.Shape,
			spec.Lazy)
	}
	for _, c := range clients {
		t, err := c.target(spec)
		if err != nil {
			return nil, err
		}
		o.targets = append(o.targets, t)
	}
	if clients == nil { // no-ops alone
		o.targets = []*target{{operationSpec: spec}}
	}
	one := func(r *reference) *template {
		if r == nil {
			return nil
		}
		return newTemplate(pools[r.Pool][r.Document], r.Stamps)
	}
	o.filter, o.projection, o.update = one(spec.Filter), one(spec.Projection), one(spec.Update)
	o.pipeline, o.command = one(spec.Pipeline), one(spec.Command)
	if r := spec.Documents; r != nil {
		for _, from := range pools[r.Pool] {
			o.documents = append(o.documents, newTemplate(from, r.Stamps))
		}
		o.batched = spec.Kind == "insert_many" || spec.Kind == "noop"
	}
	return o, nil
}

func (p *phase) addWorker(i int, deal string) (err error) {
	w := &worker{phase: p, number: int64(p.FirstWorker + i), queue: p.queues[i%len(p.queues)],
		firstClient: int64(i), turns: make(chan *turn), flights: make([]flight, max(1, p.Pacing.Size))}
	if deal == "operation" {
		w.clientStep = 1
		if p.shared {
			w.firstClient = 0
		}
	}
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

type turn struct {
	began, until int64
	running      atomic.Int32 // workers
	done         chan struct{}
}

// turn lets the workers go and waits for them.
func (p *phase) turn(until int64) (fields, error) {
	t := &turn{until: until, done: make(chan struct{})}
	t.running.Store(int32(len(p.workers)))
	t.began = now()
	if p.t0 == 0 {
		p.t0 = t.began
	}
	for _, w := range p.workers {
		w.turns <- t
	}
	select {
	case <-t.done:
	case <-p.gone:
		os.Exit(0)
	}
	if p.stop.Err() != nil { // a turn that was stopped has no answer
		os.Exit(0)
	}
	exhausted, gaveUp := true, false
	for _, q := range p.queues {
		exhausted = exhausted && q.exhausted()
	}
	for _, w := range p.workers {
		gaveUp = gaveUp || w.gaveUp
	}
	return fields{"type": "turn_done", "began_ns": t.began, "exhausted": exhausted,
		"gave_up": gaveUp}, p.failure
}

// result is the answer to `end`.
func (p *phase) result() fields {
	var totals answer
	for _, w := range p.workers {
		totals.documents += w.totals.documents
		totals.sum += w.totals.sum
	}
	var collected debug.GCStats
	debug.ReadGCStats(&collected)
	return fields{"type": "ended", "errors": append([]*errorCount{}, p.errors...),
		"totals": fields{"documents": totals.documents, "sum": totals.sum},
		"runtime": fields{"gc_count": collected.NumGC - p.collected.NumGC,
			"gc_ns": collected.PauseTotal - p.collected.PauseTotal}}
}

// messageBytes bounds what is told of an error: that of a batch names each of its documents.
const messageBytes = 4096

func told(err error) string {
	text := err.Error()
	return text[:min(len(text), messageBytes)]
}

// note counts an error and returns its outcome.
func (p *phase) note(err error) byte {
	code, name, outcome := 0, "WrongAnswer", byte(1)
	if !errors.As(err, new(wrong)) {
		timeout := false
		code, name, timeout = describe(err)
		if outcome = 2; timeout {
			outcome = 3
		}
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, known := range p.errors {
		if known.Code == code && known.Name == name {
			known.Count++
			return outcome
		}
	}
	p.errors = append(p.errors, &errorCount{code, name, 1, told(err)})
	return outcome
}
