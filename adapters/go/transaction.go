//go:build !v1_0

package main

import "context"

// Sessions run transactions from 1.1 on.
func init() { calls["transaction"] = transaction }

// transaction is done by the driver's own loop, which tries again what may be tried again.
func transaction(ctx context.Context, t *target, with *given) (got answer, err error) {
	attempts := int64(0)
	err = t.inTransaction(ctx, func(ctx context.Context) error {
		attempts++
		got = answer{}
		for i := range with.parts {
			part := &with.parts[i]
			each, err := part.call(ctx, part.target, &part.given)
			if err == nil {
				err = part.check(each, 1)
			}
			if err != nil {
				return err
			}
			if part.right.read {
				got.documents += each.documents
				got.sum += each.sum
			}
		}
		return nil
	})
	got.retries = attempts - 1
	return got, err
}
