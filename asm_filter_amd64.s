//go:build !purego && !race && !msan && !asan

#include "funcdata.h"
#include "go_asm.h"
#include "textflag.h"
#include "hash_amd64.h"

// Four probes of a Mitz64 filter are located at once, in the four lanes of a
// vector. That is not for the arithmetic, of which there is not much. Most of the
// time goes by while the probes wait for the hash. The processor hashes the next
// key meanwhile, if it has room for all that waits, and vectors need less of it.
//
// The word of a bit is v mod W, with x' = x mod 2^63, v = x' >> 6 < 2^57 and W
// words; see guava.Locate. With the reciprocal r,
//
//	q = x'*r / 2^70, rounded down,
//
// is at most v/W, since x'/64 < v+1. Let x' = a*2^32 + b and r = c*2^32 + d. The
// multiplier has 32 bits, so x'*r / 2^64 is added up as a*c + (a*d + b*c) / 2^32.
// From W = 2 on, a and c are less than 2^31 and the sum in brackets less than 2^64.
// What is missing is b*d / 2^64, what the division cuts off, and x' times the error of
// r: each is less than 1. So q is at most 3/64 less than v/W before it is rounded
// down, and v - q*W is at least 0 and less than 2*W. One subtraction of W, where
// there is a W to subtract, makes it the remainder. Since W < 2^31, it is enough to
// know the low 32 bits of v, q and their difference.

#define filter    DI
#define words     R8
#define wordA     DX // of the next four bits
#define wordB     R11
#define wordC     R12
#define wordD     R13
#define numbers   Y0 // x of the next four bits
#define numbersX  X0
#define steps     Y3 // from those to the ones after them
#define wordCount Y4 // W, in each half of each lane
#define recipLow  Y5 // the halves of r, likewise
#define recipHigh Y6
#define located   Y1 // the words of four bits, in the low halves
#define locatedX  X1
#define temp1     Y2
#define temp1X    X2
#define temp2     Y7

DATA maxInt64<>+0(SB)/8, $0x7fffffffffffffff
DATA maxInt64<>+8(SB)/8, $0x7fffffffffffffff
DATA maxInt64<>+16(SB)/8, $0x7fffffffffffffff
DATA maxInt64<>+24(SB)/8, $0x7fffffffffffffff
GLOBL maxInt64<>(SB), RODATA|NOPTR, $32

// SETUP prepares to locate bits of the filter.
#define SETUP                                                          \
	MOVQ f+0(FP), filter                                           \
	MOVQ (filter_bits+bitset_words+0)(filter), words               \
	VPBROADCASTD (filter_bits+bitset_words+8)(filter), wordCount   \
	VPBROADCASTD (filter_bits+bitset_reciprocal)(filter), recipLow \
	VPBROADCASTD (filter_bits+bitset_reciprocal+4)(filter), recipHigh

// LOCATE sets located, and moves numbers on.
#define LOCATE                                 \
	VPAND maxInt64<>(SB), numbers, located \
	VPSHUFD $0xf5, located, temp1          \
	VPMULUDQ recipHigh, located, located   \
	VPMULUDQ recipLow, temp1, temp2        \
	VPMULUDQ recipHigh, temp1, temp1       \
	VPADDQ temp2, located, located         \
	VPSRLQ $32, located, located           \
	VPADDQ located, temp1, temp1           \
	VPSRLQ $6, temp1, temp1                \
	VPMULUDQ wordCount, temp1, temp1       \
	VPSRLQ $6, numbers, located            \
	VPADDQ steps, numbers, numbers         \
	VPSUBD temp1, located, located         \
	VPSUBD wordCount, located, temp1       \
	VPMINUD temp1, located, located

// One key at a time.

#define left   CX // how many bits remain
#define answer R9
#define bit    R10
#define mask   SI

// Shifts that take 0, 1, 2 and 3 times H2, where they are added up.
DATA shifts1<>+0(SB)/8, $64
DATA shifts1<>+8(SB)/8, $0
DATA shifts1<>+16(SB)/8, $64
DATA shifts1<>+24(SB)/8, $0
GLOBL shifts1<>(SB), RODATA|NOPTR, $32

