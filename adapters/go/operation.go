package main

import (
	"errors"
	"fmt"
)

// operation is one entry of `operations`, and what is ready before the first turn.
type operation struct {
	Kind, Collection, Shape       string
	Documents, Filter, Projection *reference
	Update, Pipeline, Command     *reference
	Ordered, Upsert               *bool
	BatchSize                     int32    `json:"batch_size"`
	SumField                      string   `json:"sum_field"`
	WriteConcern                  *concern `json:"write_concern"`
	ReadConcern                   string   `json:"read_concern"`
	ReadPreference                string   `json:"read_preference"`

	call    call
	right   rightAnswer
	form    form
	targets []*target // one for each client
}

type concern struct {
	W any
	J *bool
}

// given is what one call is given; all of it exists before the first reading of the clock.
type given struct {
	filter, projection, update, pipeline, command document

	document  any // of the form of its operation
	documents many
	limit     int64
	prepared
}

// answer is what the driver returns: documents that were read or counted, or that a write changed.
type answer struct{ documents, sum int64 }

// call is the measured part: the driver's call as its users write it, its answer consumed.
type call func(t *target, with *given) (answer, error)

// rightAnswer says how many documents it has (one, any number, or as many as the record), and
// whether the program has read them.
type rightAnswer struct{ any, many, read bool }

// rightAnswers has all kinds except those that write one document.
var rightAnswers = map[string]rightAnswer{
	"noop": {any: true, read: true}, "find": {any: true, read: true},
	"aggregate": {any: true, read: true}, "count": {any: true, read: true},
	"estimated_count": {any: true, read: true}, "command": {any: true}, "drop": {any: true},
	"insert_many": {many: true}, "bulk_write": {many: true}, "find_one": {read: true},
	"read_modify_write": {read: true}, "find_one_and_update": {read: true},
}

// noop reads the documents made for it as an answer's documents are read.
func noop(t *target, with *given) (got answer, err error) {
	if with.documents != nil {
		t.form.reread(with.documents, &got)
	}
	return got, nil
}

func readModifyWrite(t *target, with *given) (answer, error) {
	got, err := findOne(t, with)
	if err != nil || got.documents != 1 {
		return got, err
	}
	updated, err := updateOne(t, with)
	if t.acknowledged {
		got.documents = updated.documents
	}
	return got, err
}

func (o *operation) prepare(pools [][]document, clients []*client) (err error) {
	o.call, o.right = calls[o.Kind], rightAnswers[o.Kind]
	has := shapes[o.Shape]
	if o.Shape == "" {
		has = native
	}
	if o.call == nil || has == nil {
		return refuse("unsupported", "operation %q of shape %q", o.Kind, o.Shape)
	}
	for _, c := range clients {
		o.targets = append(o.targets, c.target(o))
	}
	if clients == nil { // only for no-ops
		o.targets = []*target{{operation: o}}
	}
	for _, r := range []*reference{o.Documents, o.Filter, o.Projection, o.Update, o.Pipeline,
		o.Command} {
		if r != nil {
			r.pool = pools[r.Pool]
		}
	}
	o.form, err = has(o)
	return err
}

// give makes the values that an application has ready when it calls the driver.
func (o *operation) give(with *given, w *worker, r *record) {
	in := w.input(r)
	switch {
	case o.Kind == "bulk_write":
		for j := range r.count {
			var of given
			part := w.phase.schedule.record(w.phase.schedule.records + int64(r.document+j))
			part.lap, part.number = r.lap, r.number+int64(j)
			to := w.phase.Operations[part.operation]
			to.give(&of, w, &part)
			with.models = append(with.models, to.model(&of))
		}
		return
	case o.Kind == "find":
		with.limit = int64(r.count)
	case o.Documents == nil:
	case o.right.many || o.Kind == "noop":
		with.documents = o.form.many(r, in, w.phase.ItemStep)
	default:
		with.document = o.form.one(r, in)
	}
	with.filter, with.update = o.Filter.one(in), o.Update.one(in)
	with.pipeline, with.command = o.Pipeline.one(in), o.Command.one(in)
	with.projection = o.Projection.one(in)
}

// judge returns the outcome of an operation that has ended, and adds a right answer to totals.
func (f *flight) judge(p *phase, totals *answer) (outcome byte) {
	if f.err != nil && !errors.Is(f.err, errUnacknowledged) {
		code, name, timeout := describe(f.err)
		p.note(code, name, f.err)
		if timeout {
			return 3
		}
		return 2
	}
	o, wanted := f.operation, int64(1)
	if o.right.many {
		wanted = int64(f.count)
	}
	reads := o.Kind == "find_one" || o.Kind == "read_modify_write"
	if !o.right.any && f.answer.documents != wanted && (f.target.acknowledged || reads) {
		p.note(0, "WrongAnswer", fmt.Errorf("%s: an answer of %d documents, expected %d", o.Kind,
			f.answer.documents, wanted))
		return 1
	}
	if o.right.read {
		totals.documents += f.answer.documents
		totals.sum += f.answer.sum
	}
	return 0
}
