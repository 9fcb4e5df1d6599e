//go:build v1

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
	"go.mongodb.org/mongo-driver/mongo/readconcern"
	"go.mongodb.org/mongo-driver/mongo/readpref"
	"go.mongodb.org/mongo-driver/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/version"
	"go.mongodb.org/mongo-driver/x/mongo/driver/auth"
	"go.mongodb.org/mongo-driver/x/mongo/driver/connstring"
)

// The types in which users of this driver write documents, and those that dialect.go takes.
type (
	document = bson.D
	array    = bson.A
	binData  = primitive.Binary
	objectID = primitive.ObjectID
	dateTime = primitive.DateTime

	singleResult       = mongo.SingleResult
	updateResult       = mongo.UpdateResult
	cursor             = mongo.Cursor
	commandError       = mongo.CommandError
	writeException     = mongo.WriteException
	bulkWriteException = mongo.BulkWriteException
	collation          = options.Collation
)

var errNoDocuments, errUnacknowledged = mongo.ErrNoDocuments, mongo.ErrUnacknowledgedWrite

func decode(data []byte, into any) error { return bson.Unmarshal(data, into) }

// many has documents as InsertMany takes them.
type many = []any

func batch[T any](made []T) many {
	each := make([]any, len(made))
	for i := range made {
		each[i] = made[i]
	}
	return each
}

func encode(from any) ([]byte, error) { return bson.Marshal(from) }

// Some releases call themselves v1.4.6.
var driver = fields{
	"name": "mongo-go-driver", "version": strings.TrimPrefix(version.Driver, "v"), "native": nil,
}

var extras = []string{"write_concern", "read_concern", "read_preference", "unacknowledged",
	"unordered", "clients", "sort", "hint", "collation", "max_time",
	"expect"}

// client is a client of `open`, with its database.
type client struct {
	*mongo.Client
	options  *options.ClientOptions
	database *mongo.Database
	told     fields
}

// newClient connects in the background.
func newClient(uri, database string) (*client, error) {
	parsed, err := connstring.Parse(uri) // some versions give a pointer, others a value
	if err != nil {
		return nil, refuse("unsupported", "%v", err)
	}
	if len(parsed.UnknownOptions) > 0 { // the driver ignores them
		return nil, refuse("unsupported", "options unknown to the driver: %q",
			slices.Sorted(maps.Keys(parsed.UnknownOptions)))
	}
	opts := options.Client().ApplyURI(uri)
	c, err := mongo.Connect(stop, opts)
	if err != nil { // it has not yet looked for a server
		return nil, refuse("unsupported", "%v", err)
	}
	// Only the connection string is reported: this driver does not report its defaults.
	concern := fields{} // unset: not sent
	if parsed.WNumberSet {
		concern["w"] = parsed.WNumber
	} else if parsed.WString != "" {
		concern["w"] = parsed.WString
	}
	if parsed.JSet {
		concern["j"] = parsed.J
	}
	told := fields{
		"write_concern": concern, "read_concern": nil,
		"read_preference": cmp.Or(parsed.ReadPreference, "primary"),
		"compressors":     append([]string{}, parsed.Compressors...), // unset: none
		"tls":             parsed.SSL,
		"commands":        fields{"count": "aggregate"}, // CountDocuments
	}
	if parsed.ReadConcernLevel != "" {
		told["read_concern"] = parsed.ReadConcernLevel
	}
	for name, option := range map[string]string{"max_pool_size": "maxpoolsize",
		"min_pool_size": "minpoolsize", "retry_writes": "retrywrites",
		"retry_reads": "retryreads"} {
		if given := parsed.Options[option]; len(given) > 0 {
			told[name] = json.RawMessage(given[0]) // a number or a boolean
		}
	}
	return &client{c, opts, c.Database(database), told}, nil
}

// prove says why no server accepts this client.
func (c *client) prove() error {
	err := c.Ping(stop, nil)
	if refused := (*auth.Error)(nil); errors.As(err, &refused) && !isTimeout(err) {
		return refuse("auth", "%v", err)
	}
	if err != nil {
		return refuse("connect", "%v", err)
	}
	return nil
}

func (c *client) acknowledged() bool { return c.options.WriteConcern.Acknowledged() }

func (c *client) resolved() fields { return c.told }

// target is where an operation goes, with its concerns and the options that never change.
type target struct {
	*operation
	collection   *mongo.Collection
	acknowledged bool
	insertMany   *options.InsertManyOptions
	find         *options.FindOptions
	findOne      []*options.FindOneOptions
	update       *options.UpdateOptions
	replace      *options.ReplaceOptions
	bulk         *options.BulkWriteOptions

	findOneAndUpdate *options.FindOneAndUpdateOptions
}

