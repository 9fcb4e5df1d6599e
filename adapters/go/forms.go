package main

// form is how a program represents the documents of an operation: in the driver's own type, or in a
// class.
type form interface {
	one(r *record, in *input) any
	many(r *record, in *input, itemStep int64) many
	read(from decoder, got *answer) error
	reread(made many, got *answer)
}

type decoder interface{ Decode(into any) error }

// formOf is the form with documents of type T.
type formOf[T any] struct {
	make func(number int, in *input) T // nil if none are made
	sum  func(from *T) int64           // nil if nothing is added up
}

func (f *formOf[T]) one(r *record, in *input) any { return f.make(r.document, in) }

func (f *formOf[T]) many(r *record, in *input, itemStep int64) many {
	made := make([]T, r.count)
	for j := range made {
		made[j] = f.make(r.document+j, in)
		in.Sequence++
		in.Shift += itemStep
	}
	return batch(made)
}

func (f *formOf[T]) read(from decoder, got *answer) error {
	var next T
	if err := from.Decode(&next); err != nil {
		return err
	}
	f.add(&next, got)
	return nil
}

func (f *formOf[T]) reread(made many, got *answer) {
	switch documents := any(made).(type) {
	case []T:
		for i := range documents {
			f.add(&documents[i], got)
		}
	case []any:
		for _, each := range documents {
			document := each.(T)
			f.add(&document, got)
		}
	}
}

func (f *formOf[T]) add(found *T, got *answer) {
	got.documents++
	if f.sum != nil {
		got.sum += f.sum(found)
	}
}

func native(o *operation) (form, error) {
	f := &formOf[document]{}
	if o.Documents != nil {
		f.make = o.Documents.make
	}
	if o.SumField != "" {
		f.sum = func(from *document) int64 { return integer(*from, o.SumField) }
	}
	return f, nil
}

// integer is 0 if the field has none.
func integer(from document, name string) int64 {
	if slot := field(from, name); slot != nil {
		return whole(*slot)
	}
	return 0
}

func whole(value any) int64 {
	switch value := value.(type) {
	case int32:
		return int64(value)
	case int64:
		return value
	}
	return 0
}
