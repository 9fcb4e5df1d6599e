package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// input has the values that stamps may put into one document.
type input struct {
	Key, Shift, Sequence, Producer int64
	MadeNS                         int64 `json:"made_ns"`
	TimeMS                         int64 `json:"time_ms"`
	GUID                           hexadecimal
	live                           bool // the clocks are read when a stamp needs them
}

type hexadecimal []byte

func (h *hexadecimal) UnmarshalText(text []byte) (err error) {
	*h, err = hex.DecodeString(string(text))
	return err
}

// guid spreads the shift little-endian, so that the guids of one batch are not neighbours in an
// index.
func (in *input) guid() []byte {
	guid := make([]byte, 16)
	copy(guid, in.GUID)
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
}

func (s *stamp) number(in *input) int64 {
	switch s.From {
	case "key":
		return in.Key + in.Shift + s.Add
	case "sequence":
		return in.Sequence + s.Add
	case "producer":
		return in.Producer + s.Add
	case "made_ns":
		if in.live {
			in.MadeNS = now()
		}
		return in.MadeNS + s.Add
	}
	if in.live {
		in.TimeMS = time.Now().UnixMilli()
	}
	return in.TimeMS + s.Add
}

func (s *stamp) value(in *input) any {
	switch s.As {
	case "int32":
		return int32(s.number(in))
	case "int64":
		return s.number(in)
	case "double":
		return float64(s.number(in))
	case "date":
		return dateTime(s.number(in))
	case "string":
		digits := strconv.FormatInt(s.number(in), 10)
		return s.Prefix + strings.Repeat("0", max(0, s.Width-len(digits))) + digits
	case "objectid":
		var id objectID
		hex.Decode(id[:], []byte(s.Prefix))
		binary.BigEndian.PutUint64(id[4:], uint64(s.number(in)))
		return id
	case "guid":
		return binData{Subtype: 4, Data: in.guid()}
	}
	guid := in.guid() // guid_string
	return fmt.Sprintf("%x-%x-%x-%x-%x", guid[:4], guid[4:6], guid[6:8], guid[8:10], guid[10:])
}

// reference names a document of a pool or, as `documents`, all of them.
type reference struct {
	Pool, Document int
	Stamps         []stamp
	pool           []document
}

// one returns nil if an operation has no such part.
func (r *reference) one(in *input) document {
	if r == nil {
		return nil
	}
	return r.make(r.Document, in)
}

// fixed is the document itself, which nothing changes.
func (r *reference) fixed() document { return r.pool[r.Document] }

// field returns the place of the value of that name, nil if there is none.
func field(in document, name string) *any {
	for i := range in {
		if in[i].Key == name {
			return &in[i].Value
		}
	}
	return nil
}

// make returns a fresh, stamped copy, as an application would have made it.
func (r *reference) make(number int, in *input) document {
	fresh := copyDocument(r.pool[number%len(r.pool)])
	for i := range r.Stamps {
		s := &r.Stamps[i]
		slot := field(fresh, s.Path[0])
		for _, name := range s.Path[1:] {
			switch inner := (*slot).(type) {
			case document:
				slot = field(inner, name)
			case array:
				position, _ := strconv.Atoi(name)
				slot = &inner[position]
			}
		}
		*slot = s.value(in)
	}
	return fresh
}

// copyDocument copies it in one piece, then the parts that can be changed.
func copyDocument(from document) document {
	fresh := slices.Clone(from)
	for i := range fresh {
		own(&fresh[i].Value)
	}
	return fresh
}

// own replaces a value that can be changed by a copy; numbers and strings cannot change in Go.
func own(value *any) {
	switch v := (*value).(type) {
	case document:
		*value = copyDocument(v)
	case array:
		fresh := slices.Clone(v)
		for i := range fresh {
			own(&fresh[i])
		}
		*value = fresh
	case binData:
		*value = binData{Subtype: v.Subtype, Data: bytes.Clone(v.Data)}
	}
}

// readPool decodes a file of BSON documents, one after another.
func readPool(path string) (pool []document, err error) {
	file, err := os.ReadFile(path)
	for err == nil && len(file) > 0 {
		var next document
		size := binary.LittleEndian.Uint32(file)
		err = decode(file[:size], &next)
		pool, file = append(pool, next), file[size:]
	}
	return pool, err
}
