package main

import (
	"errors"
	"testing"
	"time"
)

// shaped is an operation that writes `from` in the class of that name.
func shaped(name string, from document, stamps ...stamp) (form, error) {
	documents := &reference{Stamps: stamps, pool: []document{from}}
	return shapes[name](&operation{Shape: name, Documents: documents})
}

func TestClassesAreDeepCopies(t *testing.T) {
	f, err := shaped("large_document", document{{Key: "_id", Value: objectID{1}},
		{Key: "DataBytes", Value: binData{Data: []byte{1, 2}}},
		{Key: "Established", Value: dateTime(-1)}})
	if err != nil {
		t.Fatal(err)
	}
	one := f.one(&record{}, &input{}).(largeDocument)
	one.DataBytes[0] = 9
	other := f.one(&record{}, &input{}).(largeDocument)
	if other.DataBytes[0] != 1 || !other.Established.Equal(time.UnixMilli(-1)) {
		t.Errorf("%v", other)
	}
}

func TestDocumentsOfOtherFieldsAreRefused(t *testing.T) {
	id, no := document{{Key: "_id", Value: objectID{1}}}, []stamp{{Path: []string{"No"},
		As: "int64", From: "key"}}
	whole := append(id, document{{Key: "No", Value: int32(0)},
		{Key: "Established", Value: dateTime(0)}}...)
	if _, err := shaped("small_document", whole); err != nil {
		t.Error(err)
	}
	_, missing := shaped("small_document", id)
	_, further := shaped("small_document", append(whole[:3:3], whole[1]))
	_, longer := shaped("small_document", whole, no...)
	for _, err := range []error{missing, further, longer} {
		refused := (*refusal)(nil)
		if !errors.As(err, &refused) || refused.code != "unsupported" {
			t.Errorf("%v", err)
		}
	}
}
