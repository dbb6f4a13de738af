//go:build !purego && !race && !msan && !asan

#include "go_asm.h"
#include "textflag.h"
#include "hash_amd64.h"

// Four probes of a Mitz64 filter are located at once, in the four lanes of a
// vector. That is not for the arithmetic, of which there is not much. Most of the
// time goes by while the probes wait for the hash. The processor hashes the next
// key meanwhile, if it has room for all that waits, and vectors need less of it.
//
// The word of a bit is v mod W, with v = x<<1>>7 < 2^57 and W words; see locate.
// In floating point,
//
//	n = v * (reciprocal * 2^-64), rounded to an integer,
//
// is off v/W by less than 0.76: rounding v and the reciprocal to 53 bits costs
// 2^-53 of the quotient each, which from W = 128 on is less than 2^50; the
// reciprocal itself costs 2^-7 (locate again), and rounding the result a half. So
// v - n*W is between -0.76 W and 0.76 W, and one addition of W, where it is
// negative, makes it the remainder. Since W < 2^31 it is enough to know its low 32
// bits.

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

// An unsigned integer below 2^52 becomes a float64 by setting the bits of 2^52
// above it; one that is to be multiplied by 2^32, those of 2^84.
DATA two52<>(SB)/8, $0x4330000000000000
GLOBL two52<>(SB), RODATA|NOPTR, $8

DATA two84<>(SB)/8, $0x4530000000000000
GLOBL two84<>(SB), RODATA|NOPTR, $8

DATA two84two52<>(SB)/8, $0x4530000000100000
GLOBL two84two52<>(SB), RODATA|NOPTR, $8

DATA twoMinus64<>(SB)/8, $0x3bf0000000000000
GLOBL twoMinus64<>(SB), RODATA|NOPTR, $8

// SETUP prepares to probe the filter for the digest AX, BX.
//
//	DI        the filter
//	R8        the words
//	CX        k
//	Y0        H1, H1 + H2, H1 + 2*H2, H1 + 3*H2: what the first four bits stand for
//	Y3        4*H2, in each lane
//	Y4        W, in the low half of each lane
//	Y5        1/W
//	Y6 to Y8  2^84, 2^52, 2^84 + 2^52
#define SETUP \
	MOVQ f+0(FP), DI                                       \
	MOVQ (Filter_bits+bitset_words+0)(DI), R8              \
	VPBROADCASTD (Filter_bits+bitset_words+8)(DI), Y4      \
	VXORPS X5, X5, X5                                      \
	VCVTSI2SDQ (Filter_bits+bitset_reciprocal)(DI), X5, X5 \
	VMULSD twoMinus64<>(SB), X5, X5                        \
	VBROADCASTSD X5, Y5                                    \
	VPBROADCASTQ two84<>(SB), Y6                           \
	VPBROADCASTQ two52<>(SB), Y7                           \
	VPBROADCASTQ two84two52<>(SB), Y8                      \
	MOVQ Filter_k(DI), CX                                  \
	VMOVQ AX, X0                                           \
	VMOVQ BX, X1                                           \
	VPBROADCASTQ X0, Y0                                    \
	VPBROADCASTQ X1, Y1                                    \
	VPADDQ Y1, Y1, Y2                                      \
	VPSLLQ $2, Y1, Y3                                      \
	VPAND lane1<>(SB), Y1, Y1                              \
	VPAND lane2<>(SB), Y2, Y2                              \
	VPADDQ Y1, Y0, Y0                                      \
	VPADDQ Y2, Y0, Y0

// LOCATE sets DX, R11, R12 and R13 to the words of the next four bits. It
// converts v, in Y1, by its halves, in Y2 and Y9. The low half of n + 2^52 as a
// float64, in Y2 then, is that of n. Of v - n*W, as an unsigned number, and itself
// plus W the smaller one is the remainder.
#define LOCATE \
	VPADDQ Y0, Y0, Y1          \
	VPSRLQ $7, Y1, Y1          \
	VPADDQ Y3, Y0, Y0          \
	VPSRLQ $32, Y1, Y2         \
	VPOR Y6, Y2, Y2            \
	VPBLENDD $0xaa, Y7, Y1, Y9 \
	VSUBPD Y8, Y2, Y2          \
	VADDPD Y9, Y2, Y2          \
	VFMADD213PD Y7, Y5, Y2     \
	VPMULUDQ Y4, Y2, Y2        \
	VPSUBD Y2, Y1, Y1          \
	VPADDD Y4, Y1, Y2          \
	VPMINUD Y2, Y1, Y1         \
	VEXTRACTI128 $1, Y1, X2    \
	VMOVD X1, DX               \
	VPEXTRD $2, X1, R11        \
	VMOVD X2, R12              \
	VPEXTRD $2, X2, R13

// TEST clears bit 0 of R9 if the next bit, in the given word, is clear.
#define TEST(word) \
	SHRXQ AX, (R8)(word*8), R10 \
	ADDQ BX, AX                 \
	ANDQ R10, R9

// CONTAINS sets R9 to 1 or 0. Like the portable loop it branches once for four
// bits.
#define CONTAINS \
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
#define SET(word) \
	MOVL $1, SI                 \
	SHLXQ AX, SI, SI            \
	SHRXQ AX, (R8)(word*8), R10 \
	ORQ SI, (R8)(word*8)        \
	ANDL $1, R10                \
	SUBQ R10, R9                \
	ADDQ BX, AX

// INSERT sets R9 to the number of bits that were clear.
#define INSERT \
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
	ADDQ R9, Filter_ones(DI) \
	TESTQ R9, R9

// FILTER leaves to portable code the filters that SETUP is not for, the zero
// Filter among them. A SyncFilter begins with its Filter.
#define FILTER(portable) \
	CMPB ·useAVX2(SB), $0                       \
	JEQ portable                                \
	MOVQ f+0(FP), DX                            \
	CMPB Filter_strategy(DX), $const_Mitz64     \
	JNE portable                                \
	CMPQ (Filter_bits+bitset_words+8)(DX), $128 \
	JCS portable

#define DIGEST \
	MOVQ h_H1+8(FP), AX  \
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
