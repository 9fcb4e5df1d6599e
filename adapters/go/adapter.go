// The adapter of the official Go driver: reads messages, answers them.
package main

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const protocolVersion = 2

type fields map[string]any

// refusal is an `error` answer with its own code; every other error is `internal`.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.message }

func refuse(code, format string, values ...any) error {
	return &refusal{code, fmt.Sprintf(format, values...)}
}

type adapter struct {
	stop    context.Context // ends with SIGTERM or the end of stdin
	gone    chan struct{}   // closed at the end of stdin
	clients []*client
	deal    string
	phase   *phase
}

func main() {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	a := &adapter{stop: stop, gone: make(chan struct{})}
	lines := make(chan []byte)
	go func() {
		// The next line is read while a turn runs, only to see the end of the file.
		reader := bufio.NewReader(os.Stdin)
		for {
			line, err := reader.ReadBytes('\n')
			if err != nil {
				close(a.gone)
				cancel()
				return
			}
			lines <- line
		}
	}()
	for {
		select {
		case <-stop.Done():
			return
		case line := <-lines:
			if a.answer(line) == "close" {
				return
			}
		}
	}
}

// message holds the fields of all of them.
type message struct {
	prepareMessage
	Type, Deal, Database string
	Protocol             int
	EpochNS              string `json:"epoch_ns"`
	Clients              []struct{ URI string }
	UntilNS              int64 `json:"until_ns"`
	Template             hexadecimal
	Stamps               []stamp
	Input                input
}

// answer handles one line, writes one, and returns the type of what was asked.
func (a *adapter) answer(line []byte) (kind string) {
	var m message
	var reply fields
	err := json.Unmarshal(line, &m)
	if err != nil {
		err = refuse("protocol", "no message: %v", err)
	} else {
		reply, err = a.handle(&m)
	}
	if err != nil {
		code, own := "internal", (*refusal)(nil)
		if errors.As(err, &own) {
			code = own.code
		}
		reply = fields{"type": "error", "code": code, "message": told(err)}
	}
	text, err := json.Marshal(reply)
	if err != nil {
		panic(err)
	}
	fmt.Printf("\x1e%s\n", text)
	return m.Type
}

func (a *adapter) handle(m *message) (reply fields, err error) {
	switch m.Type {
	case "hello":
		return hello(m)
	case "clock":
		return fields{"type": "clock", "now_ns": now()}, nil
	case "open":
		return a.open(m)
	case "prepare":
		a.phase, err = newPhase(a, &m.prepareMessage)
		return fields{"type": "ready"}, err
	case "turn":
		return a.phase.turn(m.UntilNS)
	case "end":
		ended := a.phase
		a.phase = nil // its pools are garbage from here on
		ended.close()
		return ended.result(), nil
	case "render":
		from, err := decode(m.Template)
		if err != nil {
			return nil, err
		}
		data, err := encode(newTemplate(from, m.Stamps).fill(&m.Input))
		return fields{"type": "rendered", "bson": hex.EncodeToString(data)}, err
	case "close":
		for _, c := range a.clients {
			c.Disconnect(a.stop)
		}
		return fields{"type": "closed"}, nil
	}
	return nil, refuse("protocol", "unknown type %q", m.Type)
}

func hello(m *message) (fields, error) {
	if m.Protocol != protocolVersion {
		return nil, refuse("protocol", "this adapter speaks protocol %d", protocolVersion)
	}
	epoch, err := strconv.ParseInt(m.EpochNS, 10, 64)
	if err != nil {
		return nil, refuse("protocol", "epoch_ns: %v", err)
	}
	flags := []string{}
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"} {
		if value := os.Getenv(name); value != "" {
			flags = append(flags, name+"="+value)
		}
	}
	return fields{
		"type":     "hello",
		"protocol": protocolVersion,
		"adapter":  "go",
		"driver":   driver,
		"runtime": fields{"name": "go", "version": strings.TrimPrefix(runtime.Version(), "go"),
			"flags": flags},
		"clock": fields{"source": "CLOCK_MONOTONIC", "resolution_ns": startClock(epoch)},
		"capabilities": fields{
			"operations": slices.Sorted(maps.Keys(calls)), "extras": extras,
			"pacing": []string{"awaited", "think", "window", "rate", "burst"},
			"shapes": []string{}, "alters": []string{}, "uri": "standard", "consumer_ns": nil,
			"concurrency": fields{"kind": "tasks", "max": nil, "threads": runtime.GOMAXPROCS(0)},
		},
	}, nil
}

func (a *adapter) open(m *message) (fields, error) {
	var clients []*client
	acknowledged := true
	for _, given := range m.Clients {
		c, err := newClient(given.URI, m.Database)
		if err == nil {
			clients = append(clients, c)
			acknowledged = acknowledged && c.acknowledged()
			err = c.prove(a.stop)
		}
		if err != nil {
			for _, c := range clients {
				c.Disconnect(a.stop)
			}
			return nil, err
		}
	}
	a.clients, a.deal = clients, m.Deal
	return fields{"type": "opened", "acknowledged": acknowledged,
		"resolved": clients[0].resolved()}, nil
}
