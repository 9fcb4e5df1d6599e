//go:build v1_4

package main

import (
	"context"
	"errors"
	"net"
)

// isTimeout does what mongo.IsTimeout does from 1.5 on.
func isTimeout(err error) bool {
	var network net.Error
	var command commandError
	return errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &network) && network.Timeout() ||
		errors.As(err, &command) && command.HasErrorLabel("NetworkTimeoutError")
}