DATA shifts2<>+0(SB)/8, $64
DATA shifts2<>+8(SB)/8, $64
DATA shifts2<>+16(SB)/8, $1
DATA shifts2<>+24(SB)/8, $1
GLOBL shifts2<>(SB), RODATA|NOPTR, $32

// SETUP_KEY prepares to locate the bits of the digest in hash1 and hash2, four
// after four.
#define SETUP_KEY                               \
	SETUP                                   \
	VMOVQ hash1, numbersX                   \
	VMOVQ hash2, locatedX                   \
	VPBROADCASTQ numbersX, numbers          \
	VPBROADCASTQ locatedX, located          \
	VPSLLQ $2, located, steps               \
	VPSLLVQ shifts1<>(SB), located, temp1   \
	VPSLLVQ shifts2<>(SB), located, located \
	VPADDQ temp1, numbers, numbers          \
	VPADDQ located, numbers, numbers

// LOCATE_THREE sets wordA to wordC to the words of the next three bits.
#define LOCATE_THREE                     \
	LOCATE                           \
	VEXTRACTI128 $1, located, temp1X \
	VMOVD locatedX, wordA            \
	VPEXTRD $2, locatedX, wordB      \
	VMOVD temp1X, wordC

// LOCATE_FOUR sets wordA to wordD.
#define LOCATE_FOUR  \
	LOCATE_THREE \
	VPEXTRD $2, temp1X, wordD

// TEST clears bit 0 of answer if the next bit, in the given word, is clear.
#define TEST(word)                        \
	SHRXQ hash1, (words)(word*8), bit \
	ADDQ hash2, hash1                 \
	ANDQ bit, answer

// CONTAINS sets answer to 1 or 0. Like the portable loop it branches once for four
// bits.
#define CONTAINS                    \
	SETUP_KEY                   \
	MOVQ filter_k(filter), left \
	MOVL $1, answer             \
	SUBQ $4, left               \
	JCS lastThree               \
four:                               \
	LOCATE_FOUR                 \
	TEST(wordA)                 \
	TEST(wordB)                 \
	TEST(wordC)                 \
	TEST(wordD)                 \
	TESTL $1, answer            \
	JEQ done                    \
	SUBQ $4, left               \
	JCC four                    \
lastThree:                          \
	ADDQ $4, left               \
	JEQ done                    \
	LOCATE_THREE                \
	TEST(wordA)                 \
	DECQ left                   \
	JEQ done                    \
	TEST(wordB)                 \
	DECQ left                   \
	JEQ done                    \
	TEST(wordC)                 \
done:                               \
	VZEROUPPER                  \
	ANDL $1, answer

// SET sets the next bit, in the given word, and takes it off answer if it was set.
// BTSQ would do most of that, but is slower on a busy machine (AMD Zen 4).
#define SET(word)                         \
	MOVL $1, mask                     \
	SHLXQ hash1, mask, mask           \
	SHRXQ hash1, (words)(word*8), bit \
	ORQ mask, (words)(word*8)         \
	ANDL $1, bit                      \
	SUBQ bit, answer                  \
	ADDQ hash2, hash1

// INSERT sets answer to the number of bits that were clear.
#define INSERT                           \
	SETUP_KEY                        \
	MOVQ filter_k(filter), left      \
	MOVQ left, answer                \
	SUBQ $4, left                    \
	JCS lastThree                    \
four:                                    \
	LOCATE_FOUR                      \
	SET(wordA)                       \
	SET(wordB)                       \
	SET(wordC)                       \
	SET(wordD)                       \
	SUBQ $4, left                    \
	JCC four                         \
lastThree:                               \
	ADDQ $4, left                    \
	JEQ done                         \
	LOCATE_THREE                     \
	SET(wordA)                       \
	DECQ left                        \
	JEQ done                         \
	SET(wordB)                       \
	DECQ left                        \
	JEQ done                         \
	SET(wordC)                       \
done:                                    \
	VZEROUPPER                       \
	ADDQ answer, filter_ones(filter) \
	TESTQ answer, answer

