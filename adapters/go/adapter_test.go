package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sys/unix"
)

// TestMain lets the test binary be the adapter: the conversations need no other build.
func TestMain(m *testing.M) {
	if os.Getenv("MDYN_TEST_ADAPTER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

type object = map[string]any

func vectors(t *testing.T, pattern string) []string {
	root := os.Getenv("MDYN_VECTORS")
	if root == "" {
		root = "../../protocol/vectors"
	}
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors at %s/%s: %v", root, pattern, err)
	}
	return files
}

func lines(t *testing.T, file string) [][]byte {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(text), []byte("\n"))
}

// entry is one record of a schedule.
type entry struct {
	intended, key uint64
	document      uint32
	operation     byte
	guid          []byte
}

func writeSchedule(t *testing.T, file string, slices int, lapNS uint64, entries []entry) string {
	size := uint32(24)
	if len(entries) > 0 && entries[0].guid != nil {
		size = 40
	}
	data := []byte("MDYNSCH1")
	for _, word := range []uint32{size, uint32(len(entries)), uint32(slices), 0} {
		data = binary.LittleEndian.AppendUint32(data, word)
	}
	data = binary.LittleEndian.AppendUint64(data, lapNS)
	for _, e := range entries {
		data = binary.LittleEndian.AppendUint64(data, e.intended)
		data = binary.LittleEndian.AppendUint64(data, e.key)
		data = binary.LittleEndian.AppendUint32(data, e.document)
		data = append(append(data, e.operation, 0, 0, 0), e.guid...)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func keys(count int) []entry {
	entries := make([]entry, count)
	for i := range entries {
		entries[i].key = uint64(i)
	}
	return entries
}

// process is an adapter that this test talks to.
type process struct {
	t       *testing.T
	command *exec.Cmd
	stdin   io.WriteCloser
	stdout  *bufio.Reader
	epoch   int64
}

func start(t *testing.T) *process {
	p := &process{t: t, command: exec.Command(os.Args[0])}
	p.command.Env = append(os.Environ(), "MDYN_TEST_ADAPTER=1")
	p.command.Stderr = os.Stderr
	p.stdin, _ = p.command.StdinPipe()
	stdout, _ := p.command.StdoutPipe()
	p.stdout = bufio.NewReader(stdout)
	p.epoch = monotonic() - 1e9
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.command.Process.Kill() })
	return p
}

func monotonic() int64 {
	var reading unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &reading)
	return reading.Nano()
}

func (p *process) answer() object {
	p.t.Helper()
	line, err := p.stdout.ReadBytes('\n')
	if err != nil || !bytes.HasPrefix(line, []byte(`{"type":`)) {
		p.t.Fatalf("answer %q: %v", line, err)
	}
	var answer object
	if err := json.Unmarshal(line, &answer); err != nil {
		p.t.Fatal(err)
	}
	return answer
}

func (p *process) say(line string) { io.WriteString(p.stdin, line+"\n") }

// ask sends a message and returns the answer, which must be of this type.
func (p *process) ask(kind string, message object) object {
	p.t.Helper()
	line, _ := json.Marshal(message)
	p.say(string(line))
	answer := p.answer()
	if answer["type"] != kind {
		p.t.Fatalf("%s\nanswered %v, expected %s", line, answer, kind)
	}
	return answer
}

func (p *process) hello() {
	p.ask("hello", object{"type": "hello", "protocol": object{"min": 1, "max": 1},
		"epoch_ns": fmt.Sprint(p.epoch)})
}

func (p *process) ends() {
	p.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.command.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			p.t.Fatalf("ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		p.t.Fatal("still running")
	}
}

func matches(expected, got any) bool {
	if expected == "$any" {
		return true
	}
	inner, ok := expected.(object)
	if !ok {
		return reflect.DeepEqual(expected, got)
	}
	fields, _ := got.(object)
	for name, value := range inner {
		if found, ok := fields[name]; !ok || !matches(value, found) {
			return false
		}
	}
	return true
}

