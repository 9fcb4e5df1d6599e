package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/version"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/auth"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// The types in which users of this driver write documents.
type (
	document = bson.D
	array    = bson.A
	binData  = bson.Binary
	objectID = bson.ObjectID
	dateTime = bson.DateTime
	batch    = []bson.D
)

func decode(data []byte) (made document, err error) { return made, bson.Unmarshal(data, &made) }

func encode(from document) ([]byte, error) { return bson.Marshal(from) }

var driver = fields{"name": "mongo-go-driver", "version": version.Driver, "native": nil}

var extras = []string{"write_concern", "read_concern", "read_preference", "unacknowledged",
	"unordered", "clients"}

// client is one of `open`, with its database.
type client struct {
	*mongo.Client
	uri      string
	options  *options.ClientOptions
	database *mongo.Database
}

// newClient connects in the background.
func newClient(uri, database string) (*client, error) {
	// The driver passes over options that it does not know, and reads one that it no longer uses.
	if parsed, err := connstring.Parse(uri); err == nil {
		unknown := slices.Sorted(maps.Keys(parsed.UnknownOptions))
		if parsed.SocketTimeoutSet {
			unknown = append(unknown, "sockettimeoutms")
		}
		if len(unknown) > 0 {
			return nil, refuse("unsupported", "options unknown to the driver: %q", unknown)
		}
	}
	opts := options.Client().ApplyURI(uri)
	c, err := mongo.Connect(opts)
	if err != nil { // it has not yet looked for a server
		return nil, refuse("unsupported", "%v", err)
	}
	return &client{c, uri, opts, c.Database(database)}, nil
}

// prove says why there is no server that takes this client.
func (c *client) prove(ctx context.Context) error {
	err := c.Ping(ctx, nil)
	if refused := (*auth.Error)(nil); errors.As(err, &refused) && !mongo.IsTimeout(err) {
		return refuse("auth", "%v", err)
	}
	if err != nil {
		return refuse("connect", "%v", err)
	}
	return nil
}

func (c *client) acknowledged() bool { return c.options.WriteConcern.Acknowledged() }

// offline refuses every connection.
type offline struct{}

func (offline) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("offline")
}

// pool asks a client that never connects: the driver tells its pool sizes only to a pool monitor,
// and one on the measured client would be called at every checkout.
func (c *client) pool() (pool *event.MonitorPoolOptions) {
	monitor := &event.PoolMonitor{Event: func(e *event.PoolEvent) {
		if e.Type == event.ConnectionPoolCreated {
			pool = e.PoolOptions
		}
	}}
	opts := options.Client().ApplyURI(c.uri).SetPoolMonitor(monitor).SetDialer(offline{})
	if idle, err := mongo.Connect(opts); err == nil {
		idle.Disconnect(context.Background())
	}
	return pool
}

func (c *client) resolved() fields {
	resolved := fields{
		"write_concern": fields{}, "read_concern": nil, // unset: not sent
		"compressors": append([]string{}, c.options.Compressors...), // unset: none in this driver
		"tls":         c.options.TLSConfig != nil,
		"commands":    fields{"count": "aggregate"}, // CountDocuments
	}
	if pool := c.pool(); pool != nil {
		resolved["max_pool_size"], resolved["min_pool_size"] = pool.MaxPoolSize, pool.MinPoolSize
	}
	if concern := c.options.WriteConcern; concern != nil {
		resolved["write_concern"] = fields{"w": concern.W, "j": concern.Journal}
	}
	if c.options.ReadConcern != nil {
		resolved["read_concern"] = c.options.ReadConcern.Level
	}
	// The client's defaults have no accessor. Its fields hold the real ones, a constant here would
	// be those of one version. Left out should a version rename the fields.
	private := reflect.ValueOf(c.Client).Elem()
	if mode := private.FieldByName("readPreference"); mode.IsValid() {
		if mode = mode.Elem().FieldByName("mode"); mode.IsValid() {
			resolved["read_preference"] = readpref.Mode(mode.Uint()).String()
		}
	}
	names := map[string]string{"retry_writes": "retryWrites", "retry_reads": "retryReads"}
	for name, field := range names {
		if retry := private.FieldByName(field); retry.IsValid() {
			resolved[name] = retry.Bool()
		}
	}
	return resolved
}

// target is where an operation goes, with its concerns and the options that never change.
type target struct {
	*operationSpec
	database     *mongo.Database
	collection   *mongo.Collection
	acknowledged bool
	insertMany   *options.InsertManyOptionsBuilder
	find         *options.FindOptionsBuilder
	update       *options.UpdateOneOptionsBuilder
	replace      *options.ReplaceOptionsBuilder
	bulk         *options.BulkWriteOptionsBuilder
}

