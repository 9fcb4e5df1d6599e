package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
)

// calls are the driver's calls as its users write them, with their answers consumed. They are the
// same in each generation of its API, because dialect_*.go gives its types the same names.
var calls = map[string]call{
	"noop": noop, "read_modify_write": readModifyWrite, // of the harness
	"find_one": findOne, "update_one": updateOne,
	"insert_one": func(ctx context.Context, t *target, with *given) (answer, error) {
		_, err := t.collection.InsertOne(ctx, with.document)
		return answer{documents: 1}, err
	},
	"insert_many": func(ctx context.Context, t *target, with *given) (answer, error) {
		result, err := t.collection.InsertMany(ctx, with.documents, t.insertMany)
		if err != nil {
			return answer{}, err
		}
		return answer{documents: int64(len(result.InsertedIDs))}, nil
	},
	"find": func(ctx context.Context, t *target, with *given) (answer, error) {
		found, err := t.collection.Find(ctx, with.filter, with.find)
		return t.drain(ctx, found, err)
	},
	"replace_one": func(ctx context.Context, t *target, with *given) (answer, error) {
		return matched(t.collection.ReplaceOne(ctx, with.filter, with.document, t.replace))
	},
	"delete_one": func(ctx context.Context, t *target, with *given) (answer, error) {
		result, err := t.collection.DeleteOne(ctx, with.filter)
		if err != nil {
			return answer{}, err
		}
		return answer{documents: result.DeletedCount}, nil
	},
	"find_one_and_update": func(ctx context.Context, t *target, with *given) (answer, error) {
		return t.single(t.collection.FindOneAndUpdate(ctx, with.filter, with.update,
			t.findOneAndUpdate))
	},
	"update_many": func(ctx context.Context, t *target, with *given) (answer, error) {
		return matched(t.collection.UpdateMany(ctx, with.filter, with.update))
	},
	"delete_many": func(ctx context.Context, t *target, with *given) (answer, error) {
		result, err := t.collection.DeleteMany(ctx, with.filter)
		if err != nil {
			return answer{}, err
		}
		return answer{documents: result.DeletedCount}, nil
	},
	"distinct": func(ctx context.Context, t *target, with *given) (answer, error) {
		values, err := t.distinct(ctx, with.filter)
		got := answer{documents: int64(len(values))}
		for _, value := range values {
			if t.SumField != "" {
				got.sum += whole(value)
			}
		}
		return got, err
	},
	"bulk_write": func(ctx context.Context, t *target, with *given) (answer, error) {
		done, err := t.collection.BulkWrite(ctx, with.models, t.bulk)
		if err != nil {
			return answer{}, err
		}
		return answer{documents: done.InsertedCount + done.MatchedCount + done.UpsertedCount +
			done.DeletedCount}, nil
	},
	"count": func(ctx context.Context, t *target, with *given) (answer, error) {
		documents, err := t.collection.CountDocuments(ctx, with.filter)
		return answer{documents: documents}, err
	},
	"estimated_count": func(ctx context.Context, t *target, with *given) (answer, error) {
		documents, err := t.collection.EstimatedDocumentCount(ctx)
		return answer{documents: documents}, err
	},
	"aggregate": func(ctx context.Context, t *target, with *given) (answer, error) {
		found, err := t.collection.Aggregate(ctx, with.pipeline[0].Value)
		return t.drain(ctx, found, err)
	},
	"command": func(ctx context.Context, t *target, with *given) (answer, error) {
		var reply document
		return answer{}, t.collection.Database().RunCommand(ctx, with.command).Decode(&reply)
	},
	"drop": func(ctx context.Context, t *target, _ *given) (answer, error) {
		return answer{}, t.collection.Drop(ctx)
	},
}

// collationOf has the names that the server gives to the parts of a collation.
func collationOf(from document) *collation {
	made := &collation{Strength: int(integer(from, "strength"))}
	for name, to := range map[string]*string{"locale": &made.Locale, "caseFirst": &made.CaseFirst,
		"alternate": &made.Alternate, "maxVariable": &made.MaxVariable} {
		if slot := field(from, name); slot != nil {
			*to, _ = (*slot).(string)
		}
	}
	for name, to := range map[string]*bool{"caseLevel": &made.CaseLevel,
		"numericOrdering": &made.NumericOrdering, "normalization": &made.Normalization,
		"backwards": &made.Backwards} {
		if slot := field(from, name); slot != nil {
			*to, _ = (*slot).(bool)
		}
	}
	return made
}

func findOne(ctx context.Context, t *target, with *given) (answer, error) {
	return t.single(t.collection.FindOne(ctx, with.filter, with.findOne...))
}

func updateOne(ctx context.Context, t *target, with *given) (answer, error) {
	return matched(t.collection.UpdateOne(ctx, with.filter, with.update, t.update))
}

func (t *target) single(result *singleResult) (got answer, err error) {
	if err = t.form.read(result, &got); errors.Is(err, errNoDocuments) {
		err = nil
	}
	return got, err
}

// drain decodes document by document: Cursor.All would keep a large answer in memory.
func (t *target) drain(ctx context.Context, found *cursor, err error) (got answer, _ error) {
	if err != nil {
		return got, err
	}
	defer found.Close(ctx)
	for found.Next(ctx) {
		if err = t.form.read(found, &got); err != nil {
			return got, err
		}
	}
	return got, found.Err()
}

func matched(result *updateResult, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	return answer{documents: result.MatchedCount + result.UpsertedCount}, nil
}

const duplicateKey = 11000

// duplicates counts documents that were there already; false: something else failed.
func duplicates(err error) (known int64, only bool) {
	var write writeException
	var bulk bulkWriteException
	if err == nil {
		return 0, true
	}
	if !errors.As(err, &write) && !errors.As(err, &bulk) {
		return 0, false
	}
	only = write.WriteConcernError == nil && bulk.WriteConcernError == nil
	for _, refused := range write.WriteErrors {
		only = only && refused.Code == duplicateKey
	}
	for _, refused := range bulk.WriteErrors {
		only = only && refused.Code == duplicateKey
	}
	return int64(len(write.WriteErrors) + len(bulk.WriteErrors)), only
}

// describe names an error as the server does, otherwise by its type.
func describe(err error) (code int, name string, timeout bool) {
	var command commandError
	var write writeException
	var bulk bulkWriteException
	name = strings.TrimPrefix(fmt.Sprintf("%T", err), "*")
	switch {
	case errors.As(err, &command):
		code, name = int(command.Code), cmp.Or(command.Name, name)
	case errors.As(err, &write) && len(write.WriteErrors) > 0:
		code = write.WriteErrors[0].Code
	case errors.As(err, &bulk) && len(bulk.WriteErrors) > 0:
		code = bulk.WriteErrors[0].Code
	default:
		if concern := cmp.Or(write.WriteConcernError, bulk.WriteConcernError); concern != nil {
			code, name = concern.Code, cmp.Or(concern.Name, name)
		}
	}
	return code, name, isTimeout(err) || code == 50 || code == 262
}
