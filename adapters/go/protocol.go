package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sys/unix"
)

// clock counts nanoseconds since the epoch. time.Since reads CLOCK_MONOTONIC through the vDSO, so
// one reading of that clock at the start fixes the offset for good.
var clock struct {
	offset, epoch int64
	began         time.Time
}

func now() int64 { return clock.offset + int64(time.Since(clock.began)) }

// startClock keeps the tightest of a few bracketed readings: a preemption between the two clocks
// would shift every sample of this process.
func startClock(epoch int64) (resolution int64, err error) {
	var before, after, step unix.Timespec
	best := int64(math.MaxInt64)
	for range 16 {
		if err = unix.ClockGettime(unix.CLOCK_MONOTONIC, &before); err != nil {
			return 0, err
		}
		began := time.Now()
		if err = unix.ClockGettime(unix.CLOCK_MONOTONIC, &after); err != nil {
			return 0, err
		}
		if width := after.Nano() - before.Nano(); width < best {
			best, clock.began, clock.offset = width, began, before.Nano()+width/2-epoch
		}
	}
	clock.epoch = epoch
	err = unix.ClockGetres(unix.CLOCK_MONOTONIC, &step)
	return step.Nano(), err
}

// schedule is a file mapped into memory: on the heap it would make the collector run less often
// than in the user's own program.
type schedule struct {
	file, records               []byte
	recordBytes, slices, length int
	lapNS                       int64
}

// record is one operation of the schedule.
type record struct {
	intended, key       int64 // intended: offset from T0
	document, operation int
	guid                []byte
	lap                 int64
	number              int64 // of the operation in its slice, from 0
}

func openSchedule(path string) (*schedule, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	size := int(info.Size())
	if size < 32 {
		return nil, fmt.Errorf("%s: no schedule", path)
	}
	// Populated at once: page faults belong to `prepare`, not to the first lap.
	data, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return nil, err
	}
	word := func(offset int) int { return int(binary.LittleEndian.Uint32(data[offset:])) }
	s := &schedule{file: data, records: data[32:],
		recordBytes: word(8), length: word(12), slices: word(16),
		lapNS: int64(binary.LittleEndian.Uint64(data[24:]))}
	if string(data[:8]) != "MDYNSCH1" || s.recordBytes != 24 && s.recordBytes != 40 ||
		len(s.records) != s.length*s.recordBytes || s.slices < 1 || s.length%s.slices != 0 {
		s.close()
		return nil, fmt.Errorf("%s: broken header or length of schedule", path)
	}
	return s, nil
}

func (s *schedule) close() { unix.Munmap(s.file) }

func (s *schedule) record(index int) (r record) {
	data := s.records[index*s.recordBytes:][:s.recordBytes]
	r.intended = int64(binary.LittleEndian.Uint64(data))
	r.key = int64(binary.LittleEndian.Uint64(data[8:]))
	r.document = int(binary.LittleEndian.Uint32(data[16:]))
	r.operation = int(data[20])
	r.guid = data[24:]
	return r
}

// queue deals out one slice lap after lap, to its worker or to all of them.
type queue struct {
	schedule            *schedule
	first, length, next int
	lap, dealt, limit   int64
	mutex               sync.Mutex
}

func (q *queue) exhausted() bool { return q.length == 0 || q.dealt >= q.limit }

// take deals out the next record, unless it is intended at or after `before`: then it waits there
// for the next turn.
func (q *queue) take(before int64) (r record, ok bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.exhausted() {
		return r, false
	}
	r = q.schedule.record(q.first + q.next)
	r.intended += q.lap * q.schedule.lapNS
	if r.intended >= before {
		return r, false
	}
	r.lap, r.number = q.lap, q.dealt
	q.dealt++
	if q.next++; q.next == q.length {
		q.next = 0
		q.lap++
	}
	return r, true
}

const sampleBytes = 32

func putSample(to []byte, f *flight, outcome byte, worker int64) {
	binary.LittleEndian.PutUint64(to, uint64(f.intended))
	binary.LittleEndian.PutUint64(to[8:], uint64(f.start))
	binary.LittleEndian.PutUint64(to[16:], uint64(f.end-f.start))
	binary.LittleEndian.PutUint32(to[24:], uint32(f.record.number))
	to[28], to[29] = byte(f.record.operation), outcome
	binary.LittleEndian.PutUint16(to[30:], uint16(worker))
}

// input holds the values that stamps may put into one document.
type input struct {
	Key, Lap, Item, Sequence, Producer int64
	MadeNS                             int64 `json:"made_ns"`
	TimeMS                             int64 `json:"time_ms"`
	GUID                               hexadecimal
}

type hexadecimal []byte

func (h *hexadecimal) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

var sources = map[string]func(*input) int64{
	"key":      func(in *input) int64 { return in.Key },
	"sequence": func(in *input) int64 { return in.Sequence + in.Item },
	"producer": func(in *input) int64 { return in.Producer },
	"made_ns":  func(in *input) int64 { return in.MadeNS },
	"time_ms":  func(in *input) int64 { return in.TimeMS },
}

type stamp struct {
	Path             []string
	As, From, Prefix string
	Width            int
	Add              int64
	value            func(*input) any
}

