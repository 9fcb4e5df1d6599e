package main

import (
	"context"
	"testing"
)

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
		to := made.target(&operation{Collection: "items", WriteConcern: c.concern})
		if made.acknowledged() != c.client || to.acknowledged != c.ofTarget {
			t.Errorf("%v: %t %t", c, made.acknowledged(), to.acknowledged)
		}
	}
}

func TestDocumentsAreDeepCopies(t *testing.T) {
	pool := document{{Key: "a", Value: array{document{{Key: "b", Value: int64(1)}}}},
		{Key: "c", Value: binData{Data: []byte{1}}}}
	fresh := copyDocument(pool)
	fresh[0].Value.(array)[0].(document)[0].Value = int64(7)
	fresh[1].Value.(binData).Data[0] = 9
	if pool[0].Value.(array)[0].(document)[0].Value != int64(1) ||
		pool[1].Value.(binData).Data[0] != 1 {
		t.Errorf("the pool has changed: %v", pool)
	}
}
