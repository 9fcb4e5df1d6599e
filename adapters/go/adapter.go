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
			if a.answer(line) == "closed" {
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

// answer handles one line and writes one.
func (a *adapter) answer(line []byte) (kind string) {
	m, reply := new(message), fields(nil)
	err := json.Unmarshal(line, m)
	if err != nil {
		err = refuse("protocol", "no message: %v", err)
	} else {
		kind, reply, err = a.handle(m)
	}
	if err != nil {
		code, own := "internal", (*refusal)(nil)
		if errors.As(err, &own) {
			code = own.code
		}
		kind, reply = "error", fields{"code": code, "message": err.Error()}
	}
	if reply == nil {
		reply = fields{}
	}
	reply["type"] = kind
	text, err := json.Marshal(reply)
	if err != nil {
		panic(err)
	}
	fmt.Printf("\x1e%s\n", text)
	return kind
}

func (a *adapter) handle(m *message) (kind string, reply fields, err error) {
	switch m.Type {
	case "hello":
		reply, err = hello(m)
		return "hello", reply, err
	case "clock":
		return "clock", fields{"now_ns": now()}, nil
	case "open":
		reply, err = a.open(m)
		return "opened", reply, err
	case "prepare":
		a.phase, err = newPhase(a, &m.prepareMessage)
		return "ready", nil, err
	case "turn":
		reply, err = a.phase.turn(m.UntilNS)
		return "turn_done", reply, err
	case "end":
		ended := a.phase
		a.phase = nil // its pools are garbage from here on
		ended.close()
		return "ended", ended.result(), nil
	case "render":
		from, err := decode(m.Template)
		if err != nil {
			return "", nil, err
		}
		data, err := encode(newTemplate(from, m.Stamps).fill(&m.Input))
		return "rendered", fields{"bson": hex.EncodeToString(data)}, err
	case "close":
		for _, c := range a.clients {
			c.Disconnect(a.stop)
		}
		return "closed", nil, nil
	}
	return "", nil, refuse("protocol", "unknown type %q", m.Type)
}

func hello(m *message) (fields, error) {
	if m.Protocol != protocolVersion {
		return nil, refuse("protocol", "this adapter speaks protocol %d", protocolVersion)
	}
	epoch, err := strconv.ParseInt(m.EpochNS, 10, 64)
	if err != nil {
		return nil, refuse("protocol", "epoch_ns: %v", err)
	}
	resolution, err := startClock(epoch)
	if err != nil {
		return nil, err
	}
	flags := []string{}
	for _, name := range []string{"GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG"} {
		if value := os.Getenv(name); value != "" {
			flags = append(flags, name+"="+value)
		}
	}
	return fields{
		"protocol": protocolVersion,
		"adapter":  "go",
		"driver":   driver,
		"runtime": fields{"name": "go", "version": strings.TrimPrefix(runtime.Version(), "go"),
			"flags": flags},
		"clock": fields{"source": "CLOCK_MONOTONIC", "resolution_ns": resolution},
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
	return fields{"acknowledged": acknowledged, "resolved": clients[0].resolved()}, nil
}
