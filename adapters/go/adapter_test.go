package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// TestMain lets the test binary be the adapter: the conversation needs no other build.
func TestMain(m *testing.M) {
	if os.Getenv("MDYN_TEST_ADAPTER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

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

// opened makes a client that need not find a server.
func opened(t *testing.T, uri string) *client {
	t.Helper()
	c, err := newClient(uri, "mdyn_go_test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Disconnect(context.Background()) })
	return c
}

func TestResolvedOptions(t *testing.T) {
	journal := true
	for uri, expected := range map[string]fields{
		"mongodb://127.0.0.1:1/": {"max_pool_size": uint64(100), "min_pool_size": uint64(0),
			"write_concern": fields{}, "read_concern": nil, "read_preference": "primary",
			"compressors": []string{}, "retry_writes": true, "retry_reads": true},
		"mongodb://127.0.0.1:1/?maxPoolSize=7&minPoolSize=2&w=2&journal=true&readConcernLevel=local" +
			"&readPreference=nearest&compressors=zlib&retryWrites=false&retryReads=false": {
			"max_pool_size": uint64(7), "min_pool_size": uint64(2),
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

func TestAcknowledged(t *testing.T) {
	journal := true
	for _, c := range []struct {
		options          string
		concern          *concern
		client, ofTarget bool
	}{
		{"", nil, true, true},
		{"w=0", nil, false, false},
		{"w=0", &concern{"majority", nil}, false, true},
		{"w=1", &concern{0.0, nil}, true, false},
		{"", &concern{0.0, &journal}, true, true},
	} {
		made := opened(t, "mongodb://127.0.0.1:1/?"+c.options)
		to, err := made.target(&operationSpec{Collection: "items", WriteConcern: c.concern})
		if err != nil || made.acknowledged() != c.client || to.acknowledged != c.ofTarget {
			t.Errorf("%v: %t %v %v", c, made.acknowledged(), to, err)
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

func TestDocumentsAreDeepCopies(t *testing.T) {
	pool := bson.D{{Key: "a", Value: bson.A{bson.D{{Key: "b", Value: int64(1)}}}},
		{Key: "c", Value: bson.Binary{Data: []byte{1}}}}
	fresh := copyDocument(pool)
	fresh[0].Value.(bson.A)[0].(bson.D)[0].Value = int64(7)
	fresh[1].Value.(bson.Binary).Data[0] = 9
	if pool[0].Value.(bson.A)[0].(bson.D)[0].Value != int64(1) ||
		pool[1].Value.(bson.Binary).Data[0] != 1 {
		t.Errorf("the pool has changed: %v", pool)
	}
}

// TestEndOfInput ends the input in a turn that would go on for ever.
func TestEndOfInput(t *testing.T) {
	schedule := append(binary.LittleEndian.AppendUint64([]byte("MDYNSCH2"), 1<<32|32), // 1 record
		make([]byte, 48)...)
	schedule[16] = 1 // slice
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, schedule, 0o600); err != nil {
		t.Fatal(err)
	}
	adapter := exec.Command(os.Args[0])
	adapter.Env = append(os.Environ(), "MDYN_TEST_ADAPTER=1")
	adapter.Stdin = strings.NewReader(fmt.Sprintf(`{"type":"hello","protocol":2,"epoch_ns":"0"}
{"type":"prepare","samples":"%s.bin","schedule":"%s","workers":1,%s}
{"type":"turn","until_ns":9007199254740991}
`, path, path, `"pacing":{"mode":"awaited"},"operations":[{"kind":"noop"}]`))
	if said, err := adapter.Output(); err != nil || !strings.Contains(string(said), `"ready"`) {
		t.Errorf("%s: %v", said, err)
	}
}

// TestServer holds the calls that the vectors' server does not know to the server of MDYN_URI.
func TestServer(t *testing.T) {
	uri := os.Getenv("MDYN_URI")
	if uri == "" {
		t.Skip("MDYN_URI is not set")
	}
	c := opened(t, uri)
	items := c.database.Collection("items")
	defer c.database.Drop(context.Background())
	seed := bson.D{{Key: "_id", Value: int64(1)}, {Key: "n", Value: int32(3)}}
	if _, err := items.InsertOne(context.Background(), seed); err != nil {
		t.Fatal(err)
	}
	add := bson.D{{Key: "$inc", Value: bson.D{{Key: "n", Value: int32(1)}}}}
	none := wrong("no document found")
	for _, step := range []struct {
		kind       string
		key        int64
		w          float64
		projection bson.D
		expected   answer
		err        error
	}{
		{"find_one_and_update", 1, 1, nil, answer{1, 3}, nil}, // as it was before
		{"find_one_and_update", 2, 1, nil, answer{}, none},
		{"find_one_and_update", 2, 0, nil, answer{}, nil},
		{"read_modify_write", 1, 1, nil, answer{1, 4}, nil},
		{"read_modify_write", 2, 1, nil, answer{}, none},
		{"find_one", 1, 1, bson.D{{Key: "_id", Value: int32(1)}}, answer{1, 0}, nil},
		{"find", 1, 1, bson.D{{Key: "n", Value: int32(1)}}, answer{1, 5}, nil},
	} {
		to, err := c.target(&operationSpec{Kind: step.kind, Collection: "items", SumField: "n",
			WriteConcern: &concern{W: step.w}})
		if err != nil {
			t.Fatal(err)
		}
		with := given{filter: bson.D{{Key: "_id", Value: step.key}}, update: add,
			projection: step.projection}
		if with.projection != nil {
			with.setOptions(to.operationSpec)
		}
		got, err := calls[step.kind](to, context.Background(), &with)
		if got != step.expected || err != step.err {
			t.Errorf("%v: %v %v", step, got, err)
		}
	}
}
