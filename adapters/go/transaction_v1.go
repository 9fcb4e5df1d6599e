//go:build v1 && !v1_0

package main

import (
	"context"

	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
	"go.mongodb.org/mongo-driver/mongo/readconcern"
)

func (t *target) inTransaction(ctx context.Context, do func(context.Context) error) error {
	opts := options.Transaction()
	if t.WriteConcern != nil {
		opts.SetWriteConcern(writeConcern(t.WriteConcern))
	}
	if t.ReadConcern != "" {
		opts.SetReadConcern(readconcern.New(readconcern.Level(t.ReadConcern)))
	}
	session, err := t.collection.Database().Client().StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(ctx)
	_, err = session.WithTransaction(ctx, func(ctx mongo.SessionContext) (any, error) {
		return nil, do(ctx)
	}, opts)
	return err
}