func TestConversations(t *testing.T) {
	files := append(vectors(t, "valid/*.jsonl"), vectors(t, "invalid/*.jsonl")...)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, dir := start(t), t.TempDir()
			writeSchedule(t, filepath.Join(dir, "noop.schedule"), 2, 0, keys(64))
			fill := strings.NewReplacer("{dir}", dir, "{epoch}", fmt.Sprint(p.epoch))
			for _, line := range lines(t, file) {
				var step struct {
					Send     json.RawMessage
					SendLine *string `json:"send_line"`
					Expect   any
				}
				if err := json.Unmarshal([]byte(fill.Replace(string(line))), &step); err != nil {
					t.Fatal(err)
				}
				if step.Send != nil {
					p.say(string(step.Send))
				} else if step.SendLine != nil {
					p.say(*step.SendLine)
				} else if got := p.answer(); !matches(step.Expect, got) {
					t.Fatalf("%v\nexpected %v", got, step.Expect)
				}
			}
			p.ends()
		})
	}
}

func TestDocuments(t *testing.T) {
	p := start(t)
	p.hello()
	for _, file := range vectors(t, "documents/*.jsonl") {
		for _, line := range lines(t, file) {
			var v struct{ Name, Bson string }
			json.Unmarshal(line, &v)
			// The vector's own text is sent: a map would lose the order of the fields.
			p.say(`{"type":"render",` + string(line[1:]))
			if got := p.answer(); got["bson"] != v.Bson {
				t.Errorf("%s: %v\nexpected %s", v.Name, got, v.Bson)
			}
		}
	}
}

func TestDocumentsAreDeepCopies(t *testing.T) {
	pool := bson.D{{Key: "a", Value: bson.A{bson.D{{Key: "b", Value: int64(1)}}}},
		{Key: "c", Value: bson.Binary{Data: []byte{1}}}}
	var s stamp
	text := []byte(`{"path":["a","0","b"],"as":"int64","from":"key"}`)
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	made, err := newTemplate(pool, []stamp{s})
	if err != nil {
		t.Fatal(err)
	}
	fresh := made.fill(&input{Key: 7})
	fresh[1].Value.(bson.Binary).Data[0] = 9
	if got := fresh[0].Value.(bson.A)[0].(bson.D)[0].Value; got != int64(7) {
		t.Errorf("stamped %v", got)
	}
	if got := pool[0].Value.(bson.A)[0].(bson.D)[0].Value; got != int64(1) {
		t.Errorf("the pool was stamped: %v", got)
	}
	if pool[1].Value.(bson.Binary).Data[0] != 1 {
		t.Error("the pool's bytes are shared")
	}
}

func TestScheduleAndLaps(t *testing.T) {
	guid := []byte("0123456789abcdef")
	file := writeSchedule(t, filepath.Join(t.TempDir(), "s"), 2, 1000, []entry{
		{1, 10, 5, 0, guid}, {2, 20, 6, 1, guid}, {3, 30, 7, 2, guid}, {4, 40, 8, 3, guid}})
	s, err := openSchedule(file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	q := &queue{schedule: s, first: 2, length: 2, limit: 5}
	for i, expected := range []record{{3, 30, 7, 2, guid, 0, 0}, {4, 40, 8, 3, guid, 0, 1},
		{1003, 30, 7, 2, guid, 1, 2}, {1004, 40, 8, 3, guid, 1, 3}} {
		if got, ok := q.take(1 << 40); !ok || !reflect.DeepEqual(got, expected) {
			t.Errorf("record %d: %v %v, expected %v", i, got, ok, expected)
		}
	}
	if _, ok := q.take(2003); ok || q.exhausted() {
		t.Error("a record intended at the deadline must wait, and is not lost")
	}
	if got, ok := q.take(2004); !ok || got.intended != 2003 || !q.exhausted() {
		t.Errorf("fifth record of a limit of 5: %v %v", got, ok)
	}
	os.Truncate(file, 50)
	if _, err := openSchedule(file); err == nil {
		t.Error("a truncated schedule was accepted")
	}
}

func TestSampleBytes(t *testing.T) {
	f := &flight{intended: 1, start: 2, end: 0x105}
	f.record.number, f.record.operation = 0x01020304, 5
	got := make([]byte, sampleBytes)
	putSample(got, f, 128+2, 0x0607)
	expected := []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0, 0, 0, 0,
		4, 3, 2, 1, 5, 130, 7, 6}
	if !bytes.Equal(got, expected) {
		t.Errorf("%v, expected %v", got, expected)
	}
}