// UnmarshalJSON makes the one closure that an operation will call for this stamp.
func (s *stamp) UnmarshalJSON(line []byte) error {
	type plain stamp
	if err := json.Unmarshal(line, (*plain)(s)); err != nil {
		return err
	}
	source, add, prefix := sources[s.From], s.Add, s.Prefix
	if source == nil || len(s.Path) == 0 {
		return fmt.Errorf("stamp at %q from %q", s.Path, s.From)
	}
	number := func(in *input) int64 { return source(in) + add }
	switch s.As {
	case "int32":
		s.value = func(in *input) any { return int32(number(in)) }
	case "int64":
		s.value = func(in *input) any { return number(in) }
	case "double":
		s.value = func(in *input) any { return float64(number(in)) }
	case "date":
		s.value = func(in *input) any { return bson.DateTime(number(in)) }
	case "string":
		zeros := strings.Repeat("0", max(s.Width, 0))
		s.value = func(in *input) any {
			digits := strconv.FormatInt(number(in), 10)
			return prefix + zeros[min(len(digits), len(zeros)):] + digits
		}
	case "objectid":
		var id bson.ObjectID
		if n, err := hex.Decode(id[:], []byte(prefix[:min(len(prefix), 8)])); err != nil || n != 4 {
			return fmt.Errorf("prefix %q of an objectid", prefix)
		}
		s.value = func(in *input) any {
			id := id
			binary.BigEndian.PutUint64(id[4:], uint64(number(in)))
			return id
		}
	case "guid":
		s.value = func(in *input) any { return bson.Binary{Subtype: 4, Data: in.uniqueGUID()} }
	default:
		return fmt.Errorf("stamp as %q", s.As)
	}
	return nil
}

func (in *input) uniqueGUID() []byte {
	guid := make([]byte, 16)
	copy(guid, in.GUID)
	head, tail := guid[:4], guid[12:]
	binary.BigEndian.PutUint32(head, binary.BigEndian.Uint32(head)^uint32(in.Lap))
	binary.BigEndian.PutUint32(tail, binary.BigEndian.Uint32(tail)^uint32(in.Item))
	return guid
}

// template is a document of which every operation gets a fresh, stamped copy.
type template struct {
	document bson.D
	stamps   []stamp
	places   [][]int // a stamp's path as positions: no names are searched for per operation
	clocked  bool    // a stamp reads the clocks
}

func newTemplate(document bson.D, stamps []stamp) (*template, error) {
	t := &template{document: document, stamps: stamps}
	for _, s := range stamps {
		place := locate(document, s.Path)
		if place == nil {
			return nil, fmt.Errorf("stamp: no field %s", strings.Join(s.Path, "."))
		}
		t.places = append(t.places, place)
		t.clocked = t.clocked || s.From == "made_ns" || s.From == "time_ms"
	}
	return t, nil
}

type templateSpec struct {
	Document json.RawMessage // canonical Extended JSON
	Stamps   []stamp
}

func (spec *templateSpec) compile() (t *template, err error) {
	var document bson.D
	if spec == nil {
		return nil, nil
	}
	if err = bson.UnmarshalExtJSON(spec.Document, true, &document); err == nil {
		t, err = newTemplate(document, spec.Stamps)
	}
	if err != nil {
		err = refuse("protocol", "template: %v", err)
	}
	return t, err
}

// locate returns the positions that a path leads through, nil where it leads nowhere.
func locate(value any, path []string) (place []int) {
	for _, name := range path {
		position := -1
		switch inner := value.(type) {
		case bson.D:
			for i := range inner {
				if inner[i].Key == name {
					position, value = i, inner[i].Value
					break
				}
			}
		case bson.A:
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(inner) {
				position, value = i, inner[i]
			}
		}
		if position < 0 {
			return nil
		}
		place = append(place, position)
	}
	return place
}

// make returns a document as an application would have made it.
func (t *template) make(in *input) bson.D {
	if t.clocked {
		in.MadeNS, in.TimeMS = now(), time.Now().UnixMilli()
	}
	return t.fill(in)
}

func (t *template) fill(in *input) bson.D {
	document := copyDocument(t.document)
	for i, place := range t.places {
		slot := &document[place[0]].Value
		for _, position := range place[1:] {
			switch inner := (*slot).(type) {
			case bson.D:
				slot = &inner[position].Value
			case bson.A:
				slot = &inner[position]
			}
		}
		*slot = t.stamps[i].value(in)
	}
	return document
}

// copyDocument copies the mutable parts; the rest (numbers, strings) is immutable in Go.
func copyDocument(document bson.D) bson.D {
	fresh := make(bson.D, len(document))
	for i, element := range document {
		fresh[i] = bson.E{Key: element.Key, Value: copyValue(element.Value)}
	}
	return fresh
}

func copyValue(value any) any {
	switch v := value.(type) {
	case bson.D:
		return copyDocument(v)
	case bson.A:
		fresh := make(bson.A, len(v))
		for i, item := range v {
			fresh[i] = copyValue(item)
		}
		return fresh
	case bson.Binary:
		return bson.Binary{Subtype: v.Subtype, Data: bytes.Clone(v.Data)}
	}
	return value
}

// readPool decodes a file of BSON documents, one after another.
func readPool(path string) (pool []bson.D, err error) {
	file, err := os.ReadFile(path)
	for err == nil && len(file) > 0 {
		size := 0
		if len(file) >= 5 {
			size = int(binary.LittleEndian.Uint32(file))
		}
		if size < 5 || size > len(file) {
			return nil, fmt.Errorf("%s: no sequence of BSON documents", path)
		}
		var document bson.D
		err = bson.Unmarshal(file[:size], &document)
		pool, file = append(pool, document), file[size:]
	}
	return pool, err
}