// FILTER leaves to portable code the filters that this file is not for, the zero
// Filter among them.
#define FILTER(portable)                              \
	CMPB ·useAVX2(SB), $0                         \
	JEQ portable                                  \
	MOVQ f+0(FP), filter                          \
	CMPB filter_strategy(filter), $const_Mitz64   \
	JNE portable                                  \
	CMPQ (filter_bits+bitset_words+8)(filter), $2 \
	JCS portable

#define DIGEST                 \
	MOVQ h_H1+8(FP), hash1 \
	MOVQ h_H2+16(FP), hash2

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
	MOVB answer, ret+32(FP)
	RET
portable:
	JMP ·filterContainsPortable(SB)

// func filterContainsHash(f *Filter, h Hash) bool
TEXT ·filterContainsHash(SB), NOSPLIT, $0-25
	FILTER(portable)
	DIGEST
	CONTAINS
	MOVB answer, ret+24(FP)
	RET
portable:
	JMP ·filterContainsHashPortable(SB)

// Four keys at a time: the lanes of a vector belong to different keys. First the
// words of many bits are located and stored, each four in a slot of 32 bytes, then
// they are tested or set. The processor does much of either at once.

#define hashes     SI // the digests
#define foursLeft  CX // how many times four of them remain
#define slot       DX
#define loop       AX
#define positions  Y8 // H1 + i*H2: the position of the i-th bit is the low 6 bits
#define answers    Y10

DATA position<>+0(SB)/8, $63
DATA position<>+8(SB)/8, $63
DATA position<>+16(SB)/8, $63
DATA position<>+24(SB)/8, $63
GLOBL position<>(SB), RODATA|NOPTR, $32

DATA bitZero<>+0(SB)/8, $1
DATA bitZero<>+8(SB)/8, $1
DATA bitZero<>+16(SB)/8, $1
DATA bitZero<>+24(SB)/8, $1
GLOBL bitZero<>(SB), RODATA|NOPTR, $32

// DIGESTS sets positions and steps, which is H2, from four digests.
#define DIGESTS                             \
	VMOVDQU 0(hashes), temp1            \
	VMOVDQU 32(hashes), temp2           \
	VPUNPCKLQDQ temp2, temp1, positions \
	VPUNPCKHQDQ temp2, temp1, steps     \
	VPERMQ $0xd8, positions, positions  \
	VPERMQ $0xd8, steps, steps

// LOAD sets the words of four bits.
#define LOAD               \
	MOVL 0(slot), R9   \
	MOVL 8(slot), R10  \
	MOVL 16(slot), R11 \
	MOVL 24(slot), R12

#define FETCH                     \
	LOAD                      \
	PREFETCHT0 (words)(R9*8)  \
	PREFETCHT0 (words)(R10*8) \
	PREFETCHT0 (words)(R11*8) \
	PREFETCHT0 (words)(R12*8)

// func filterAddFours(f *Filter, hs *Hash, fours int) int
TEXT ·filterAddFours(SB), 0, $4096-32
	NO_LOCAL_POINTERS
	SETUP
	MOVQ hs+8(FP), hashes
	MOVQ fours+16(FP), foursLeft
	LEAQ room-4096(SP), slot
locateFour:
	DIGESTS
	VMOVDQA positions, numbers
	MOVQ filter_k(filter), loop
locate:
	LOCATE
	VMOVDQU located, (slot)
	FETCH
	ADDQ $32, slot
	DECQ loop
	JNE locate
	ADDQ $64, hashes
	DECQ foursLeft
	JNE locateFour
	VZEROUPPER

#define slotsEnd  R13 // of the present key
#define slotsSize BX  // of four keys, negative
#define keysLeft  R15
#define added     CX
#define clear     DX // how many bits of a key were clear
#define nextSlot  R9
#define sum       AX // H1 + i*H2
#define increment R10
	MOVQ hs+8(FP), hashes
	MOVQ fours+16(FP), keysLeft
	SHLQ $2, keysLeft
	MOVQ filter_k(filter), slotsSize
	SHLQ $5, slotsSize
	LEAQ room-4096(SP), slotsEnd
	ADDQ slotsSize, slotsEnd
	NEGQ slotsSize
	XORL added, added
