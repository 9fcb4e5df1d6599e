package main

import (
	"cmp"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

type prepareMessage struct {
	Samples, Schedule string
	Pools             []string
	Workers           int
	FirstWorker       int64 `json:"first_worker"`
	Limits            []int64
	Pacing            struct {
		Mode    string
		ThinkNS int64 `json:"think_ns"`
		Size    int
	}
	LapStep              int64 `json:"lap_step"`
	ItemStep             int64 `json:"item_step"`
	ErrorsConsecutiveMax int   `json:"errors_consecutive_max"`
	Operations           []*operation
}

// phase holds the state from `prepare` to `end`.
type phase struct {
	*prepareMessage
	deal             string
	shared           bool // one queue for all workers
	schedule         schedule
	queues           []*queue
	workers          []*worker
	samples          *os.File
	t0, began, until int64         // T0; of the turn
	done             chan struct{} // from each worker
	collected        debug.GCStats // until `ready`
	mutex            sync.Mutex    // guards the errors
	errors           []*errorCount
}

type errorCount struct {
	Code    int    `json:"code"`
	Name    string `json:"name"`
	Count   int    `json:"count"`
	Message string `json:"message"`
}

func newPhase(m *prepareMessage, clients []*client, deal string) (p *phase, err error) {
	p = &phase{prepareMessage: m, deal: deal, done: make(chan struct{})}
	if !slices.Contains(pacings, p.Pacing.Mode) {
		return nil, refuse("unsupported", "pacing %q", p.Pacing.Mode)
	}
	p.shared = p.Pacing.Mode == "rate" || p.Pacing.Mode == "burst"
	pools := make([][]document, len(p.Pools))
	for i, path := range p.Pools {
		if pools[i], err = readPool(path); err != nil {
			return nil, err
		}
	}
	for _, o := range p.Operations {
		if err = o.prepare(pools, clients); err != nil {
			return nil, err
		}
	}
	if p.samples, err = os.Create(p.Samples); err != nil {
		return nil, err
	}
	if p.schedule, err = openSchedule(p.Schedule); err != nil {
		return nil, err
	}
	length := p.schedule.records / p.schedule.slices
	for i := range p.schedule.slices {
		q := &queue{schedule: &p.schedule, first: i * length, length: length, limit: math.MaxInt64}
		if p.Limits != nil {
			q.limit = p.Limits[i]
		}
		p.queues = append(p.queues, q)
	}
	for i := range p.Workers {
		if err = p.addWorker(i); err != nil {
			return nil, err
		}
	}
	debug.ReadGCStats(&p.collected)
	return p, nil
}

func (p *phase) addWorker(i int) (err error) {
	w := &worker{phase: p, number: int64(i), queue: p.queues[i%len(p.queues)],
		turns: make(chan struct{}), flights: make([]flight, max(1, p.Pacing.Size)),
		slots: make(chan *flight)}
	// Allocated outside of the heap, as the schedule is.
	const access, kind = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_ANON | unix.MAP_PRIVATE
	w.buffer, err = unix.Mmap(-1, 0, samplesBuffered*sampleBytes, access, kind)
	if err == nil && (p.Pacing.Mode == "rate" || p.Pacing.ThinkNS > 0) {
		w.sleeper, err = newSleeper()
	}
	for i := range p.Pacing.Size {
		w.flights[i].landed = make(chan struct{}, 1)
		go w.slot()
	}
	p.workers = append(p.workers, w)
	go w.work()
	return err
}

func (p *phase) close() {
	for _, w := range p.workers {
		close(w.turns)
		close(w.slots)
		unix.Munmap(w.buffer)
		if w.sleeper != nil {
			w.sleeper.close()
		}
	}
	p.samples.Close()
	unix.Munmap(p.schedule.file)
}

// turn releases the workers and waits for them, or for the end of stdin: no line comes in a turn.
func (p *phase) turn(until int64, lines <-chan []byte) (fields, error) {
	p.until, p.began = until, now()
	if p.t0 == 0 {
		p.t0 = p.began
	}
	for _, w := range p.workers {
		w.turns <- struct{}{}
	}
	for range p.workers {
		select {
		case <-p.done:
		case <-lines:
			os.Exit(0)
		}
	}
	if stop.Err() != nil { // a turn that was stopped has no answer
		os.Exit(0)
	}
	var failure error
	exhausted, gaveUp := true, false
	for _, w := range p.workers {
		exhausted = exhausted && w.queue.exhausted()
		gaveUp = gaveUp || w.gaveUp
		failure = cmp.Or(failure, w.failure)
	}
	return fields{"type": "turn_done", "began_ns": p.began, "exhausted": exhausted,
		"gave_up": gaveUp}, failure
}

// result is the answer to `end`.
func (p *phase) result() fields {
	var documents, sum, retries int64
	for _, w := range p.workers {
		documents += w.totals.documents
		sum += w.totals.sum
		retries += w.totals.retries
	}
	totals := fields{"documents": documents, "sum": sum}
	if slices.ContainsFunc(p.Operations, func(o *operation) bool { return o.Kind == "transaction" }) {
		totals["retries"] = retries
	}
	var collected debug.GCStats
	debug.ReadGCStats(&collected)
	return fields{"type": "ended", "errors": append([]*errorCount{}, p.errors...),
		"totals": totals,
		"runtime": fields{"gc_count": collected.NumGC - p.collected.NumGC,
			"gc_ns": collected.PauseTotal - p.collected.PauseTotal}}
}

// messageBytes limits the text of an error: that of a batch names each of its documents.
const messageBytes = 4096

func told(err error) string {
	text := err.Error()
	return text[:min(len(text), messageBytes)]
}

// note counts an error.
func (p *phase) note(code int, name string, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, known := range p.errors {
		if known.Code == code && known.Name == name {
			known.Count++
			return
		}
	}
	p.errors = append(p.errors, &errorCount{code, name, 1, told(err)})
}
