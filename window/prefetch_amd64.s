//go:build !purego

#include "textflag.h"

// func prefetch(words *uint64, x, step, curve, size uint64, pairs int)
//
// Asks for the words that AddHash will read: pairs of positions made from the
// halves of x, in a block of size bits.
TEXT ·prefetch(SB), NOSPLIT, $0-48
	MOVQ words+0(FP), DI
	MOVQ x+8(FP), AX
	MOVQ step+16(FP), BX
	MOVQ curve+24(FP), DX
	MOVQ size+32(FP), SI
	MOVQ pairs+40(FP), R8

next:
	MOVL       AX, R9
	MOVQ       AX, R10
	SHRQ       $32, R10
	IMULQ      SI, R9
	IMULQ      SI, R10
	SHRQ       $38, R9
	SHRQ       $38, R10
	PREFETCHT0 (DI)(R9*8)
	PREFETCHT0 (DI)(R10*8)
	ADDQ       BX, AX
	ADDQ       DX, BX
	DECQ       R8
	JNZ        next
	RET
