//go:build !purego

#include "go_asm.h"
#include "textflag.h"

#define sum   AX // x of next
#define grow  BX // its step
#define times R12 // multiplier
#define width R11 // lanes of a page
#define p     DX // two positions
#define q     R15
#define found R9 // where positions are stored
#define inPage R10 // the page's
#define left  R13

// PAIR makes and stores the next two positions, as next does.
#define PAIR             \
	MOVL sum, p      \
	MOVQ sum, q      \
	SHRQ $32, q      \
	IMULQ width, p   \
	IMULQ width, q   \
	SHRQ $32, p      \
	SHRQ $32, q      \
	IMULQ times, sum \
	ADDQ grow, sum   \
	MOVL p, 0(found) \
	MOVL q, 4(found) \
	ADDQ $8, found

// Keys are fetched into the second-level cache: AMD's Zen 4 has more room there for lines that
// are on their way.

// func findPositions(hs *bloom.Hash, count int, parts *page, array *uint64, pageCount, lanes uint64, firsts, others int, pages *uint64, positions *uint32)
TEXT ·findPositions(SB), NOSPLIT, $0-80
	MOVQ hs+0(FP), SI
	MOVQ count+8(FP), CX
	MOVQ lanes+40(FP), width
	MOVQ $const_multiplier, times
	MOVQ pages+64(FP), R8
	MOVQ positions+72(FP), found
key:
	MOVQ 0(SI), sum
	MOVQ 8(SI), grow
	MULQ pageCount+32(FP) // the product's high half is the page, the low half what is left of the sum
	MOVQ DX, 0(R8)
	IMUL3Q $page__size, DX, DI
	ADDQ parts+16(FP), DI
	PREFETCHT0 (DI)
	IMULQ width, DX
	MOVQ array+24(FP), inPage
	LEAQ (inPage)(DX*8), inPage
	MOVQ firsts+48(FP), left
first:
	PAIR
	PREFETCHT1 (inPage)(p*8)
	PREFETCHT1 (inPage)(q*8)
	SUBQ $2, left
	JNE first
	MOVQ others+56(FP), left
	TESTQ left, left
	JEQ stored
other:
	PAIR
	SUBQ $2, left
	JNE other
stored:
	ADDQ $16, SI
	ADDQ $8, R8
	DECQ CX
	JNE key
	RET

// func fetchLanes(lanes *uint64, positions *uint32, count int)
TEXT ·fetchLanes(SB), NOSPLIT, $0-24
	MOVQ lanes+0(FP), DI
	MOVQ positions+8(FP), SI
	MOVQ count+16(FP), CX
next:
	MOVL (SI), AX
	PREFETCHT1 (DI)(AX*8)
	ADDQ $4, SI
	DECQ CX
	JNE next
	RET
