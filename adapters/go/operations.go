package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// operationSpec is one entry of `operations` in `prepare`.
type operationSpec struct {
	Name, Kind, Collection, Key       string
	Filter, Update, Pipeline, Command *templateSpec
	Documents                         *struct {
		Pool   int
		Stamps []stamp
	}
	Batch          int
	Ordered        *bool
	Upsert         bool
	Limit          *int64
	BatchSize      *int32          `json:"batch_size"`
	SumField       string          `json:"sum_field"`
	WriteConcern   *map[string]any `json:"write_concern"`
	ReadConcern    *string         `json:"read_concern"`
	ReadPreference *string         `json:"read_preference"`
	acknowledged   bool            // its write concern, or the client's, asks for an answer
	readPreference *readpref.ReadPref
}

// arguments are the values of one call; all of them exist before the first clock reading.
type arguments struct {
	filter, document, update, command bson.D
	documents                         []bson.D
	pipeline                          bson.A
}

type answer struct{ documents, sum int64 }

// call is the measured part: the driver's call as its users write it, its answer consumed.
type call func(ctx context.Context, with *arguments) (answer, error)

// wrong is an answer that came, and is not the right one.
type wrong string

func (w wrong) Error() string { return string(w) }

// kinds lists every operation with its required fields.
var kinds = []struct {
	name, needs string
	bind        func(*mongo.Database, *mongo.Collection, *operationSpec) call
}{
	{"noop", "", noop},
	{"insert_one", "documents", insertOne},
	{"insert_many", "documents batch", insertMany},
	{"find_one", "filter", findOne},
	{"find", "filter", find},
	{"update_one", "filter update", updateOne},
	{"replace_one", "filter documents", replaceOne},
	{"delete_one", "filter", deleteOne},
	{"count", "filter", count},
	{"aggregate", "pipeline", aggregate},
	{"command", "command", command},
}

// noop counts the documents made for it: the cost of making one is measured with it.
func noop(_ *mongo.Database, _ *mongo.Collection, spec *operationSpec) call {
	made := answer{}
	if spec.Documents != nil {
		made.documents = 1
	}
	return func(context.Context, *arguments) (answer, error) { return made, nil }
}

func insertOne(_ *mongo.Database, c *mongo.Collection, spec *operationSpec) call {
	return func(ctx context.Context, with *arguments) (answer, error) {
		result, err := c.InsertOne(ctx, with.document)
		if err == nil && spec.acknowledged && !result.Acknowledged {
			err = wrong("the insert was not acknowledged")
		}
		return answer{}, err
	}
}

func insertMany(_ *mongo.Database, c *mongo.Collection, spec *operationSpec) call {
	opts := options.InsertMany()
	if spec.Ordered != nil {
		opts.SetOrdered(*spec.Ordered)
	}
	return func(ctx context.Context, with *arguments) (answer, error) {
		result, err := c.InsertMany(ctx, with.documents, opts)
		if err == nil && spec.acknowledged && len(result.InsertedIDs) != len(with.documents) {
			err = wrong("not all documents of the batch were inserted")
		}
		return answer{}, err
	}
}

func findOne(_ *mongo.Database, c *mongo.Collection, spec *operationSpec) call {
	return func(ctx context.Context, with *arguments) (answer, error) {
		var document bson.D
		err := c.FindOne(ctx, with.filter).Decode(&document)
		if errors.Is(err, mongo.ErrNoDocuments) {
			err = wrong("no document found")
		}
		if err != nil {
			return answer{}, err
		}
		return answer{1, integer(document, spec.SumField)}, nil
	}
}

func find(_ *mongo.Database, c *mongo.Collection, spec *operationSpec) call {
	opts := options.Find()
	if spec.Limit != nil {
		opts.SetLimit(*spec.Limit)
	}
	if spec.BatchSize != nil {
		opts.SetBatchSize(*spec.BatchSize)
	}
	return func(ctx context.Context, with *arguments) (answer, error) {
		cursor, err := c.Find(ctx, with.filter, opts)
		if err != nil {
			return answer{}, err
		}
		return drain(ctx, cursor, spec.SumField)
	}
}

