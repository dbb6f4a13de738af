//go:build !purego && !msan && !asan

#include "go_asm.h"
#include "textflag.h"
#include "hash_amd64.h"

#define header R12
#define digest R15
#define end    headers_end-8(SP)

// func sumKeys(dst *Hash, keys unsafe.Pointer, count int, size uintptr) int
TEXT ·sumKeys(SB), NOSPLIT, $8-40
	MOVQ dst+0(FP), digest
	MOVQ keys+8(FP), header
	MOVQ count+16(FP), scratch
	IMULQ size+24(FP), scratch
	ADDQ header, scratch
	MOVQ scratch, end
	MULTIPLIERS
key:
	MOVQ 8(header), keyLen
	CMPQ keyLen, $const_directLen
	JHI done
	MOVQ 0(header), keyPtr
	HASH
	MOVQ hash1, 0(digest)
	MOVQ hash2, 8(digest)
	ADDQ $Hash__size, digest
	ADDQ size+24(FP), header
	CMPQ header, end
	JNE key
done:
	SUBQ dst+0(FP), digest
	SHRQ $4, digest
	MOVQ digest, ret+32(FP)
	RET

// sumUint64s hashes eight integers at a time, in the lanes of two vectors. These make two chains of
// operations, which the macros interleave. The processor would overlap only a small part of two
// chains in sequence, because its window of operations holds about one chain.
#define state1a Y0
#define state1b Y1
#define state2a Y2
#define state2b Y3
#define temp1   Y4
#define temp2   Y5
#define temp3   Y6
#define temp4   Y7

DATA eights<>+0(SB)/8, $8
DATA eights<>+8(SB)/8, $8
DATA eights<>+16(SB)/8, $8
DATA eights<>+24(SB)/8, $8
GLOBL eights<>(SB), RODATA|NOPTR, $32

// CONSTANT sets each lane of low to value, and each lane of high to the high half of value.
#define CONSTANT(value, lowX, low, high) \
	MOVQ value, AX                   \
	VMOVQ AX, lowX                   \
	VPBROADCASTQ lowX, low           \
	VPSRLQ $32, low, high

// TIMES multiplies x and y by a constant. VPMULUDQ multiplies the low halves of lanes; VPSHUFD
// moves the high halves there.
#define TIMES(low, high, x, y)     \
	VPSHUFD $0xf5, x, temp1    \
	VPSHUFD $0xf5, y, temp3    \
	VPMULUDQ low, temp1, temp1 \
	VPMULUDQ low, temp3, temp3 \
	VPMULUDQ high, x, temp2    \
	VPMULUDQ high, y, temp4    \
	VPMULUDQ low, x, x         \
	VPMULUDQ low, y, y         \
	VPADDQ temp2, temp1, temp1 \
	VPADDQ temp4, temp3, temp3 \
	VPSLLQ $32, temp1, temp1   \
	VPSLLQ $32, temp3, temp3   \
	VPADDQ temp1, x, x         \
	VPADDQ temp3, y, y

#define XORSHIFT(x, y)       \
	VPSRLQ $33, x, temp1 \
	VPSRLQ $33, y, temp3 \
	VPXOR temp1, x, x    \
	VPXOR temp3, y, y

#define FMIX(x, y)            \
	XORSHIFT(x, y)        \
	TIMES(Y12, Y13, x, y) \
	XORSHIFT(x, y)        \
	TIMES(Y14, Y15, x, y) \
	XORSHIFT(x, y)

// STORE stores the digests of four keys.
#define STORE(x, y, at)                   \
	VPADDQ y, x, x                    \
	VPADDQ x, y, y                    \
	VPUNPCKLQDQ y, x, temp1           \
	VPUNPCKHQDQ y, x, temp2           \
	VPERM2I128 $0x20, temp2, temp1, x \
	VPERM2I128 $0x31, temp2, temp1, y \
	VMOVDQU x, at(DI)                 \
	VMOVDQU y, at+32(DI)

// func sumUint64s(dst *Hash, keys unsafe.Pointer, eights int)
TEXT ·sumUint64s(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ keys+8(FP), SI
	MOVQ eights+16(FP), CX
	CONSTANT($0x87c37b91114253d5, X8, Y8, Y9)
	CONSTANT($0x4cf5ad432745937f, X10, Y10, Y11)
	CONSTANT($0xff51afd7ed558ccd, X12, Y12, Y13)
	CONSTANT($0xc4ceb9fe1a85ec53, X14, Y14, Y15)
eight:
	VMOVDQU (SI), state1a
	VMOVDQU 32(SI), state1b
	TIMES(Y8, Y9, state1a, state1b)
	VPSLLQ $31, state1a, temp1
	VPSLLQ $31, state1b, temp3
	VPSRLQ $33, state1a, state1a
	VPSRLQ $33, state1b, state1b
	VPOR temp1, state1a, state1a
	VPOR temp3, state1b, state1b
	TIMES(Y10, Y11, state1a, state1b)
	VMOVDQU eights<>(SB), temp1
	VPXOR temp1, state1a, state1a
	VPXOR temp1, state1b, state1b
	VPADDQ temp1, state1a, state1a
	VPADDQ temp1, state1b, state1b
	VPADDQ temp1, state1a, state2a
	VPADDQ temp1, state1b, state2b
	FMIX(state1a, state2a)
	FMIX(state1b, state2b)
	STORE(state1a, state2a, 0)
	STORE(state1b, state2b, 64)
	ADDQ $64, SI
	ADDQ $128, DI
	DECQ CX
	JNE eight
	VZEROUPPER
	RET
