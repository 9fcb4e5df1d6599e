package main

import (
	"encoding/binary"
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

// startClock keeps the largest of a few differences: a preemption between the two clocks makes one
// smaller, and would shift every sample of this process.
func startClock(epoch int64) (resolution int64) {
	var at, step unix.Timespec
	clock.began, clock.epoch, clock.offset = time.Now(), epoch, 0
	for range 16 {
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &at)
		clock.offset = max(clock.offset, at.Nano()-int64(time.Since(clock.began)))
	}
	clock.offset -= epoch
	unix.ClockGetres(unix.CLOCK_MONOTONIC, &step)
	return step.Nano()
}

// schedule is a file mapped into memory: on the heap it would make the collector run less often
// than in the user's own program.
type schedule struct {
	file                         []byte
	recordBytes, records, slices int64 // records: without the parts after them
	lapNS                        int64
}

// record is one operation of the schedule, or one part of a bulk.
type record struct {
	intended, key              int64 // intended: offset from T0
	document, count, operation int
	advances                   bool // its key moves on with each lap
	guid                       []byte
	lap, number                int64 // number: of the operation in its slice, from 0
}

func openSchedule(path string) (s schedule, err error) {
	file, err := os.Open(path)
	if err != nil {
		return s, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return s, err
	}
	// Populated in advance: page faults belong to `prepare`, not to the first lap.
	s.file, err = unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ,
		unix.MAP_PRIVATE|unix.MAP_POPULATE)
	if err != nil {
		return s, err
	}
	word := func(offset int) int64 { return int64(binary.LittleEndian.Uint32(s.file[offset:])) }
	s.recordBytes, s.records, s.slices = word(8), word(12), word(16)
	s.lapNS = int64(binary.LittleEndian.Uint64(s.file[24:]))
	return s, nil
}

func (s *schedule) record(index int64) (r record) {
	data := s.file[32+index*s.recordBytes:][:s.recordBytes]
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
	schedule                    *schedule
	first, length, dealt, limit int64
	mutex                       sync.Mutex
}

func (q *queue) exhausted() bool { return q.dealt >= q.limit }

// take deals out the next record, unless it is intended at or after `before`: then it waits for the
// next turn.
func (q *queue) take(before int64) (r record, ok bool) {
	q.mutex.Lock()
	if !q.exhausted() {
		r = q.schedule.record(q.first + q.dealt%q.length)
		r.number, r.lap = q.dealt, q.dealt/q.length
		r.intended += r.lap * q.schedule.lapNS
		if ok = r.intended < before; ok {
			q.dealt++
		}
	}
	q.mutex.Unlock()
	return r, ok
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
