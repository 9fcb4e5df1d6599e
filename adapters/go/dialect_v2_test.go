//go:build !v1

package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

func TestErrorsAreNamedAsTheServerDoes(t *testing.T) {
	duplicate := mongo.WriteError{Code: 11000}
	late := &mongo.WriteConcernError{Name: "WriteConcernTimeout", Code: 64}
	for _, c := range []struct {
		err     error
		code    int
		name    string
		timeout bool
	}{
		{fmt.Errorf("deeper: %w", mongo.CommandError{Code: 50, Name: "MaxTimeMSExpired"}), 50,
			"MaxTimeMSExpired", true},
		{mongo.CommandError{Code: 262, Name: "ExceededTimeLimit"}, 262, "ExceededTimeLimit", true},
		{mongo.CommandError{}, 0, "mongo.CommandError", false},
		{mongo.WriteException{WriteErrors: mongo.WriteErrors{duplicate}, WriteConcernError: late},
			11000, "mongo.WriteException", false},
		{mongo.WriteException{WriteConcernError: late}, 64, "WriteConcernTimeout", false},
		{mongo.BulkWriteException{WriteErrors: []mongo.BulkWriteError{{WriteError: duplicate}}},
			11000, "mongo.BulkWriteException", false},
		{context.DeadlineExceeded, 0, "context.deadlineExceededError", true},
	} {
		if code, name, timeout := describe(c.err); code != c.code || name != c.name ||
			timeout != c.timeout {
			t.Errorf("%#v: %d %s %t", c.err, code, name, timeout)
		}
	}
}

func TestResolvedOptions(t *testing.T) {
	journal := true
	size := func(connections uint64) *uint64 { return &connections }
	for uri, expected := range map[string]fields{
		"mongodb://127.0.0.1:1/": {"max_pool_size": size(100), "min_pool_size": uint64(0),
			"write_concern": fields{}, "read_concern": nil, "read_preference": "primary",
			"compressors": []string{}, "retry_writes": true, "retry_reads": true},
		"mongodb://127.0.0.1:1/?maxPoolSize=7&minPoolSize=2&w=2&journal=true&readConcernLevel=local" +
			"&readPreference=nearest&compressors=zlib&retryWrites=false&retryReads=false": {
			"max_pool_size": size(7), "min_pool_size": uint64(2),
			"write_concern": fields{"w": 2, "j": &journal}, "read_concern": "local",
			"read_preference": "nearest", "compressors": []string{"zlib"},
			"retry_writes": false, "retry_reads": false},
	} {
		expected["tls"], expected["commands"] = false, fields{"count": "aggregate"}
		if got := opened(t, uri).resolved(); !reflect.DeepEqual(got, expected) {
			t.Errorf("%s\n%v\nexpected\n%v", uri, got, expected)
		}
	}
}

func TestOptionsTheDriverIgnoresAreRefused(t *testing.T) {
	refused := (*refusal)(nil)
	for _, option := range []string{"waitQueueTimeoutMS=5", "socketTimeoutMS=5",
		"maxPoolSize=many"} {
		_, err := newClient("mongodb://127.0.0.1:1/?"+option, "x")
		if !errors.As(err, &refused) || refused.code != "unsupported" {
			t.Errorf("%s: %v", option, err)
		}
	}
}