func TestKeys(t *testing.T) {
	m := &prepareMessage{}
	m.Counter.First, m.Counter.Stride, m.Counter.Loaded = 1000, 4, 100
	w := &worker{phase: &phase{prepareMessage: m}, number: 3}
	for _, c := range []struct {
		key                    string
		record, made, expected int64
	}{
		{"schedule", 9, 5, 9}, {"counter", 9, 0, 1003}, {"counter", 9, 2, 1011},
		{"latest", 0, 2, 1007}, {"latest", 1, 2, 1003}, {"latest", 2, 2, 99},
		{"latest", 0, 0, 99}, {"latest", 500, 2, 0},
	} {
		f, o := &flight{}, &operation{operationSpec: &operationSpec{Key: c.key}}
		f.record.key, w.made = c.record, c.made
		if got := w.key(o, f); got != c.expected {
			t.Errorf("%v: %d", c, got)
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	uri := "mongodb://me:p%40ss@host/?tlsCertificateKeyFilePassword=hunter2&x=1"
	secrets = secretsOf(uri)
	defer func() { secrets = nil }()
	for _, message := range []string{uri, "refused p@ss", "password p%40ss", "no hunter2"} {
		if got := masked(message); strings.Contains(got, "ss@") || strings.Contains(got, "40ss") ||
			strings.Contains(got, "p@ss") || strings.Contains(got, "hunter2") {
			t.Errorf("%s", got)
		}
	}
}

// prepared is the least of a `prepare` message; `changes` go over it.
func prepared(dir, schedule string, changes object) object {
	m := object{"type": "prepare", "phase": "p", "role": "worker", "warmup": false,
		"samples": filepath.Join(dir, "samples"), "schedule": schedule, "pools": []string{},
		"document_form": "native", "workers": 1, "first_worker": 0, "limits": nil,
		"pacing":  object{"mode": "awaited", "think_ns": 0},
		"counter": object{"first": 0, "stride": 1, "loaded": 0}, "errors_consecutive_max": 10,
		"operations": []object{{"name": "noop", "kind": "noop", "key": "schedule"}}}
	for name, value := range changes {
		m[name] = value
	}
	return m
}

const forever = 1 << 53

func TestStops(t *testing.T) {
	for name, stop := range map[string]func(*process){
		"idle, SIGTERM":      func(p *process) { p.command.Process.Signal(syscall.SIGTERM) },
		"idle, end of stdin": func(p *process) { p.stdin.Close() },
		"turn, SIGTERM": func(p *process) {
			p.say(fmt.Sprintf(`{"type":"turn","start_ns":0,"until_ns":%d}`, forever))
			time.Sleep(50 * time.Millisecond)
			p.command.Process.Signal(syscall.SIGTERM)
		},
		"turn, end of stdin": func(p *process) {
			p.say(fmt.Sprintf(`{"type":"turn","start_ns":0,"until_ns":%d}`, forever))
			time.Sleep(50 * time.Millisecond)
			p.stdin.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, dir := start(t), t.TempDir()
			p.hello()
			schedule := writeSchedule(t, filepath.Join(dir, "s"), 1, 0, keys(4))
			p.ask("armed", prepared(dir, schedule, object{
				"pacing": object{"mode": "awaited", "think_ns": 1_000_000}}))
			stop(p)
			p.ends()
			info, err := os.Stat(filepath.Join(dir, "samples"))
			if err != nil || info.Size()%sampleBytes != 0 {
				t.Errorf("samples: %v %v", info, err)
			}
			if strings.HasPrefix(name, "turn") && info.Size() < 10*sampleBytes {
				t.Errorf("%d bytes of samples from 50 ms", info.Size())
			}
		})
	}
}

func TestRateKeepsItsTimesAndLosesNothing(t *testing.T) {
	p, dir := start(t), t.TempDir()
	p.hello()
	entries := keys(50)
	for i := range entries {
		entries[i].intended = uint64(i) * 1_000_000
	}
	p.ask("armed", prepared(dir, writeSchedule(t, filepath.Join(dir, "s"), 1, 50_000_000, entries),
		object{"workers": 2, "limits": []int{75}, "pacing": object{"mode": "rate"}}))
	t0 := int64(p.ask("clock", object{"type": "clock"})["now_ns"].(float64)) + 20_000_000
	operations := 0.0
	for _, until := range []int64{t0 + 30_500_000, forever} {
		turned := p.ask("turned", object{"type": "turn", "start_ns": t0, "until_ns": until})
		operations += turned["operations"].(float64)
	}
	data, _ := os.ReadFile(filepath.Join(dir, "samples"))
	if operations != 75 || len(data) != 75*sampleBytes {
		t.Fatalf("%v operations, %d bytes of samples", operations, len(data))
	}
	for ; len(data) > 0; data = data[sampleBytes:] {
		intended, began := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		index := binary.LittleEndian.Uint32(data[24:])
		if intended != uint64(t0)+uint64(index)*1_000_000 || began < intended {
			t.Errorf("operation %d intended at T0%+d, began %d later", index,
				int64(intended)-t0, int64(began-intended))
		}
	}
}

// TestServer runs every kind of operation, right and wrong, against the server of MDYN_URI.
func TestServer(t *testing.T) {
	uri := os.Getenv("MDYN_URI")
	if uri == "" {
		t.Skip("MDYN_URI is not set")
	}
	p, dir := start(t), t.TempDir()
	p.hello()
	database := fmt.Sprintf("mdyn_go_%d", os.Getpid())
	open := object{"type": "open", "database": database, "role": "worker"}
	open["uri"] = "mongodb://me:hidden@127.0.0.1:1/?serverSelectionTimeoutMS=200"
	refused := p.ask("error", open)
	if refused["code"] != "connect" || strings.Contains(fmt.Sprint(refused), "hidden") {
		t.Fatalf("%v", refused)
	}
	open["uri"] = uri
	p.ask("opened", open)
	document, _ := bson.Marshal(bson.D{{Key: "_id", Value: int64(0)}, {Key: "v", Value: int32(3)}})
	pool := filepath.Join(dir, "pool.bson")
	os.WriteFile(pool, document, 0o600)
	schedule := writeSchedule(t, filepath.Join(dir, "s"), 1, 0, keys(10))
	byID := object{"document": object{"_id": object{"$numberLong": "0"}}, "stamps": []object{
		{"path": []string{"_id"}, "as": "int64", "from": "key"}}}
	all := object{"document": object{}, "stamps": []object{}}
	documents := object{"pool": 0, "stamps": byID["stamps"]}
	dropped := object{"document": object{"dropDatabase": object{"$numberInt": "1"}}, "stamps": nil}
	pipeline := object{"document": object{"pipeline": []object{{"$match": object{}}}}, "stamps": nil}
	update := object{"document": object{"$inc": object{"v": object{"$numberInt": "1"}}}, "stamps": nil}
	for _, c := range []struct {
		operation              object
		errors, documents, sum float64
	}{
		{object{"kind": "insert_one", "key": "counter", "documents": documents}, 0, 0, 0},
		{object{"kind": "insert_one", "key": "schedule", "documents": documents}, 10, 0, 0},
		{object{"kind": "find_one", "key": "schedule", "filter": byID, "sum_field": "v"}, 0, 10, 30},
		{object{"kind": "find", "filter": all, "sum_field": "v", "batch_size": 3}, 0, 100, 300},
		{object{"kind": "count", "filter": all, "read_concern": "local"}, 0, 100, 0},
		{object{"kind": "aggregate", "pipeline": pipeline, "sum_field": "v"}, 0, 100, 300},
		{object{"kind": "update_one", "key": "schedule", "filter": byID, "update": update,
			"write_concern": object{"w": 1, "j": true}}, 0, 0, 0},
		{object{"kind": "replace_one", "key": "schedule", "filter": byID, "documents": documents},
			0, 0, 0},
		{object{"kind": "delete_one", "key": "schedule", "filter": byID}, 0, 0, 0},
		{object{"kind": "delete_one", "key": "schedule", "filter": byID}, 10, 0, 0},
		{object{"kind": "insert_many", "key": "counter", "documents": documents, "batch": 20}, 0, 0, 0},
		{object{"kind": "count", "filter": all, "read_preference": "nearest"}, 0, 2000, 0},
		{object{"kind": "command", "command": dropped}, 0, 0, 0},
	} {
		c.operation["collection"] = "items"
		p.ask("armed", prepared(dir, schedule, object{"limits": []int{10}, "pools": []string{pool},
			"errors_consecutive_max": 11, "operations": []object{c.operation}}))
		turned := p.ask("turned", object{"type": "turn", "start_ns": 0, "until_ns": forever})
		totals := p.ask("ended", object{"type": "end"})["totals"].(object)
		if turned["operations"] != 10.0 || turned["errors"] != c.errors ||
			totals["documents"] != c.documents || totals["sum"] != c.sum {
			t.Errorf("%v: %v %v", c.operation["kind"], turned, totals)
		}
	}
	p.ask("closed", object{"type": "close"})
	p.ends()
}
