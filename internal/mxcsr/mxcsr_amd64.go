package mxcsr

// Swap sets the register of the calling thread and returns what it held. The
// caller locks its goroutine to the thread until it has put that back.
func Swap(value uint32) (old uint32)

// Rounding has the bits of the rounding mode: to the nearest number (0), down, up,
// and toward zero, from its lowest bit on.
const Rounding = 3 << 13
