//go:build !purego && !race && !msan && !asan

#include "go_asm.h"
#include "textflag.h"
#include "hash_amd64.h"

DATA blockSalts<>+0(SB)/8, $0x44974d9147b6137b
DATA blockSalts<>+8(SB)/8, $0xa2b7289d8824ad5b
DATA blockSalts<>+16(SB)/8, $0x2df1424b705495c7
DATA blockSalts<>+24(SB)/8, $0x5c6bfb319efc4947
GLOBL blockSalts<>(SB), RODATA|NOPTR, $32

DATA blockOnes<>+0(SB)/8, $0x0000000100000001
DATA blockOnes<>+8(SB)/8, $0x0000000100000001
DATA blockOnes<>+16(SB)/8, $0x0000000100000001
DATA blockOnes<>+24(SB)/8, $0x0000000100000001
GLOBL blockOnes<>(SB), RODATA|NOPTR, $32

// The block of hash h is at byte (high half of h * number of blocks >> 32) * 32.
// The length of words is four times the number of blocks.
#define OFFSET(h, words, reg) \
	MOVL h, reg      \
	IMULQ words, reg \
	SHRQ $34, reg    \
	SHLQ $5, reg

// LOCATE sets Y2 to the block of hash AX in the filter at DX, which lies at AX from
// SI, and Y0 to the bits of the hash in it.
#define LOCATE \
	VMOVD AX, X0                        \
	VPBROADCASTD X0, Y0                 \
	SHRQ $32, AX                        \
	MOVQ Filter_words+0(DX), SI  \
	IMULQ Filter_words+8(DX), AX \
	VPMULLD blockSalts<>(SB), Y0, Y0    \
	VMOVDQU blockOnes<>(SB), Y1         \
	SHRQ $34, AX                        \
	SHLQ $5, AX                         \
	VPSRLD $27, Y0, Y0                  \
	VPSLLVD Y0, Y1, Y0                  \
	VMOVDQU (SI)(AX*1), Y2

// CONTAINS sets CX to 1 or 0. VPTEST sets the carry flag if the mask without the
// block is empty.
#define CONTAINS \
	LOCATE        \
	VPTEST Y0, Y2 \
	SETCS CX      \
	VZEROUPPER

// INSERT sets CX to 1 if it changed the block, else to 0.
#define INSERT \
	LOCATE                 \
	VPOR Y0, Y2, Y3        \
	VMOVDQU Y3, (SI)(AX*1) \
	VPTEST Y0, Y2          \
	SETCC CX               \
	VZEROUPPER

// FILTER leaves filters that are zero, or have several lines, to portable code.
#define FILTER(portable) \
	MOVQ f+0(FP), DX         \
	CMPQ Filter_fast(DX), $1 \
	JNE portable

// func filterAdd(f *Filter, key []byte) bool
TEXT ·filterAdd(SB), NOSPLIT, $0-33
	FILTER(portable)
	KEY(portable)
	MOVQ f+0(FP), DX
	INSERT
	MOVB CX, ret+32(FP)
	RET
portable:
	JMP ·filterAddPortable(SB)

// func filterAddHash(f *Filter, h bloom.Hash) bool
TEXT ·filterAddHash(SB), NOSPLIT, $0-25
	FILTER(portable)
	MOVQ h_H1+8(FP), AX
	INSERT
	MOVB CX, ret+24(FP)
	RET
portable:
	JMP ·filterAddHashPortable(SB)

// func filterContains(f *Filter, key []byte) bool
TEXT ·filterContains(SB), NOSPLIT, $0-33
	FILTER(portable)
	KEY(portable)
	MOVQ f+0(FP), DX
	CONTAINS
	MOVB CX, ret+32(FP)
	RET
portable:
	JMP ·filterContainsPortable(SB)

// func filterContainsHash(f *Filter, h bloom.Hash) bool
TEXT ·filterContainsHash(SB), NOSPLIT, $0-25
	FILTER(portable)
	MOVQ h_H1+8(FP), AX
	CONTAINS
	MOVB CX, ret+24(FP)
	RET
