//go:build !purego

#include "textflag.h"

// func prefetch(words *uint64, x, step, curve, lanes, shift uint64, pairs int)
//
// Asks for the words that AddHash will read: pairs of positions made from the
// halves of x. shift is 32 and the logarithm of the lanes in a word.
TEXT ·prefetch(SB), NOSPLIT, $0-56
	MOVQ words+0(FP), DI
	MOVQ x+8(FP), AX
	MOVQ step+16(FP), BX
	MOVQ curve+24(FP), DX
	MOVQ lanes+32(FP), SI
	MOVQ shift+40(FP), CX
	MOVQ pairs+48(FP), R8

next:
	MOVL       AX, R9
	MOVQ       AX, R10
	SHRQ       $32, R10
	IMULQ      SI, R9
	IMULQ      SI, R10
	SHRQ       CX, R9
	SHRQ       CX, R10
	PREFETCHT0 (DI)(R9*8)
	PREFETCHT0 (DI)(R10*8)
	ADDQ       BX, AX
	ADDQ       DX, BX
	DECQ       R8
	JNZ        next
	RET
