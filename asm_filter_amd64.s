//go:build !purego && !race && !msan && !asan

#include "go_asm.h"
#include "textflag.h"
#include "hash_amd64.h"

// Four probes of a Mitz64 filter are located at once, in the four lanes of a
// vector. That is not for the arithmetic, of which there is not much. Most of the
// time goes by while the probes wait for the hash. The processor hashes the next
// key meanwhile, if it has room for all that waits, and vectors need less of it.
//
// The word of a bit is v mod W, with v = x<<1>>7 < 2^57 and W words; see guava.Locate.
// Let y = x<<1 = 128*v + (less than 128) and let r be the reciprocal. Then
//
//	q = y*r / 2^71, rounded down,
//
// is at most v/W, since y/128 < v+1. The multiplier has 32 bits, so y*r / 2^64 is
// added up from three products of halves. The fourth product and what each shift
// cuts off are less than 1 each, and so is what y times the error of r comes to:
// the sum is less than 4 too small. So q is at most 4/128 less than v/W before it
// is rounded down, and v - q*W is at least 0 and less than 2*W. One subtraction of
// W, where there is a W to subtract, makes it the remainder. Since W < 2^31, it is
// enough to know the low 32 bits of v, q and their difference.

DATA lane1<>+0(SB)/8, $0
DATA lane1<>+8(SB)/8, $-1
DATA lane1<>+16(SB)/8, $0
DATA lane1<>+24(SB)/8, $-1
GLOBL lane1<>(SB), RODATA|NOPTR, $32

DATA lane2<>+0(SB)/8, $0
DATA lane2<>+8(SB)/8, $0
DATA lane2<>+16(SB)/8, $-1
DATA lane2<>+24(SB)/8, $-1
GLOBL lane2<>(SB), RODATA|NOPTR, $32

// SETUP prepares to probe the filter for the digest AX, BX.
//
//	DI      the filter
//	R8      the words
//	CX      k
//	Y0      2*H1, 2*(H1 + H2), 2*(H1 + 2*H2), 2*(H1 + 3*H2): y of the first four bits
//	Y3      8*H2, in each lane
//	Y4      W, in each half of each lane
//	Y5, Y6  the low and the high half of the reciprocal, in each half of each lane
#define SETUP                                                  \
	MOVQ f+0(FP), DI                                       \
	MOVQ (filter_bits+bitset_words+0)(DI), R8              \
	VPBROADCASTD (filter_bits+bitset_words+8)(DI), Y4      \
	VPBROADCASTD (filter_bits+bitset_reciprocal)(DI), Y5   \
	VPBROADCASTD (filter_bits+bitset_reciprocal+4)(DI), Y6 \
	MOVQ filter_k(DI), CX                                  \
	VMOVQ AX, X0                                           \
	VMOVQ BX, X1                                           \
	VPBROADCASTQ X0, Y0                                    \
	VPBROADCASTQ X1, Y1                                    \
	VPADDQ Y0, Y0, Y0                                      \
	VPADDQ Y1, Y1, Y1                                      \
	VPADDQ Y1, Y1, Y2                                      \
	VPSLLQ $2, Y1, Y3                                      \
	VPAND lane1<>(SB), Y1, Y1                              \
	VPAND lane2<>(SB), Y2, Y2                              \
	VPADDQ Y1, Y0, Y0                                      \
	VPADDQ Y2, Y0, Y0

// LOCATE sets DX, R11, R12 and R13 to the words of the next four bits.
#define LOCATE                  \
	VPSRLQ $32, Y0, Y1      \
	VPMULUDQ Y6, Y0, Y2     \
	VPMULUDQ Y5, Y1, Y7     \
	VPMULUDQ Y6, Y1, Y1     \
	VPSRLQ $32, Y2, Y2      \
	VPSRLQ $32, Y7, Y7      \
	VPADDQ Y2, Y1, Y1       \
	VPADDQ Y7, Y1, Y1       \
	VPSRLQ $7, Y1, Y1       \
	VPMULUDQ Y4, Y1, Y1     \
	VPSRLQ $7, Y0, Y2       \
	VPADDQ Y3, Y0, Y0       \
	VPSUBD Y1, Y2, Y1       \
	VPSUBD Y4, Y1, Y2       \
	VPMINUD Y2, Y1, Y1      \
	VEXTRACTI128 $1, Y1, X2 \
	VMOVD X1, DX            \
	VPEXTRD $2, X1, R11     \
	VMOVD X2, R12           \
	VPEXTRD $2, X2, R13

// TEST clears bit 0 of R9 if the next bit, in the given word, is clear.
#define TEST(word)                  \
	SHRXQ AX, (R8)(word*8), R10 \
	ADDQ BX, AX                 \
	ANDQ R10, R9