portable:
	JMP ·filterContainsHashPortable(SB)

// A SyncFilter begins with its Filter. On amd64 the loads of aligned words that make up
// that of a block are atomic each.

// func syncContains(f *SyncFilter, key []byte) bool
TEXT ·syncContains(SB), NOSPLIT, $0-33
	FILTER(portable)
	KEY(portable)
	MOVQ f+0(FP), DX
	CONTAINS
	MOVB CX, ret+32(FP)
	RET
portable:
	JMP ·syncContainsPortable(SB)

// func syncContainsHash(f *SyncFilter, h bloom.Hash) bool
TEXT ·syncContainsHash(SB), NOSPLIT, $0-25
	FILTER(portable)
	MOVQ h_H1+8(FP), AX
	CONTAINS
	MOVB CX, ret+24(FP)
	RET
portable:
	JMP ·syncContainsHashPortable(SB)

// The batches fetch each block this many hashes before it is needed, so that as
// many cache misses overlap.
#define AHEAD 32

// func blocksContain(f *Filter, hs *Hash, count int, dst *bool)
TEXT ·blocksContain(SB), NOSPLIT, $0-32
	MOVQ f+0(FP), BX
	MOVQ Filter_words+0(BX), SI
	MOVQ Filter_words+8(BX), BX
	MOVQ hs+8(FP), DI
	MOVQ count+16(FP), CX
	MOVQ dst+24(FP), DX
	VMOVDQU blockSalts<>(SB), Y4
	VMOVDQU blockOnes<>(SB), Y5
	XORQ R8, R8                  // the hash to test
	XORQ R9, R9                  // the hash to fetch for
	LEAQ 4(DI), R10              // its high half
fetch:
	CMPQ R9, CX
	JGE test
	OFFSET((R10), BX, AX)
	PREFETCHT0 (SI)(AX*1)
	ADDQ $16, R10
	INCQ R9
	LEAQ AHEAD(R8), R11
	CMPQ R9, R11
	JLT fetch
test:
	OFFSET(4(DI), BX, AX)
	VPBROADCASTD (DI), Y0
	VPMULLD Y4, Y0, Y0
	VPSRLD $27, Y0, Y0
	VPSLLVD Y0, Y5, Y0
	VMOVDQU (SI)(AX*1), Y2
	VPTEST Y0, Y2
	SETCS (DX)(R8*1)
	ADDQ $16, DI
	INCQ R8
	CMPQ R8, CX
	JLT fetch
	VZEROUPPER
	RET

// func blocksAdd(f *Filter, hs *Hash, count int) int
TEXT ·blocksAdd(SB), NOSPLIT, $0-32
	MOVQ f+0(FP), BX
	MOVQ Filter_words+0(BX), SI
	MOVQ Filter_words+8(BX), BX
	MOVQ hs+8(FP), DI
	MOVQ count+16(FP), CX
	VMOVDQU blockSalts<>(SB), Y4
	VMOVDQU blockOnes<>(SB), Y5
	XORQ DX, DX                  // how many changed
	XORQ R8, R8
	XORQ R9, R9
	LEAQ 4(DI), R10
fetch:
	CMPQ R9, CX
	JGE add
	OFFSET((R10), BX, AX)
	PREFETCHT0 (SI)(AX*1)
	ADDQ $16, R10
	INCQ R9
	LEAQ AHEAD(R8), R11
	CMPQ R9, R11
	JLT fetch
add:
	OFFSET(4(DI), BX, AX)
	VPBROADCASTD (DI), Y0
	VPMULLD Y4, Y0, Y0
	VPSRLD $27, Y0, Y0
	VPSLLVD Y0, Y5, Y0
	VMOVDQU (SI)(AX*1), Y2
	VPOR Y0, Y2, Y3
	VMOVDQU Y3, (SI)(AX*1)
	XORL R12, R12
	VPTEST Y0, Y2
	SETCC R12
	ADDQ R12, DX
	ADDQ $16, DI
	INCQ R8
	CMPQ R8, CX
	JLT fetch
	MOVQ DX, ret+24(FP)
	VZEROUPPER
	RET
