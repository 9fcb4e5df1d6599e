package main

import (
	"context"
	"errors"
	"fmt"
)

// operation is one entry of `operations`, and what is ready before the first turn.
type operation struct {
	Kind, Collection, Shape, Field string
	Expect                         string
	Documents, Filter, Projection  *reference
	Update, Pipeline, Command      *reference
	Sort, Hint, Collation          *reference
	Ordered, Upsert                *bool
	Skip                           int64
	MaxTimeMS                      int64    `json:"max_time_ms"`
	BatchSize                      int32    `json:"batch_size"`
	SumField                       string   `json:"sum_field"`
	WriteConcern                   *concern `json:"write_concern"`
	ReadConcern                    string   `json:"read_concern"`
	ReadPreference                 string   `json:"read_preference"`

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
	parts     []part // of a transaction
	prepared
}

// part is an operation of a transaction, and what its call is given.
type part struct {
	*target
	given
}

// answer is what the driver returns: documents that were read or counted, or that a write changed.
// retries are attempts of a transaction after its first.
type answer struct{ documents, sum, retries int64 }

// call is the measured part: the driver's call as its users write it, its answer consumed.
type call func(ctx context.Context, t *target, with *given) (answer, error)

// rightAnswer says how many documents it has (one, any number, or as many as the record), and
// whether the program has read them.
type rightAnswer struct{ any, many, read bool }

// rightAnswers has all kinds except those that write one document.
var rightAnswers = map[string]rightAnswer{
	"transaction": {any: true, read: true},
	"noop":        {any: true, read: true}, "find": {any: true, read: true},
	"aggregate": {any: true, read: true}, "count": {any: true, read: true},
	"estimated_count": {any: true, read: true}, "command": {any: true}, "drop": {any: true},
	"distinct": {any: true, read: true}, "update_many": {any: true, read: true},
	"delete_many": {any: true, read: true}, "find_one": {read: true},
	"insert_many": {many: true}, "bulk_write": {many: true},
	"read_modify_write": {read: true}, "find_one_and_update": {read: true},
}

// noop reads the documents made for it as an answer's documents are read.
func noop(_ context.Context, t *target, with *given) (got answer, err error) {
	if with.documents != nil {
		t.form.reread(with.documents, &got)
	}
	return got, nil
}

func readModifyWrite(ctx context.Context, t *target, with *given) (answer, error) {
	got, err := findOne(ctx, t, with)
	if err != nil || got.documents != 1 {
		return got, err
	}
	updated, err := updateOne(ctx, t, with)
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
	for _, r := range []*reference{o.Documents, o.Filter, o.Projection, o.Update, o.Pipeline,
		o.Command, o.Sort, o.Hint, o.Collation} {
		if r != nil {
			r.pool = pools[r.Pool]
		}
	}
	for _, c := range clients {
		o.targets = append(o.targets, c.target(o))
	}
	if clients == nil { // only for no-ops
		o.targets = []*target{{operation: o}}
	}
	o.form, err = has(o)
	return err
}

// give makes the values that an application has ready when it calls the driver of that client.
func (o *operation) give(with *given, w *worker, r *record, client int64) {
	in := w.input(r)
	switch {
	case o.Kind == "bulk_write" || o.Kind == "transaction":
		for j := range r.count {
			var of given
			its := w.phase.schedule.record(w.phase.schedule.records + int64(r.document+j))
			its.lap, its.number = r.lap, r.number+int64(j)
			to := w.phase.Operations[its.operation]
			to.give(&of, w, &its, client)
			if o.Kind == "bulk_write" {
				with.models = append(with.models, to.model(&of))
				continue
			}
			to.targets[client].setOptions(&of)
			with.parts = append(with.parts, part{to.targets[client], of})
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

// wrongAnswer is an answer that is not right by the contract.
type wrongAnswer struct {
	kind        string
	got, wanted int64
}

func (w *wrongAnswer) Error() string {
	return fmt.Sprintf("%s: an answer of %d documents, expected %d", w.kind, w.got, w.wanted)
}

// check is nil if the answer to an operation on so many documents is right.
func (t *target) check(got answer, count int64) error {
	wanted := int64(1)
	if t.Expect == "missing" {
		wanted = 0
	} else if t.right.many {
		wanted = count
	}
	reads := t.Kind == "find_one" || t.Kind == "read_modify_write"
	if !t.right.any && got.documents != wanted && (t.acknowledged || reads) {
		return &wrongAnswer{t.Kind, got.documents, wanted}
	}
	return nil
}

// judge returns the outcome of an operation that has ended, and adds a right answer to totals.
func (f *flight) judge(p *phase, totals *answer) (outcome byte) {
	o, err := f.operation, f.err
	totals.retries += f.answer.retries
	if o.Expect == "duplicate" {
		if known, only := duplicates(err); only {
			totals.documents += known
			return 0
		}
	}
	if err == nil || errors.Is(err, errUnacknowledged) {
		err = f.target.check(f.answer, int64(f.count))
	}
	if err != nil {
		code, name, timeout := describe(err)
		outcome = 2
		if wrong := (*wrongAnswer)(nil); errors.As(err, &wrong) {
			name, outcome = "WrongAnswer", 1
		} else if timeout {
			outcome = 3
		}
		p.note(code, name, err)
		return outcome
	}
	if o.right.read {
		totals.documents += f.answer.documents
		totals.sum += f.answer.sum
	}
	return 0
}
