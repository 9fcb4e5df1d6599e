// The adapter of the official Go driver: reads messages and answers them.
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
	"strings"
	"syscall"
)

const protocolVersion = 2

var pacings = []string{"awaited", "think", "window", "rate", "burst"}

// stop ends when SIGTERM comes.
var stop, _ = signal.NotifyContext(context.Background(), syscall.SIGTERM)

type fields map[string]any

// refusal is an `error` answer with its own code; every other error is `internal`.
type refusal struct{ code, message string }

func (r *refusal) Error() string { return r.message }

func refuse(code, format string, values ...any) error {
	return &refusal{code, fmt.Sprintf(format, values...)}
}

// message has the fields of all messages.
type message struct {
	prepareMessage
	Type, Deal, Database string
	Protocol             int
	EpochNS              int64 `json:"epoch_ns,string"`
	Clients              []struct{ URI string }
	UntilNS              int64 `json:"until_ns"`
	Template             hexadecimal
	Stamps               []stamp
	Input                input
}

type adapter struct {
	lines   chan []byte // closed at the end of stdin
	clients []*client
	deal    string
	phase   *phase
}

func main() {
	a := &adapter{lines: make(chan []byte)}
	go a.read()
	for {
		select {
		case <-stop.Done():
			return
		case line, more := <-a.lines:
			if !more || a.answer(line) == "close" {
				return
			}
		}
	}
}

// read is ahead by one line, so that a turn sees the end of stdin. It waits in the runtime's
// poller. Rejected: os.Stdin, whose reading blocks a thread. On one core that thread keeps the
// runtime's only processor until it is taken away, and turns began 10 to 20 ms late.
func (a *adapter) read() {
	defer close(a.lines)
	syscall.SetNonblock(syscall.Stdin, true)
	for reader := bufio.NewReader(os.NewFile(uintptr(syscall.Stdin), "stdin")); ; {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return
		}
		a.lines <- line
	}
}

// answer handles one line, writes one, and returns the type of the message.
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
	os.Stdout.WriteString("\x1e")
	json.NewEncoder(os.Stdout).Encode(reply)
	return m.Type
}

func (a *adapter) handle(m *message) (fields, error) {
	switch m.Type {
	case "hello":
		return hello(m)
	case "clock":
		return fields{"type": "clock", "now_ns": now()}, nil
	case "open":
		return a.open(m)
	case "prepare":
		p, err := newPhase(&m.prepareMessage, a.clients, a.deal)
		a.phase = p
		return fields{"type": "ready"}, err
	case "turn":
		return a.phase.turn(m.UntilNS, a.lines)
	case "end":
		ended := a.phase
		a.phase = nil // from here on its pools are garbage
		ended.close()
		return ended.result(), nil
	case "render":
		var from document
		if err := decode(m.Template, &from); err != nil {
			return nil, err
		}
		template := reference{Stamps: m.Stamps, pool: []document{from}}
		data, err := encode(template.make(0, &m.Input))
		return fields{"type": "rendered", "bson": hex.EncodeToString(data)}, err
	case "close":
		disconnect(a.clients)
		return fields{"type": "closed"}, nil
	}
	return nil, refuse("protocol", "unknown type %q", m.Type)
}

func hello(m *message) (fields, error) {
	if m.Protocol != protocolVersion {
		return nil, refuse("protocol", "this adapter speaks protocol %d, not %d", protocolVersion,
			m.Protocol)
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
		"clock": fields{"source": "CLOCK_MONOTONIC", "resolution_ns": startClock(m.EpochNS)},
		"capabilities": fields{
			"operations": slices.Sorted(maps.Keys(calls)), "extras": extras,
			"pacing": pacings, "shapes": slices.Sorted(maps.Keys(shapes)), "alters": []string{},
			"uri": "standard", "consumer_ns": nil,
			"concurrency": fields{"kind": "tasks", "max": nil, "threads": runtime.GOMAXPROCS(0)},
		},
	}, nil
}

func (a *adapter) open(m *message) (fields, error) {
	var clients []*client
	for _, given := range m.Clients {
		c, err := newClient(given.URI, m.Database)
		if err == nil {
			clients = append(clients, c)
			err = c.prove()
		}
		if err != nil {
			disconnect(clients)
			return nil, err
		}
	}
	a.clients, a.deal = clients, m.Deal
	return fields{"type": "opened", "acknowledged": clients[0].acknowledged(),
		"resolved": clients[0].resolved()}, nil
}

func disconnect(clients []*client) {
	for _, c := range clients {
		c.Disconnect(stop)
	}
}
