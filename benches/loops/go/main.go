// The least code with which a Go program does the adapter's work, for comparison with it.
//
// loop URI DATABASE COLLECTION OPERATION WORKERS POOL. Each line of its input is the length of a
// turn in ms; it answers with the operations done and the ns they took.
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	loaded = 20_000 // documents that there are to be found: keys 0 and up
	stride = 7_919  // coprime to loaded: every key comes, in an order that no cache knows
)

type worker struct {
	items        *mongo.Collection
	pool         []bson.D
	key, workers int64
	times        [][2]time.Duration // since the program began
	sum          int64
}

type operation func(*worker, context.Context) (start time.Duration, err error)

var begin = time.Now()

func id(key int64) (id bson.ObjectID) {
	copy(id[:], "\x69\x55\xb9\x00")
	binary.BigEndian.PutUint64(id[4:], uint64(key))
	return id
}

func (w *worker) insertOne(ctx context.Context) (start time.Duration, err error) {
	document := append(bson.D(nil), w.pool[w.key%int64(len(w.pool))]...)
	document[0].Value, document[1].Value = id(w.key), w.key // _id and number
	w.key += w.workers
	start = time.Since(begin)
	_, err = w.items.InsertOne(ctx, document)
	return start, err
}

func (w *worker) findOne(ctx context.Context) (start time.Duration, err error) {
	w.key = (w.key + stride) % loaded
	filter := bson.D{{Key: "_id", Value: id(w.key)}}
	var found bson.D
	start = time.Since(begin)
	err = w.items.FindOne(ctx, filter).Decode(&found)
	for _, element := range found {
		if element.Key == "number" {
			w.sum += element.Value.(int64)
		}
	}
	return start, err
}

func (w *worker) turn(operation operation, until time.Duration) {
	w.times = w.times[:0]
	for now := time.Since(begin); now < until; {
		start, err := operation(w, context.Background())
		now = time.Since(begin)
		if err != nil {
			log.Fatal(err)
		}
		w.times = append(w.times, [2]time.Duration{start, now})
	}
}

func readPool(path string) (pool []bson.D) {
	bytes, err := os.ReadFile(path)
	for err == nil && len(bytes) > 0 {
		length := binary.LittleEndian.Uint32(bytes)
		var document bson.D
		err = bson.Unmarshal(bytes[:length], &document)
		pool, bytes = append(pool, document), bytes[length:]
	}
	if err != nil {
		log.Fatal(err)
	}
	return pool
}

func main() {
	client, err := mongo.Connect(options.Client().ApplyURI(os.Args[1]))
	if err != nil {
		log.Fatal(err)
	}
	items := client.Database(os.Args[2]).Collection(os.Args[3])
	var pool []bson.D // a find has no use for it, and the collector would mark it each time
	if os.Args[4] == "insert_one" {
		pool = readPool(os.Args[6])
	}
	operation := map[string]operation{
		"insert_one": (*worker).insertOne, "find_one": (*worker).findOne}[os.Args[4]]
	count, _ := strconv.Atoi(os.Args[5])
	workers := make([]*worker, count)
	for n := range workers {
		workers[n] = &worker{items: items, pool: pool, key: int64(n), workers: int64(count)}
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		length, _ := strconv.Atoi(lines.Text())
		began, ended, operations := time.Since(begin), time.Duration(0), 0
		var turns sync.WaitGroup
		for _, w := range workers {
			turns.Go(func() { w.turn(operation, began+time.Duration(length)*time.Millisecond) })
		}
		turns.Wait()
		for _, w := range workers {
			operations += len(w.times)
			ended = max(ended, w.times[len(w.times)-1][1])
		}
		fmt.Println(operations, (ended - began).Nanoseconds())
	}
}
