package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// input holds the values that stamps may put into one document.
type input struct {
	Key, Shift, Sequence, Producer int64
	MadeNS                         int64 `json:"made_ns"`
	TimeMS                         int64 `json:"time_ms"`
	GUID                           hexadecimal
}

type hexadecimal []byte

func (h *hexadecimal) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

var sources = map[string]func(*input) int64{
	"key":      func(in *input) int64 { return in.Key + in.Shift },
	"sequence": func(in *input) int64 { return in.Sequence },
	"producer": func(in *input) int64 { return in.Producer },
	"made_ns":  func(in *input) int64 { return in.MadeNS },
	"time_ms":  func(in *input) int64 { return in.TimeMS },
}

// guid spreads the shift little-endian: so the guids of one batch lie apart in an index.
func (in *input) guid() []byte {
	guid := bytes.Clone(in.GUID)
	head, tail := guid[:4], guid[12:]
	binary.LittleEndian.PutUint32(head, binary.LittleEndian.Uint32(head)^uint32(in.Shift))
	binary.LittleEndian.PutUint32(tail, binary.LittleEndian.Uint32(tail)^uint32(in.Shift>>32))
	return guid
}

type stamp struct {
	Path             []string
	As, From, Prefix string
	Width            int
	Add              int64
	source           func(*input) int64
	form             func(*stamp, *input) any
	zeros            string
	id               objectID // its first bytes
}

func (s *stamp) number(in *input) int64 { return s.source(in) + s.Add }

var forms = map[string]func(*stamp, *input) any{
	"int32":  func(s *stamp, in *input) any { return int32(s.number(in)) },
	"int64":  func(s *stamp, in *input) any { return s.number(in) },
	"double": func(s *stamp, in *input) any { return float64(s.number(in)) },
	"date":   func(s *stamp, in *input) any { return dateTime(s.number(in)) },
	"string": func(s *stamp, in *input) any {
		digits := strconv.FormatInt(s.number(in), 10)
		return s.Prefix + s.zeros[min(len(digits), len(s.zeros)):] + digits
	},
	"objectid": func(s *stamp, in *input) any {
		id := s.id
		binary.BigEndian.PutUint64(id[4:], uint64(s.number(in)))
		return id
	},
	"guid": func(_ *stamp, in *input) any { return binData{Subtype: 4, Data: in.guid()} },
	"guid_string": func(_ *stamp, in *input) any {
		guid := in.guid()
		return fmt.Sprintf("%x-%x-%x-%x-%x", guid[:4], guid[4:6], guid[6:8], guid[8:10], guid[10:])
	},
}

// UnmarshalJSON looks up once what every copy of a document needs for this stamp.
func (s *stamp) UnmarshalJSON(line []byte) (err error) {
	type plain stamp
	if err = json.Unmarshal(line, (*plain)(s)); err != nil {
		return err
	}
	s.source, s.form, s.zeros = sources[s.From], forms[s.As], strings.Repeat("0", s.Width)
	if s.form == nil {
		return fmt.Errorf("stamp as %q", s.As)
	}
	if s.As == "objectid" {
		_, err = hex.Decode(s.id[:], []byte(s.Prefix))
	}
	return err
}

// template is a document of which every operation gets a fresh, stamped copy.
type template struct {
	document document
	stamps   []stamp
	places   [][]int // a stamp's path as positions: no names are searched for per operation
	clocked  bool    // a stamp reads the clocks
}

func newTemplate(from document, stamps []stamp) *template {
	t := &template{document: from, stamps: stamps}
	for _, s := range stamps {
		t.places = append(t.places, locate(from, s.Path))
		t.clocked = t.clocked || s.From == "made_ns" || s.From == "time_ms"
	}
	return t
}

// locate returns the positions that a path leads through.
func locate(value any, path []string) (place []int) {
	for _, name := range path {
		switch inner := value.(type) {
		case document:
			for i := range inner {
				if inner[i].Key == name {
					place, value = append(place, i), inner[i].Value
					break
				}
			}
		case array:
			i, _ := strconv.Atoi(name)
			place, value = append(place, i), inner[i]
		}
	}
	return place
}

// make returns a document as an application would have made it.
func (t *template) make(in *input) document {
	if t.clocked {
		in.MadeNS, in.TimeMS = now(), time.Now().UnixMilli()
	}
	return t.fill(in)
}

func (t *template) fill(in *input) document {
	fresh := copyDocument(t.document)
	for i, place := range t.places {
		slot := &fresh[place[0]].Value
		for _, position := range place[1:] {
			switch inner := (*slot).(type) {
			case document:
				slot = &inner[position].Value
			case array:
				slot = &inner[position]
			}
		}
		*slot = t.stamps[i].form(&t.stamps[i], in)
	}
	return fresh
}

// copyDocument copies the mutable parts; the rest (numbers, strings) is immutable in Go.
func copyDocument(from document) document {
	fresh := make(document, len(from))
	for i := range from {
		fresh[i].Key, fresh[i].Value = from[i].Key, copyValue(from[i].Value)
	}
	return fresh
}

func copyValue(value any) any {
	switch v := value.(type) {
	case document:
		return copyDocument(v)
	case array:
		fresh := make(array, len(v))
		for i, item := range v {
			fresh[i] = copyValue(item)
		}
		return fresh
	case binData:
		return binData{Subtype: v.Subtype, Data: bytes.Clone(v.Data)}
	}
	return value
}

// integer returns the integer in a top-level field, 0 where there is none.
func integer(from document, field string) int64 {
	if field == "" {
		return 0
	}
	for i := range from {
		if from[i].Key != field {
			continue
		}
		switch value := from[i].Value.(type) {
		case int32:
			return int64(value)
		case int64:
			return value
		}
	}
	return 0
}

// readPool decodes a file of BSON documents, one after another.
func readPool(path string) (pool []document, err error) {
	file, err := os.ReadFile(path)
	for err == nil && len(file) > 0 {
		var next document
		size := int(binary.LittleEndian.Uint32(file))
		next, err = decode(file[:size])
		pool, file = append(pool, next), file[size:]
	}
	return pool, err
}
