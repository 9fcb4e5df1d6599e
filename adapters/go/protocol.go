package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

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
func startClock(epoch int64) (resolution int64) {
	var before, after, step unix.Timespec
	best := int64(math.MaxInt64)
	for range 16 {
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &before)
		began := time.Now()
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &after)
		if width := after.Nano() - before.Nano(); width < best {
			best, clock.began, clock.offset = width, began, before.Nano()+width/2-epoch
		}
	}
	clock.epoch = epoch
	unix.ClockGetres(unix.CLOCK_MONOTONIC, &step)
	return step.Nano()
}

// schedule is a file mapped into memory: on the heap it would make the collector run less often
// than in the user's own program.
type schedule struct {
	file, records               []byte
	recordBytes, slices, length int // length: records without the parts behind them
	lapNS                       int64
}

// record is one operation of the schedule, or one part of a bulk.
type record struct {
	intended, key              int64 // intended: offset from T0
	document, count, operation int
	advances                   bool // its key moves on with each lap
	guid                       []byte
	lap                        int64
	number                     int64 // of the operation in its slice, from 0
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
	if info.Size() < 32 {
		return nil, fmt.Errorf("%s: no schedule", path)
	}
	// Populated at once: page faults belong to `prepare`, not to the first lap.
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ,
		unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return nil, err
	}
	word := func(offset int) int { return int(binary.LittleEndian.Uint32(data[offset:])) }
	s := &schedule{file: data, records: data[32:], recordBytes: word(8), length: word(12),
		slices: word(16), lapNS: int64(binary.LittleEndian.Uint64(data[24:]))}
	if string(data[:8]) != "MDYNSCH2" || len(s.records) != (s.length+word(20))*s.recordBytes {
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
	r.count = int(binary.LittleEndian.Uint32(data[20:]))
	r.operation, r.advances = int(data[24]), data[25]&1 != 0
	r.guid = data[32:]
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
