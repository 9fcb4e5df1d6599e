//go:build v1 && !v1_4

package main

import "go.mongodb.org/mongo-driver/mongo"

var isTimeout = mongo.IsTimeout