// CONTAINS sets R9 to 1 or 0. Like the portable loop it branches once for four
// bits.
#define CONTAINS     \
	SETUP        \
	MOVL $1, R9  \
	SUBQ $4, CX  \
	JCS few      \
four:                \
	LOCATE       \
	TEST(DX)     \
	TEST(R11)    \
	TEST(R12)    \
	TEST(R13)    \
	TESTL $1, R9 \
	JEQ done     \
	SUBQ $4, CX  \
	JCC four     \
few:                 \
	ADDQ $4, CX  \
	JEQ done     \
	LOCATE       \
	TEST(DX)     \
	DECQ CX      \
	JEQ done     \
	TEST(R11)    \
	DECQ CX      \
	JEQ done     \
	TEST(R12)    \
done:                \
	VZEROUPPER   \
	ANDL $1, R9

// SET sets the next bit, in the given word, and takes it off R9 if it was set.
// BTSQ would do most of that, but is slower on a busy machine (AMD Zen 4).
#define SET(word)                   \
	MOVL $1, SI                 \
	SHLXQ AX, SI, SI            \
	SHRXQ AX, (R8)(word*8), R10 \
	ORQ SI, (R8)(word*8)        \
	ANDL $1, R10                \
	SUBQ R10, R9                \
	ADDQ BX, AX

// INSERT sets R9 to the number of bits that were clear.
#define INSERT                   \
	SETUP                    \
	MOVQ CX, R9              \
	SUBQ $4, CX              \
	JCS few                  \
four:                            \
	LOCATE                   \
	SET(DX)                  \
	SET(R11)                 \
	SET(R12)                 \
	SET(R13)                 \
	SUBQ $4, CX              \
	JCC four                 \
few:                             \
	ADDQ $4, CX              \
	JEQ done                 \
	LOCATE                   \
	SET(DX)                  \
	DECQ CX                  \
	JEQ done                 \
	SET(R11)                 \
	DECQ CX                  \
	JEQ done                 \
	SET(R12)                 \
done:                            \
	VZEROUPPER               \
	ADDQ R9, filter_ones(DI) \
	TESTQ R9, R9

// FILTER leaves to portable code the filters that SETUP is not for, the zero
// Filter among them. A SyncFilter begins with its Filter.
#define FILTER(portable)                        \
	CMPB ·useAVX2(SB), $0                   \
	JEQ portable                            \
	MOVQ f+0(FP), DX                        \
	CMPB filter_strategy(DX), $const_Mitz64 \
	JNE portable                            \
	CMPQ filter_k(DX), $0                   \
	JEQ portable

#define DIGEST              \
	MOVQ h_H1+8(FP), AX \
	MOVQ h_H2+16(FP), BX

// func filterAdd(f *Filter, key []byte) bool
TEXT ·filterAdd(SB), NOSPLIT, $0-33
	FILTER(portable)
	KEY(portable)
	INSERT
	SETNE ret+32(FP)
	RET
portable:
	JMP ·filterAddPortable(SB)

// func filterAddHash(f *Filter, h Hash) bool
TEXT ·filterAddHash(SB), NOSPLIT, $0-25
	FILTER(portable)
	DIGEST
	INSERT
	SETNE ret+24(FP)
	RET
portable:
	JMP ·filterAddHashPortable(SB)

// func filterContains(f *Filter, key []byte) bool
TEXT ·filterContains(SB), NOSPLIT, $0-33
	FILTER(portable)
	KEY(portable)
	CONTAINS
	MOVB R9, ret+32(FP)
	RET
portable:
	JMP ·filterContainsPortable(SB)

// func filterContainsHash(f *Filter, h Hash) bool
TEXT ·filterContainsHash(SB), NOSPLIT, $0-25
	FILTER(portable)
	DIGEST
	CONTAINS
	MOVB R9, ret+24(FP)
	RET
portable:
	JMP ·filterContainsHashPortable(SB)

// func syncContains(f *SyncFilter, key []byte) bool
TEXT ·syncContains(SB), NOSPLIT, $0-33
	FILTER(portable)
	KEY(portable)
	CONTAINS // each word is read at once, as an atomic load reads it
	MOVB R9, ret+32(FP)
	RET
portable:
	JMP ·syncContainsPortable(SB)

// func syncContainsHash(f *SyncFilter, h Hash) bool
TEXT ·syncContainsHash(SB), NOSPLIT, $0-25
	FILTER(portable)
	DIGEST
	CONTAINS
	MOVB R9, ret+24(FP)
	RET
portable:
	JMP ·syncContainsHashPortable(SB)