// drain decodes document by document: cursor.All would hold a large answer in memory.
func drain(ctx context.Context, cursor *mongo.Cursor, sumField string) (got answer, err error) {
	defer cursor.Close(ctx)
	for cursor.Next(ctx) {
		var document bson.D
		if err := cursor.Decode(&document); err != nil {
			return got, err
		}
		got.documents++
		got.sum += integer(document, sumField)
	}
	return got, cursor.Err()
}

func integer(document bson.D, field string) int64 {
	for _, element := range document {
		if element.Key != field {
			continue
		}
		switch value := element.Value.(type) {
		case int32:
			return int64(value)
		case int64:
			return value
		}
	}
	return 0
}

func updateOne(_ *mongo.Database, c *mongo.Collection, spec *operationSpec) call {
	opts := options.UpdateOne()
	if spec.Upsert {
		opts.SetUpsert(true)
	}
	return func(ctx context.Context, with *arguments) (answer, error) {
		result, err := c.UpdateOne(ctx, with.filter, with.update, opts)
		if err == nil && spec.acknowledged && result.MatchedCount+result.UpsertedCount != 1 {
			err = wrong("the update matched no document")
		}
		return answer{}, err
	}
}

func replaceOne(_ *mongo.Database, c *mongo.Collection, spec *operationSpec) call {
	opts := options.Replace()
	if spec.Upsert {
		opts.SetUpsert(true)
	}
	return func(ctx context.Context, with *arguments) (answer, error) {
		result, err := c.ReplaceOne(ctx, with.filter, with.document, opts)
		if err == nil && spec.acknowledged && result.MatchedCount+result.UpsertedCount != 1 {
			err = wrong("the replacement matched no document")
		}
		return answer{}, err
	}
}

func deleteOne(_ *mongo.Database, c *mongo.Collection, spec *operationSpec) call {
	return func(ctx context.Context, with *arguments) (answer, error) {
		result, err := c.DeleteOne(ctx, with.filter)
		if err == nil && spec.acknowledged && result.DeletedCount != 1 {
			err = wrong("no document was deleted")
		}
		return answer{}, err
	}
}

func count(_ *mongo.Database, c *mongo.Collection, _ *operationSpec) call {
	return func(ctx context.Context, with *arguments) (answer, error) {
		documents, err := c.CountDocuments(ctx, with.filter)
		return answer{documents: documents}, err
	}
}

func aggregate(_ *mongo.Database, c *mongo.Collection, spec *operationSpec) call {
	return func(ctx context.Context, with *arguments) (answer, error) {
		cursor, err := c.Aggregate(ctx, with.pipeline)
		if err != nil {
			return answer{}, err
		}
		return drain(ctx, cursor, spec.SumField)
	}
}

func command(database *mongo.Database, _ *mongo.Collection, spec *operationSpec) call {
	opts := options.RunCmd()
	if spec.readPreference != nil {
		opts.SetReadPreference(spec.readPreference)
	}
	return func(ctx context.Context, with *arguments) (answer, error) {
		var reply bson.D
		return answer{}, database.RunCommand(ctx, with.command, opts).Decode(&reply)
	}
}

// bind returns the call of an operation on its own handle of the collection.
func (spec *operationSpec) bind(db *mongo.Database, byDefault *writeconcern.WriteConcern) (
	call, error) {
	given := map[string]bool{"filter": spec.Filter != nil, "update": spec.Update != nil,
		"pipeline": spec.Pipeline != nil, "command": spec.Command != nil,
		"documents": spec.Documents != nil, "batch": spec.Batch > 0}
	for _, kind := range kinds {
		if kind.name != spec.Kind {
			continue
		}
		for _, field := range strings.Fields(kind.needs) {
			if !given[field] {
				return nil, refuse("protocol", "%s needs %s", spec.Kind, field)
			}
		}
		if spec.Kind == "noop" {
			return noop(nil, nil, spec), nil
		}
		if db == nil {
			return nil, refuse("protocol", "%s before open", spec.Kind)
		}
		opts, err := spec.collectionOptions(byDefault)
		if err != nil {
			return nil, err
		}
		return kind.bind(db, db.Collection(spec.Collection, opts), spec), nil
	}
	return nil, refuse("unsupported", "operation %q", spec.Kind)
}

