//go:build !unix

package main

import "time"

var began = time.Now()

// processorTime returns the time since the program began.
func processorTime() time.Duration { return time.Since(began) }
