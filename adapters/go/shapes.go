package main

import (
	"bytes"
	"time"
)

// shapes are the classes that this adapter has, as users of the driver write them. They are written
// by hand: with reflection the harness would be slower than what it measures.
var shapes = map[string]func(*operation) (form, error){
	"small_document": mapped[smallDocument],
	"large_document": mapped[largeDocument],
}

type smallDocument struct {
	ID          objectID  `bson:"_id"`
	No          int32     `bson:"No"`
	Established time.Time `bson:"Established"`
}

type largeDocument struct {
	ID          objectID  `bson:"_id"`
	DataBytes   []byte    `bson:"DataBytes"`
	Established time.Time `bson:"Established"`
}

// class is what the harness expects of a pointer to one. A value of another type sets zero.
type class[T any] interface {
	*T
	own() // copies what it shares with its original
	set(name string, value any)
	integer(name string) int64
}

func (d *smallDocument) own() {}

func (d *smallDocument) set(name string, value any) {
	switch name {
	case "_id":
		d.ID, _ = value.(objectID)
	case "No":
		d.No, _ = value.(int32)
	case "Established":
		d.Established = utc(value)
	}
}

func (d *smallDocument) integer(name string) int64 {
	if name == "No" {
		return int64(d.No)
	}
	return 0
}

func (d *largeDocument) own() { d.DataBytes = bytes.Clone(d.DataBytes) }

func (d *largeDocument) set(name string, value any) {
	switch name {
	case "_id":
		d.ID, _ = value.(objectID)
	case "Established":
		d.Established = utc(value)
	}
}

func (d *largeDocument) integer(string) int64 { return 0 }

func utc(value any) time.Time {
	date, _ := value.(dateTime)
	return time.UnixMilli(int64(date)).UTC()
}

// mapped is an operation's documents in a class.
func mapped[T any, P class[T]](o *operation) (form, error) {
	f := &formOf[T]{}
	if o.SumField != "" {
		f.sum = func(from *T) int64 { return P(from).integer(o.SumField) }
	}
	if o.Documents == nil {
		return f, nil
	}
	pool := make([]T, len(o.Documents.pool))
	f.make = func(number int, in *input) T {
		fresh := pool[number%len(pool)]
		P(&fresh).own()
		for i := range o.Documents.Stamps {
			s := &o.Documents.Stamps[i]
			P(&fresh).set(s.Path[0], s.value(in))
		}
		return fresh
	}
	for i, from := range o.Documents.pool {
		data, err := encode(from)
		if err == nil {
			err = decode(data, &pool[i])
		}
		if err != nil {
			return nil, err
		}
		// A workload may give a class of this name other fields, which would be lost silently.
		in := input{Key: 1}
		plain, _ := encode(o.Documents.make(i, &in))
		if data, err = encode(f.make(i, &in)); err != nil || !bytes.Equal(data, plain) {
			return nil, refuse("unsupported", "documents of shape %q have other fields here than "+
				"in the workload", o.Shape)
		}
	}
	return f, nil
}
