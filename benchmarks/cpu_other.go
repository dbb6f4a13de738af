//go:build !unix

package main

import "time"

var began = time.Now()

// processorTime returns the time since the program began, in place of its processor time.
func processorTime() time.Duration { return time.Since(began) }