func (spec *operationSpec) collectionOptions(byDefault *writeconcern.WriteConcern) (
	*options.CollectionOptionsBuilder, error) {
	opts, concern := options.Collection(), byDefault
	if spec.Kind == "command" && (spec.WriteConcern != nil || spec.ReadConcern != nil) {
		return nil, refuse("unsupported", "a concern of a command stands in the command itself")
	}
	if spec.WriteConcern != nil {
		concern = &writeconcern.WriteConcern{W: (*spec.WriteConcern)["w"]}
		if nodes, ok := concern.W.(float64); ok { // as JSON has it; the driver wants an int
			concern.W = int(nodes)
		}
		if journal, ok := (*spec.WriteConcern)["j"].(bool); ok {
			concern.Journal = &journal
		}
		opts.SetWriteConcern(concern)
	}
	if spec.ReadConcern != nil {
		opts.SetReadConcern(&readconcern.ReadConcern{Level: *spec.ReadConcern})
	}
	if spec.ReadPreference != nil {
		mode, err := readpref.ModeFromString(*spec.ReadPreference)
		if err != nil {
			return nil, refuse("protocol", "%v", err)
		}
		if spec.readPreference, err = readpref.New(mode); err != nil {
			return nil, err
		}
		opts.SetReadPreference(spec.readPreference)
	}
	spec.acknowledged = concern.Acknowledged()
	return opts, nil
}

type operation struct {
	*operationSpec
	call                              call
	filter, update, pipeline, command *template
	pool                              []*template
}

func newOperation(spec *operationSpec, db *mongo.Database, concern *writeconcern.WriteConcern) (
	o *operation, err error) {
	o = &operation{operationSpec: spec}
	if o.call, err = spec.bind(db, concern); err != nil {
		return nil, err
	}
	var problems [5]error
	o.filter, problems[0] = spec.Filter.compile()
	o.update, problems[1] = spec.Update.compile()
	o.command, problems[2] = spec.Command.compile()
	o.pipeline, problems[3] = spec.Pipeline.compile()
	if o.pipeline != nil && stages(o.pipeline.document) == nil {
		problems[4] = refuse("protocol", "a pipeline's document is {\"pipeline\":[…]}")
	}
	return o, cmp.Or(problems[:]...)
}

func stages(document bson.D) (pipeline bson.A) {
	if len(document) == 1 {
		pipeline, _ = document[0].Value.(bson.A)
	}
	return pipeline
}

// describe names an error as the server does, else by its type.
func describe(err error) (code int, name string) {
	var answered mongo.CommandError
	var written mongo.WriteException
	var bulk mongo.BulkWriteException
	var concern *mongo.WriteConcernError
	name = strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
	switch {
	case errors.As(err, new(wrong)):
		return 0, "WrongAnswer"
	case errors.As(err, &answered):
		code = int(answered.Code)
		if answered.Name != "" {
			name = answered.Name
		}
	case errors.As(err, &written):
		concern = written.WriteConcernError
		if len(written.WriteErrors) > 0 {
			return written.WriteErrors[0].Code, name
		}
	case errors.As(err, &bulk):
		concern = bulk.WriteConcernError
		if len(bulk.WriteErrors) > 0 {
			return bulk.WriteErrors[0].Code, name
		}
	}
	if concern != nil {
		return concern.Code, concern.Name
	}
	return code, name
}
