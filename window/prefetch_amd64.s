//go:build !purego

#include "go_asm.h"
#include "textflag.h"

#define sum  AX // x of next
#define grow BX // its step
#define bend R12 // curve
#define bits R11 // of a block
#define p    DX // two positions
#define q    R15

// PAIR makes the next two positions, as next does.
#define PAIR           \
	MOVL sum, p    \
	MOVQ sum, q    \
	SHRQ $32, q    \
	IMULQ bits, p  \
	IMULQ bits, q  \
	SHRQ $32, p    \
	SHRQ $32, q    \
	ADDQ grow, sum \
	ADDQ bend, grow

// func prefetch(words *uint64, x, step, size uint64, pairs int)
TEXT ·prefetch(SB), NOSPLIT, $0-40
	MOVQ words+0(FP), DI
	MOVQ x+8(FP), sum
	MOVQ step+16(FP), grow
	MOVQ $const_curve, bend
	MOVQ size+24(FP), bits
	MOVQ pairs+32(FP), CX
next:
	PAIR
	SHRL $6, p
	SHRL $6, q
	PREFETCHT0 (DI)(p*8)
	PREFETCHT0 (DI)(q*8)
	DECQ CX
	JNE next
	RET

// Batches fetch into the second-level cache: AMD's Zen 4 has more room there for lines that
// are on their way.

#define found   R9 // where positions are stored
#define inBlock R10 // the block's words
#define left    R13

#define STORE            \
	MOVL p, 0(found) \
	MOVL q, 4(found) \
	ADDQ $8, found

// func findPositions(hs *bloom.Hash, count int, states *block, array *uint64, blockCount, words uint64, firsts, others int, blocks *uint64, positions *uint32)
TEXT ·findPositions(SB), NOSPLIT, $0-80
	MOVQ hs+0(FP), SI
	MOVQ count+8(FP), CX
	MOVQ words+40(FP), bits
	SHLQ $6, bits
	MOVQ $const_curve, bend
	MOVQ blocks+64(FP), R8
	MOVQ positions+72(FP), found
key:
	MOVQ 0(SI), sum
	MOVQ 8(SI), grow
	MULQ blockCount+32(FP) // the product's high half is the block, the low half what is left of the sum
	MOVQ DX, 0(R8)
	IMUL3Q $block__size, DX, DI
	ADDQ states+16(FP), DI
	PREFETCHT0 (DI)
	IMULQ words+40(FP), DX
	MOVQ array+24(FP), inBlock
	LEAQ (inBlock)(DX*8), inBlock
	MOVQ firsts+48(FP), left
first:
	PAIR
	STORE
	SHRL $6, p
	SHRL $6, q
	PREFETCHT1 (inBlock)(p*8)
	PREFETCHT1 (inBlock)(q*8)
	SUBQ $2, left
	JNE first
	MOVQ others+56(FP), left
	TESTQ left, left
	JEQ stored
other:
	PAIR
	STORE
	SUBQ $2, left
	JNE other
stored:
	ADDQ $16, SI
	ADDQ $8, R8
	DECQ CX
	JNE key
	RET

// func fetchWords(words *uint64, positions *uint32, count int)
TEXT ·fetchWords(SB), NOSPLIT, $0-24
	MOVQ words+0(FP), DI
	MOVQ positions+8(FP), SI
	MOVQ count+16(FP), CX
next:
	MOVL (SI), AX
	SHRQ $6, AX
	PREFETCHT1 (DI)(AX*8)
	ADDQ $4, SI
	DECQ CX
	JNE next
	RET
