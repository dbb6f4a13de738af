// Package mxcsr changes the thread's control register for floating-point
// arithmetic, in tests. A host of Go code, such as a C program, may have changed
// it too.
package mxcsr