func (c *client) target(spec *operationSpec) (*target, error) {
	opts, concern := options.Collection(), c.options.WriteConcern
	if spec.WriteConcern != nil {
		concern = &writeconcern.WriteConcern{W: spec.WriteConcern.W, Journal: spec.WriteConcern.J}
		if nodes, ok := concern.W.(float64); ok { // as JSON has it; the driver wants an int
			concern.W = int(nodes)
		}
		opts.SetWriteConcern(concern)
	}
	if spec.ReadConcern != "" {
		opts.SetReadConcern(&readconcern.ReadConcern{Level: spec.ReadConcern})
	}
	if spec.ReadPreference != "" {
		mode, err := readpref.ModeFromString(spec.ReadPreference)
		if err != nil {
			return nil, err
		}
		preference, _ := readpref.New(mode) // it fails on tags alone
		opts.SetReadPreference(preference)
	}
	t := &target{operationSpec: spec, database: c.database,
		collection: c.database.Collection(spec.Collection, opts), acknowledged: concern.Acknowledged(),
		insertMany: options.InsertMany(), find: findOptions(spec, &given{}),
		update: options.UpdateOne(), replace: options.Replace(), bulk: options.BulkWrite()}
	if spec.Ordered != nil {
		t.insertMany.SetOrdered(*spec.Ordered)
		t.bulk.SetOrdered(*spec.Ordered)
	}
	if spec.Upsert != nil {
		t.update.SetUpsert(*spec.Upsert)
		t.replace.SetUpsert(*spec.Upsert)
	}
	return t, nil
}

// prepared is what a call takes beside documents, made before the first clock reading.
type prepared struct {
	find                      *options.FindOptionsBuilder
	findOne                   []options.Lister[options.FindOneOptions]
	models                    []mongo.WriteModel
	inserts, matches, deletes int64 // that the models ask for
}

// setOptions makes those that change from call to call.
func (with *given) setOptions(spec *operationSpec) {
	if spec.Kind == "find" {
		with.find = findOptions(spec, with)
	} else {
		with.findOne = []options.Lister[options.FindOneOptions]{
			options.FindOne().SetProjection(with.projection)}
	}
}

func findOptions(spec *operationSpec, with *given) *options.FindOptionsBuilder {
	opts := options.Find()
	if spec.BatchSize > 0 {
		opts.SetBatchSize(spec.BatchSize)
	}
	if with.limit > 0 {
		opts.SetLimit(with.limit)
	}
	if with.projection != nil {
		opts.SetProjection(with.projection)
	}
	return opts
}

// add makes one part of a bulk.
func (with *given) add(spec *operationSpec, part *given) {
	var model mongo.WriteModel
	switch spec.Kind {
	case "insert_one":
		model = &mongo.InsertOneModel{Document: part.document}
		with.inserts++
	case "update_one":
		model = &mongo.UpdateOneModel{Filter: part.filter, Update: part.update, Upsert: spec.Upsert}
		with.matches++
	case "replace_one":
		model = &mongo.ReplaceOneModel{Filter: part.filter, Replacement: part.document,
			Upsert: spec.Upsert}
		with.matches++
	case "delete_one":
		model = &mongo.DeleteOneModel{Filter: part.filter}
		with.deletes++
	}
	with.models = append(with.models, model)
}

// calls are the driver's as its users write them, their answers consumed.
var calls = map[string]call{
	"noop": (*target).noop, "read_modify_write": (*target).readModifyWrite,
	"insert_one": (*target).insertOne, "insert_many": (*target).insertAll,
	"find_one": (*target).findOne, "find": (*target).findAll,
	"update_one": (*target).updateOne, "replace_one": (*target).replaceOne,
	"delete_one": (*target).deleteOne, "find_one_and_update": (*target).findOneAndUpdate,
	"bulk_write": (*target).bulkWrite, "count": (*target).count,
	"estimated_count": (*target).estimatedCount, "aggregate": (*target).aggregate,
	"command": (*target).command, "drop": (*target).drop,
}

func (t *target) insertOne(ctx context.Context, with *given) (answer, error) {
	result, err := t.collection.InsertOne(ctx, with.document)
	if err == nil && t.acknowledged && !result.Acknowledged {
		err = wrong("the insert was not acknowledged")
	}
	return answer{}, err
}

func (t *target) insertAll(ctx context.Context, with *given) (answer, error) {
	result, err := t.collection.InsertMany(ctx, with.documents, t.insertMany)
	if err == nil && t.acknowledged && len(result.InsertedIDs) != len(with.documents) {
		err = wrong("not all documents of the batch were inserted")
	}
	return answer{}, err
}

