//go:build !purego && !race && !msan && !asan

#include "textflag.h"

// place has the shifts of four words of counters. Word j has the bits 4i+j of a word of bits, so
// its bits are shifted by j.
DATA place<>+0(SB)/8, $0
DATA place<>+8(SB)/8, $1
DATA place<>+16(SB)/8, $2
DATA place<>+24(SB)/8, $3
GLOBL place<>(SB), RODATA|NOPTR, $32

#define ONES  Y13 // a one in each counter
#define PLACE Y14
#define TEMP0 Y15
#define TEMP1 Y12

// PLACED_BITS replaces each counter of four words by its bit, which is 1 if the counter is not 0.
// The bit goes to its place in the word of bits.
#define PLACED_BITS(words)          \
	VPSRLQ  $2, words, TEMP0    \
	VPOR    TEMP0, words, words \
	VPSRLQ  $1, words, TEMP0    \
	VPOR    TEMP0, words, words \
	VPAND   ONES, words, words  \
	VPSLLVQ PLACE, words, words

// func fourToBits(dst, counters *uint64, times int)
TEXT ·fourToBits(SB), NOSPLIT, $0-24
	MOVQ         dst+0(FP), DI
	MOVQ         counters+8(FP), SI
	MOVQ         times+16(FP), CX
	VMOVDQU      place<>(SB), PLACE
	MOVQ         $0x1111111111111111, AX
	MOVQ         AX, X13
	VPBROADCASTQ X13, ONES

four:
	VMOVDQU (SI), Y0
	VMOVDQU 32(SI), Y1
	VMOVDQU 64(SI), Y2
	VMOVDQU 96(SI), Y3
	PLACED_BITS(Y0)
	PLACED_BITS(Y1)
	PLACED_BITS(Y2)
	PLACED_BITS(Y3)

	// OR the four words of each register.
	VPUNPCKLQDQ Y1, Y0, TEMP0 // words 0 of Y0 and Y1, and words 2
	VPUNPCKHQDQ Y1, Y0, TEMP1 // words 1, and words 3
	VPOR        TEMP0, TEMP1, Y0
	VPUNPCKLQDQ Y3, Y2, TEMP0
	VPUNPCKHQDQ Y3, Y2, TEMP1
	VPOR        TEMP0, TEMP1, Y2
	VPERM2I128  $0x20, Y2, Y0, TEMP0 // the lower halves
	VPERM2I128  $0x31, Y2, Y0, TEMP1 // the upper halves
	VPOR        TEMP0, TEMP1, Y0
	VMOVDQU     Y0, (DI)

	ADDQ $128, SI
	ADDQ $32, DI
	DECQ CX
	JNZ  four
	VZEROUPPER
	RET