func (c *client) target(o *operation) *target {
	opts, concern := options.Collection(), c.options.WriteConcern
	if o.WriteConcern != nil {
		concern = writeConcern(o.WriteConcern)
		opts.SetWriteConcern(concern)
	}
	if o.ReadConcern != "" {
		opts.SetReadConcern(readconcern.New(readconcern.Level(o.ReadConcern)))
	}
	if o.ReadPreference != "" {
		mode, _ := readpref.ModeFromString(o.ReadPreference) // the core knows the modes
		preference, _ := readpref.New(mode)                  // it fails only on tags
		opts.SetReadPreference(preference)
	}
	t := &target{operation: o, collection: c.database.Collection(o.Collection, opts),
		acknowledged: concern.Acknowledged(),
		insertMany:   options.InsertMany(), find: findOptions(o, &given{}),
		findOne: findOneOptions(o), findOneAndUpdate: findOneAndUpdateOptions(o),
		update: options.Update(), replace: options.Replace(), bulk: options.BulkWrite()}
	if o.Ordered != nil {
		t.insertMany.SetOrdered(*o.Ordered)
		t.bulk.SetOrdered(*o.Ordered)
	}
	if o.Upsert != nil {
		t.update.SetUpsert(*o.Upsert)
		t.replace.SetUpsert(*o.Upsert)
	}
	return t
}

func writeConcern(asked *concern) *writeconcern.WriteConcern {
	var set []writeconcern.Option
	switch w := asked.W.(type) {
	case float64: // as JSON has it
		set = append(set, writeconcern.W(int(w)))
	case string:
		set = append(set, writeconcern.WTagSet(w)) // "majority" too
	}
	if asked.J != nil {
		set = append(set, writeconcern.J(*asked.J))
	}
	return writeconcern.New(set...)
}

// prepared is what a call takes besides documents, made before the first reading of the clock.
type prepared struct {
	find    *options.FindOptions
	findOne []*options.FindOneOptions
	models  []mongo.WriteModel
}

// setOptions makes the options that change from call to call.
func (t *target) setOptions(with *given) {
	switch {
	case with.limit == 0 && with.projection == nil:
		with.find, with.findOne = t.find, t.findOne
	case t.Kind == "find":
		with.find = findOptions(t.operation, with)
	default:
		projection := options.FindOne().SetProjection(with.projection)
		with.findOne = append(slices.Clip(t.findOne), projection)
	}
}

func findOptions(o *operation, with *given) *options.FindOptions {
	opts := options.Find()
	if o.BatchSize > 0 {
		opts.SetBatchSize(o.BatchSize)
	}
	if o.Sort != nil {
		opts.SetSort(o.Sort.fixed())
	}
	if o.Collation != nil {
		opts.SetCollation(collationOf(o.Collation.fixed()))
	}
	if o.MaxTimeMS > 0 {
		opts.SetMaxTime(time.Duration(o.MaxTimeMS) * time.Millisecond)
	}
	if o.Hint != nil {
		opts.SetHint(o.Hint.fixed())
	}
	if o.Skip > 0 {
		opts.SetSkip(o.Skip)
	}
	if with.limit > 0 {
		opts.SetLimit(with.limit)
	}
	if with.projection != nil {
		opts.SetProjection(with.projection)
	}
	return opts
}

func findOneOptions(o *operation) []*options.FindOneOptions {
	opts := options.FindOne()
	if o.Sort != nil {
		opts.SetSort(o.Sort.fixed())
	}
	if o.Collation != nil {
		opts.SetCollation(collationOf(o.Collation.fixed()))
	}
	if o.MaxTimeMS > 0 {
		opts.SetMaxTime(time.Duration(o.MaxTimeMS) * time.Millisecond)
	}
	if o.Hint != nil {
		opts.SetHint(o.Hint.fixed())
	}
	return []*options.FindOneOptions{opts}
}

func findOneAndUpdateOptions(o *operation) *options.FindOneAndUpdateOptions {
	opts := options.FindOneAndUpdate()
	if o.Sort != nil {
		opts.SetSort(o.Sort.fixed())
	}
	if o.Collation != nil {
		opts.SetCollation(collationOf(o.Collation.fixed()))
	}
	if o.MaxTimeMS > 0 {
		opts.SetMaxTime(time.Duration(o.MaxTimeMS) * time.Millisecond)
	}
	return opts
}

func (t *target) distinct(ctx context.Context, filter document) (array, error) {
	return t.collection.Distinct(ctx, t.Field, filter)
}

// model is one part of a bulk.
func (o *operation) model(part *given) mongo.WriteModel {
	switch o.Kind {
	case "insert_one":
		return &mongo.InsertOneModel{Document: part.document}
	case "update_one":
		return &mongo.UpdateOneModel{Filter: part.filter, Update: part.update, Upsert: o.Upsert}
	case "replace_one":
		return &mongo.ReplaceOneModel{Filter: part.filter, Replacement: part.document,
			Upsert: o.Upsert}
	}
	return &mongo.DeleteOneModel{Filter: part.filter}
}
