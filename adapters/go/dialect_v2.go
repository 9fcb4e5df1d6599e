//go:build !v1

package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/version"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/auth"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/connstring"
)

// The types in which users of this driver write documents, and those that dialect.go takes.
type (
	document = bson.D
	array    = bson.A
	binData  = bson.Binary
	objectID = bson.ObjectID
	dateTime = bson.DateTime

	singleResult       = mongo.SingleResult
	updateResult       = mongo.UpdateResult
	cursor             = mongo.Cursor
	commandError       = mongo.CommandError
	writeException     = mongo.WriteException
	bulkWriteException = mongo.BulkWriteException
	collation          = options.Collation
)

var errNoDocuments, isTimeout = mongo.ErrNoDocuments, mongo.IsTimeout

var errUnacknowledged error // none in this generation

func decode(data []byte, into any) error { return bson.Unmarshal(data, into) }

// many has documents as InsertMany takes them.
type many = any

func batch[T any](made []T) many { return made }

func encode(from any) ([]byte, error) { return bson.Marshal(from) }

var driver = fields{"name": "mongo-go-driver", "version": version.Driver, "native": nil}

var extras = []string{"write_concern", "read_concern", "read_preference", "unacknowledged",
	"unordered", "clients", "sort", "hint", "collation", "expect"}

// client is a client of `open`, with its database.
type client struct {
	*mongo.Client
	options  *options.ClientOptions
	database *mongo.Database
}

// newClient connects in the background.
func newClient(uri, database string) (*client, error) {
	parsed, err := connstring.Parse(uri)
	if err != nil {
		return nil, refuse("unsupported", "%v", err)
	}
	// The driver ignores options that it does not know, and parses one that it no longer uses.
	unknown := slices.Sorted(maps.Keys(parsed.UnknownOptions))
	if parsed.SocketTimeoutSet {
		unknown = append(unknown, "sockettimeoutms")
	}
	if len(unknown) > 0 {
		return nil, refuse("unsupported", "options unknown to the driver: %q", unknown)
	}
	opts := options.Client().ApplyURI(uri)
	c, err := mongo.Connect(opts)
	if err != nil { // it has not yet looked for a server
		return nil, refuse("unsupported", "%v", err)
	}
	return &client{c, opts, c.Database(database)}, nil
}

// prove says why no server accepts this client.
func (c *client) prove() error {
	err := c.Ping(stop, nil)
	if refused := (*auth.Error)(nil); errors.As(err, &refused) && !mongo.IsTimeout(err) {
		return refuse("auth", "%v", err)
	}
	if err != nil {
		return refuse("connect", "%v", err)
	}
	return nil
}

func (c *client) acknowledged() bool { return c.options.WriteConcern.Acknowledged() }

// resolved reports the client's options. Connect has set the driver's default of the largest pool;
// the other defaults are those that all drivers share.
func (c *client) resolved() fields {
	set := c.options
	resolved := fields{
		"max_pool_size": set.MaxPoolSize, "min_pool_size": or(set.MinPoolSize, 0),
		"write_concern": fields{}, "read_concern": nil, // unset: not sent
		"read_preference": cmp.Or(set.ReadPreference, readpref.Primary()).Mode().String(),
		"compressors":     append([]string{}, set.Compressors...), // unset: none in this driver
		"retry_writes":    or(set.RetryWrites, true),
		"retry_reads":     or(set.RetryReads, true),
		"tls":             set.TLSConfig != nil,
		"commands":        fields{"count": "aggregate"}, // CountDocuments
	}
	if concern := set.WriteConcern; concern != nil {
		resolved["write_concern"] = fields{"w": concern.W, "j": concern.Journal}
	}
	if set.ReadConcern != nil {
		resolved["read_concern"] = set.ReadConcern.Level
	}
	return resolved
}

func or[T any](set *T, unset T) T {
	if set == nil {
		return unset
	}
	return *set
}

// target is where an operation goes, with its concerns and the options that never change.
type target struct {
	*operation
	collection   *mongo.Collection
	acknowledged bool
	insertMany   *options.InsertManyOptionsBuilder
	find         *options.FindOptionsBuilder
	findOne      []options.Lister[options.FindOneOptions]
	update       *options.UpdateOneOptionsBuilder
	replace      *options.ReplaceOptionsBuilder
	bulk         *options.BulkWriteOptionsBuilder

	findOneAndUpdate *options.FindOneAndUpdateOptionsBuilder
}

func (c *client) target(o *operation) *target {
	opts, concern := options.Collection(), c.options.WriteConcern
	if o.WriteConcern != nil {
		concern = writeConcern(o.WriteConcern)
		opts.SetWriteConcern(concern)
	}
	if o.ReadConcern != "" {
		opts.SetReadConcern(&readconcern.ReadConcern{Level: o.ReadConcern})
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
		update: options.UpdateOne(), replace: options.Replace(), bulk: options.BulkWrite()}
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
	concern := &writeconcern.WriteConcern{W: asked.W, Journal: asked.J}
	if nodes, ok := concern.W.(float64); ok { // as JSON has it; the driver expects an int
		concern.W = int(nodes)
	}
	return concern
}

func (t *target) inTransaction(ctx context.Context, do func(context.Context) error) error {
	opts := options.Transaction()
	if t.WriteConcern != nil {
		opts.SetWriteConcern(writeConcern(t.WriteConcern))
	}
	if t.ReadConcern != "" {
		opts.SetReadConcern(&readconcern.ReadConcern{Level: t.ReadConcern})
	}
	session, err := t.collection.Database().Client().StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		return nil, do(ctx)
	}, opts)
	return err
}

// prepared is what a call takes besides documents, made before the first reading of the clock.
type prepared struct {
	find    *options.FindOptionsBuilder
	findOne []options.Lister[options.FindOneOptions]
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

func findOptions(o *operation, with *given) *options.FindOptionsBuilder {
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

func findOneOptions(o *operation) []options.Lister[options.FindOneOptions] {
	opts := options.FindOne()
	if o.Sort != nil {
		opts.SetSort(o.Sort.fixed())
	}
	if o.Collation != nil {
		opts.SetCollation(collationOf(o.Collation.fixed()))
	}
	if o.Hint != nil {
		opts.SetHint(o.Hint.fixed())
	}
	return []options.Lister[options.FindOneOptions]{opts}
}

func findOneAndUpdateOptions(o *operation) *options.FindOneAndUpdateOptionsBuilder {
	opts := options.FindOneAndUpdate()
	if o.Sort != nil {
		opts.SetSort(o.Sort.fixed())
	}
	if o.Collation != nil {
		opts.SetCollation(collationOf(o.Collation.fixed()))
	}
	return opts
}

func (t *target) distinct(ctx context.Context, filter document) (values array, err error) {
	err = t.collection.Distinct(ctx, t.Field, filter).Decode(&values)
	return values, err
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