key:
	MOVQ 0(hashes), sum
	MOVQ 8(hashes), increment
	MOVQ slotsSize, nextSlot
	XORL clear, clear
set:
	MOVL (slotsEnd)(nextSlot*1), R11
	MOVQ (words)(R11*8), R12
	BTSQ sum, R12
	MOVQ R12, (words)(R11*8)
	SBBQ $-1, clear // adds 1, less the bit
	ADDQ increment, sum
	ADDQ $32, nextSlot
	JNE set
	ADDQ clear, filter_ones(filter)
	CMPQ clear, $1
	SBBQ $-1, added // adds 1 unless clear is 0
	ADDQ $16, hashes
	ADDQ $8, slotsEnd // the next lane
	DECQ keysLeft
	TESTL $3, keysLeft
	JNE key
	SUBQ slotsSize, slotsEnd
	SUBQ $32, slotsEnd
	TESTQ keysLeft, keysLeft
	JNE key
	MOVQ added, ret+24(FP)
	RET

// Look-ups go on for eight bits at a time, until all four keys are absent.
#define ROUND 8

#define slots R13 // of the present four keys
#define bits  BX  // how many remain

// func filterContainsFours(f *Filter, hs *Hash, fours int, dst *bool)
TEXT ·filterContainsFours(SB), 0, $2048-32
	NO_LOCAL_POINTERS
	SETUP
	MOVQ hs+8(FP), hashes
	MOVQ fours+16(FP), foursLeft
	LEAQ room-2048(SP), slots
	MOVQ filter_k(filter), bits
	CMPQ bits, $ROUND
	JLS locateFour
	MOVL $ROUND, bits
locateFour:
	DIGESTS
	VMOVDQA positions, numbers
	MOVQ slots, slot
	MOVQ bits, loop
locate:
	LOCATE
	VMOVDQU located, (slot)
	FETCH
	ADDQ $32, slot
	DECQ loop
	JNE locate
	ADDQ $(32*ROUND), slots
	ADDQ $64, hashes
	DECQ foursLeft
	JNE locateFour

#define result R15
	MOVQ hs+8(FP), hashes
	MOVQ fours+16(FP), foursLeft
	MOVQ dst+24(FP), result
	LEAQ room-2048(SP), slots
four:
	DIGESTS
	VPCMPEQD answers, answers, answers
	MOVQ filter_k(filter), bits
round:
	MOVL $ROUND, loop
	CMPQ bits, loop
	CMOVQLT bits, loop
	SUBQ loop, bits
	MOVQ slots, slot
test:
	LOAD
	VMOVQ (words)(R9*8), locatedX
	VPINSRQ $1, (words)(R10*8), locatedX, locatedX
	VMOVQ (words)(R11*8), temp1X
	VPINSRQ $1, (words)(R12*8), temp1X, temp1X
	VINSERTI128 $1, temp1X, located, located
	VPAND position<>(SB), positions, temp1
	VPSRLVQ temp1, located, located
	VPAND located, answers, answers
	VPADDQ steps, positions, positions
	ADDQ $32, slot
	DECQ loop
	JNE test
	TESTQ bits, bits
	JEQ answer4
	VPTEST bitZero<>(SB), answers
	JEQ answer4
	VMOVDQA positions, numbers
	MOVL $ROUND, loop
	CMPQ bits, loop
	CMOVQLT bits, loop
	MOVQ slots, slot
more:
	LOCATE
	VMOVDQU located, (slot)
	ADDQ $32, slot
	DECQ loop
	JNE more
	JMP round
answer4:
	VPSLLQ $63, answers, answers
	VMOVMSKPD answers, loop
	IMUL3L $0x204081, loop, loop // spreads four bits over four bytes
	ANDL $0x01010101, loop
	MOVL loop, (result)
	ADDQ $4, result
	ADDQ $64, hashes
	ADDQ $(32*ROUND), slots
	DECQ foursLeft
	JNE four
	VZEROUPPER
	RET