func (t *target) findOne(ctx context.Context, with *given) (answer, error) {
	return t.single(t.collection.FindOne(ctx, with.filter, with.findOne...))
}

func (t *target) single(result *mongo.SingleResult) (answer, error) {
	var found document
	err := result.Decode(&found)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = wrong("no document found")
	}
	if err != nil {
		return answer{}, err
	}
	return answer{1, integer(found, t.SumField)}, nil
}

func (t *target) findAll(ctx context.Context, with *given) (answer, error) {
	opts := t.find
	if with.find != nil {
		opts = with.find
	}
	cursor, err := t.collection.Find(ctx, with.filter, opts)
	if err != nil {
		return answer{}, err
	}
	return t.drain(ctx, cursor)
}

// drain decodes document by document: cursor.All would hold a large answer in memory.
func (t *target) drain(ctx context.Context, cursor *mongo.Cursor) (got answer, err error) {
	defer cursor.Close(ctx)
	for cursor.Next(ctx) {
		var found document
		if err := cursor.Decode(&found); err != nil {
			return got, err
		}
		got.documents++
		got.sum += integer(found, t.SumField)
	}
	return got, cursor.Err()
}

func (t *target) updateOne(ctx context.Context, with *given) (answer, error) {
	result, err := t.collection.UpdateOne(ctx, with.filter, with.update, t.update)
	if err == nil && t.acknowledged && result.MatchedCount+result.UpsertedCount != 1 {
		err = wrong("the update matched no document")
	}
	return answer{}, err
}

func (t *target) replaceOne(ctx context.Context, with *given) (answer, error) {
	result, err := t.collection.ReplaceOne(ctx, with.filter, with.document, t.replace)
	if err == nil && t.acknowledged && result.MatchedCount+result.UpsertedCount != 1 {
		err = wrong("the replacement matched no document")
	}
	return answer{}, err
}

func (t *target) deleteOne(ctx context.Context, with *given) (answer, error) {
	result, err := t.collection.DeleteOne(ctx, with.filter)
	if err == nil && t.acknowledged && result.DeletedCount != 1 {
		err = wrong("no document was deleted")
	}
	return answer{}, err
}

func (t *target) findOneAndUpdate(ctx context.Context, with *given) (answer, error) {
	got, err := t.single(t.collection.FindOneAndUpdate(ctx, with.filter, with.update))
	if !t.acknowledged && errors.As(err, new(wrong)) {
		err = nil
	}
	return got, err
}

func (t *target) bulkWrite(ctx context.Context, with *given) (answer, error) {
	result, err := t.collection.BulkWrite(ctx, with.models, t.bulk)
	if err == nil && t.acknowledged && (result.InsertedCount != with.inserts ||
		result.MatchedCount+result.UpsertedCount != with.matches ||
		result.DeletedCount != with.deletes) {
		err = wrong("the bulk did not do all of its parts")
	}
	return answer{}, err
}

func (t *target) count(ctx context.Context, with *given) (answer, error) {
	documents, err := t.collection.CountDocuments(ctx, with.filter)
	return answer{documents: documents}, err
}

func (t *target) estimatedCount(ctx context.Context, _ *given) (answer, error) {
	documents, err := t.collection.EstimatedDocumentCount(ctx)
	return answer{documents: documents}, err
}

func (t *target) aggregate(ctx context.Context, with *given) (answer, error) {
	cursor, err := t.collection.Aggregate(ctx, with.pipeline)
	if err != nil {
		return answer{}, err
	}
	return t.drain(ctx, cursor)
}

func (t *target) command(ctx context.Context, with *given) (answer, error) {
	var reply document
	return answer{}, t.database.RunCommand(ctx, with.command).Decode(&reply)
}

func (t *target) drop(ctx context.Context, _ *given) (answer, error) {
	return answer{}, t.collection.Drop(ctx)
}

// describe names an error as the server does, else by its type.
func describe(err error) (code int, name string, timeout bool) {
	var answered mongo.CommandError
	var written mongo.WriteException
	var bulk mongo.BulkWriteException
	var concern *mongo.WriteConcernError
	name = strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
	switch {
	case errors.As(err, &answered):
		code, name = int(answered.Code), cmp.Or(answered.Name, name)
	case errors.As(err, &written):
		concern = written.WriteConcernError
		if len(written.WriteErrors) > 0 {
			code, concern = written.WriteErrors[0].Code, nil
		}
	case errors.As(err, &bulk):
		concern = bulk.WriteConcernError
		if len(bulk.WriteErrors) > 0 {
			code, concern = bulk.WriteErrors[0].Code, nil
		}
	}
	if concern != nil {
		code, name = concern.Code, cmp.Or(concern.Name, name)
	}
	return code, name, mongo.IsTimeout(err) || code == 50 || code == 262
}
