//go:build !purego && !race && !msan && !asan

#include "funcdata.h"
#include "go_asm.h"
#include "textflag.h"
#include "hash_amd64.h"

// This file locates four bits of a Mitz64 filter together, in the four lanes of a vector. The
// arithmetic itself takes little time. Most of the time, operations wait for the hash. The
// processor hashes the next key at the same time, if it has room for the operations that wait.
// Vectors need less room.
//
// Let a filter have W words, and let x' = x mod 2^63 and v = x' >> 6. v is below 2^57. The word of
// the bit that x selects is v mod W; see digest.Locate. With the reciprocal r,
//
//	q = x'*r / 2^70, rounded down,
//
// is at most v/W, since x'/64 < v+1. Let x' = a*2^32 + b and r = c*2^32 + d. The multiplier has 32
// bits, so x'*r / 2^64 is added up as a*c + (a*d + b*c) / 2^32. If W is at least 2, a and c are
// less than 2^31, and the sum in brackets is less than 2^64. The sum leaves out b*d / 2^64, the
// division cuts off a fraction, and r has an error, which is multiplied by x'. Each of these three
// is less than 1. So q is at most 3/64 less than v/W before it is rounded down, and v - q*W is at
// least 0 and less than 2*W. If it is at least W, one subtraction of W makes it the remainder.
// Since W < 2^31, it is enough to know the low 32 bits of v, q and their difference.

#define filter    DI
#define words     R8
#define wordA     DX // wordA to wordD: the words of the next four bits
#define wordB     R11
#define wordC     R12
#define wordD     R13
#define numbers   Y0 // x of the next four bits
#define numbersX  X0
#define steps     Y3 // the difference of numbers and the four x after them
#define wordCount Y4 // W, in each half of each lane
#define recipLow  Y5 // low half of r, in each half of each lane
#define recipHigh Y6 // high half of r, in each half of each lane
#define located   Y1 // the words of four bits, in the low halves of lanes
#define locatedX  X1
#define temp1     Y2
#define temp1X    X2
#define temp2     Y7
#define temp3     Y8

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

// WORDS sets located to the words of four x'.
#define WORDS(x)                              \
	VPSHUFD $0xf5, x, temp1               \
	VPMULUDQ recipHigh, x, located        \
	VPMULUDQ recipLow, temp1, temp2       \
	VPMULUDQ recipHigh, temp1, temp1      \
	VPADDQ temp2, located, located        \
	VPSRLQ $32, located, located          \
	VPADDQ located, temp1, temp1          \
	VPSRLQ $6, temp1, temp1               \
	VPMULUDQ wordCount, temp1, temp1      \
	VPSRLQ $6, x, located                 \
	VPSUBD temp1, located, located        \
	VPSUBD wordCount, located, temp1      \
	VPMINUD temp1, located, located

// The macros from here on do one key at a time.

#define left   CX // number of bits that remain
#define answer R9
#define bit    R10
#define mask   SI

// H2 shifted by shifts1 plus H2 shifted by shifts2 is 0, 1, 2 and 3 times H2 in the four lanes. A
// shift by 64 makes 0.
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

// SETUP_KEY prepares to locate the bits of the digest in hash1 and hash2, four at a time.
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

// LOCATE sets located to the words of the next four bits, and moves numbers to the bits after them.
#define LOCATE                               \
	VPAND maxInt64<>(SB), numbers, temp3 \
	WORDS(temp3)                         \
	VPADDQ steps, numbers, numbers

// LOCATE_THREE sets wordA to wordC to the words of the next three bits.
#define LOCATE_THREE                     \
	LOCATE                           \
	VEXTRACTI128 $1, located, temp1X \
	VMOVD locatedX, wordA            \
	VPEXTRD $2, locatedX, wordB      \
	VMOVD temp1X, wordC

// LOCATE_FOUR sets wordA to wordD to the words of the next four bits.
#define LOCATE_FOUR  \
	LOCATE_THREE \
	VPEXTRD $2, temp1X, wordD

// TEST clears bit 0 of answer if the next bit is clear. The bit is in the given word.
#define TEST(word)                        \
	SHRXQ hash1, (words)(word*8), bit \
	ADDQ hash2, hash1                 \
	ANDQ bit, answer

// CONTAINS sets answer to 1 if all bits of the key are set, and otherwise to 0. Like the portable
// loop it branches once for four bits.
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

// Every function that uses vectors passes one VZEROUPPER before it returns. Without it, each
// instruction of Go's for the short vectors waits for the long ones, and a look-up takes 20 to 30
// times as long.

// SET sets the next bit, which is in the given word. If the bit was set before, SET subtracts 1
// from answer. BTSQ would do most of that, but is slower on a busy machine (AMD Zen 4).
#define SET(word)                         \
	MOVL $1, mask                     \
	SHLXQ hash1, mask, mask           \
	SHRXQ hash1, (words)(word*8), bit \
	ORQ mask, (words)(word*8)         \
	ANDL $1, bit                      \
	SUBQ bit, answer                  \
	ADDQ hash2, hash1

// INSERT sets all bits of a key, and answer to the number of bits that were clear. If there were
// none, it sets the zero flag.
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

// FILTER loads the filter. It goes to portable if the code here is not for that filter. The zero
// Filter is such a filter.
#define FILTER                                        \
	CMPB ·useAVX2(SB), $0                         \
	JEQ portable                                  \
	MOVQ f+0(FP), filter                          \
	CMPB filter_strategy(filter), $const_Mitz64   \
	JNE portable                                  \
	CMPQ (filter_bits+bitset_words+8)(filter), $2 \
	JCS portable

// DIGEST loads the argument h.
#define DIGEST                 \
	MOVQ h_h1+8(FP), hash1 \
	MOVQ h_h2+16(FP), hash2

// func filterAdd(f *filter, key []byte) bool
TEXT ·filterAdd(SB), NOFRAME, $0-33
	NO_LOCAL_POINTERS
	FILTER
	KEY
	INSERT
	SETNE ret+32(FP)
	RET
	PORTABLE(·filterAddPortable)

// func filterAddHash(f *filter, h Hash) bool
TEXT ·filterAddHash(SB), NOFRAME, $0-25
	NO_LOCAL_POINTERS
	FILTER
	DIGEST
	INSERT
	SETNE ret+24(FP)
	RET
	PORTABLE(·filterAddHashPortable)

// func filterContains(f *filter, key []byte) bool
TEXT ·filterContains(SB), NOFRAME, $0-33
	NO_LOCAL_POINTERS
	FILTER
	KEY
	CONTAINS
	MOVB answer, ret+32(FP)
	RET
	PORTABLE(·filterContainsPortable)

// func filterContainsHash(f *filter, h Hash) bool
TEXT ·filterContainsHash(SB), NOFRAME, $0-25
	NO_LOCAL_POINTERS
	FILTER
	DIGEST
	CONTAINS
	MOVB answer, ret+24(FP)
	RET
	PORTABLE(·filterContainsHashPortable)

// The macros from here on do four keys at a time. Each lane of a vector belongs to one of them.
//
// Only the first bit of a key is located as above. Let x' and h' be H1 and H2 mod 2^63. For the
// next bit, h' is added to x', and 2^63 is subtracted if the sum is 2^63 or more. So the index x'
// mod m grows by h' mod m, or by (h' - 2^63) mod m. Both are less than m, and so is the index. So
// the sum is less than 2*m. If it is at least m, one subtraction of m makes it the remainder.
//
// A lane has an index in this way: the word is in the high half, and the low 6 bits of the index
// are the top bits of the low half. So to subtract m is to subtract W from the high half. The high
// half has room for the sum of two words and a carry.

#define hashes    SI // address of the next digests
#define foursLeft CX // number of digests that remain, divided by four
#define slot      DX // address of four indexes
#define loop      AX
#define indexes   Y8
#define growth    Y9  // h' mod m
#define growth63  Y10 // (h' - 2^63) mod m
#define minus63   Y11 // -2^63 mod m
#define wordsHigh Y12 // W in the high half of each lane, which is the index m
#define places    Y13 // places of bits in their words
#define answers   Y14
#define mask63    Y15

DATA place<>+0(SB)/8, $63
DATA place<>+8(SB)/8, $63
DATA place<>+16(SB)/8, $63
DATA place<>+24(SB)/8, $63
GLOBL place<>(SB), RODATA|NOPTR, $32

DATA bitZero<>+0(SB)/8, $1
DATA bitZero<>+8(SB)/8, $1
DATA bitZero<>+16(SB)/8, $1
DATA bitZero<>+24(SB)/8, $1
GLOBL bitZero<>(SB), RODATA|NOPTR, $32

// ADD_INDEXES sets sum to x + y mod m.
#define ADD_INDEXES(x, y, sum)          \
	VPADDQ x, y, sum                \
	VPSUBD wordsHigh, sum, temp1    \
	VPMINUD temp1, sum, sum

// INDEXES sets result to x' mod m.
#define INDEXES(x, result)                 \
	WORDS(x)                           \
	VPSLLQ $32, located, located       \
	VPSLLD $26, x, temp1               \
	VPBLENDD $0xaa, located, temp1, result

// SETUP_FOURS prepares to locate bits of four keys. If 2^63 - 1 mod m is in word w, it is the last
// bit of this word. So -2^63 mod m is the first bit of word W - 1 - w.
#define SETUP_FOURS                        \
	SETUP                              \
	VMOVDQU maxInt64<>(SB), mask63     \
	VPSLLQ $32, wordCount, wordsHigh   \
	WORDS(mask63)                      \
	VPCMPEQD temp1, temp1, temp1       \
	VPSUBD located, temp1, temp1       \
	VPADDD wordCount, temp1, temp1     \
	VPSLLQ $32, temp1, minus63

// FIRST loads four digests. It sets numbers and indexes for their first bits, and steps and growth
// for NEXT.
#define FIRST                              \
	VMOVDQU 0(hashes), temp1           \
	VMOVDQU 32(hashes), temp2          \
	VPUNPCKLQDQ temp2, temp1, numbers  \
	VPUNPCKHQDQ temp2, temp1, steps    \
	VPERMQ $0xd8, numbers, numbers     \
	VPERMQ $0xd8, steps, steps         \
	VPAND mask63, numbers, numbers     \
	VPAND mask63, steps, steps         \
	INDEXES(numbers, indexes)          \
	INDEXES(steps, growth)             \
	ADD_INDEXES(minus63, growth, growth63)

// NEXT moves numbers, which are x', and indexes to the next bits. A sum of 2^63 or more has its
// sign bit set, and VBLENDVPD chooses by the sign bit.
#define NEXT                                            \
	VPADDQ steps, numbers, numbers                  \
	VBLENDVPD numbers, growth63, growth, temp2      \
	VPAND mask63, numbers, numbers                  \
	ADD_INDEXES(temp2, indexes, indexes)

// LOAD stores indexes in the slot, and sets R9 to R12 to their words.
#define LOAD                    \
	VMOVDQU indexes, (slot) \
	MOVL 4(slot), R9        \
	MOVL 12(slot), R10      \
	MOVL 20(slot), R11      \
	MOVL 28(slot), R12

// SLOT sets slot to the address of one slot in a frame of 64 bytes. The address is a multiple of
// 32.
#define SLOT                   \
	LEAQ room-33(SP), slot \
	ANDQ $~31, slot

// The functions below first locate all bits of many keys and store them in slots. A slot has a bit
// of each of four keys. The slots of four keys lie one after the other. The words of the first bits
// are fetched into the second-level cache: on AMD's Zen 4, more lines can be on their way there
// than to the first level.
#define ahead  R13 // number of bits of a key to fetch
#define behind R15 // number of bits of a key not to fetch

// SLOTS sets a register to the address of the first of const_slots slots. The top 8224 bytes of the
// frame have room for them. The address is a multiple of 32.
#define SLOTS(first)              \
	LEAQ room-8224(SP), first \
	ANDQ $~31, first

// LOCATE_FOURS fills the slots. It changes all of the registers above but filter and words.
#define LOCATE_FOURS                      \
	SETUP_FOURS                       \
	SLOTS(slot)                       \
	MOVQ hs+8(FP), hashes             \
	MOVQ fours+16(FP), foursLeft      \
	MOVQ fetch+24(FP), ahead          \
	MOVQ filter_k(filter), behind     \
	SUBQ ahead, behind                \
four:                                     \
	FIRST                             \
	MOVQ ahead, loop                  \
	TESTQ loop, loop                  \
	JEQ fetched                       \
fetch:                                    \
	LOAD                              \
	PREFETCHT1 (words)(R9*8)          \
	PREFETCHT1 (words)(R10*8)         \
	PREFETCHT1 (words)(R11*8)         \
	PREFETCHT1 (words)(R12*8)         \
	NEXT                              \
	ADDQ $32, slot                    \
	DECQ loop                         \
	JNE fetch                         \
fetched:                                  \
	MOVQ behind, loop                 \
	TESTQ loop, loop                  \
	JEQ stored                        \
store:                                    \
	VMOVDQU indexes, (slot)           \
	NEXT                              \
	ADDQ $32, slot                    \
	DECQ loop                         \
	JNE store                         \
stored:                                   \
	ADDQ $64, hashes                  \
	DECQ foursLeft                    \
	JNE four                          \
	VZEROUPPER

#define keysLeft  CX
#define slotsEnd  R13 // end of the present key's slots
#define slotsSize BX  // size of the slots of four keys, as a negative number
#define result    R15 // address of the present key's answer
#define clear     DX // number of bits of the key that were clear
#define nextSlot  R9 // the key's next slot, from slotsEnd; negative
#define sum       AX // H1 + i*H2
#define increment R10

// ALL_KEYS prepares to use the slots, from the first key on.
#define ALL_KEYS                         \
	MOVQ hs+8(FP), hashes            \
	MOVQ fours+16(FP), keysLeft      \
	SHLQ $2, keysLeft                \
	MOVQ dst+32(FP), result          \
	MOVQ filter_k(filter), slotsSize \
	SHLQ $5, slotsSize               \
	SLOTS(slotsEnd)                  \
	ADDQ slotsSize, slotsEnd         \
	NEGQ slotsSize

// NEXT_LANE moves to the next key. It goes to key unless the next key belongs to another four.
#define NEXT_LANE(slots)    \
	INCQ result         \
	ADDQ $16, hashes    \
	ADDQ $8, slots      \
	DECQ keysLeft       \
	TESTL $3, keysLeft  \
	JNE key

// func filterAddFours(f *filter, hs *Hash, fours, fetch int, dst *bool)
TEXT ·filterAddFours(SB), 0, $8224-40
	NO_LOCAL_POINTERS
	LOCATE_FOURS
	ALL_KEYS
key:
	MOVQ 0(hashes), sum
	MOVQ 8(hashes), increment
	MOVQ slotsSize, nextSlot
	XORL clear, clear
set:
	MOVL 4(slotsEnd)(nextSlot*1), R11
	MOVQ (words)(R11*8), R12
	BTSQ sum, R12
	MOVQ R12, (words)(R11*8)
	SBBQ $-1, clear // adds 1 minus the bit
	ADDQ increment, sum
	ADDQ $32, nextSlot
	JNE set
	ADDQ clear, filter_ones(filter)
	TESTQ clear, clear
	SETNE (result)
	NEXT_LANE(slotsEnd)
	SUBQ slotsSize, slotsEnd
	SUBQ $32, slotsEnd
	TESTQ keysLeft, keysLeft
	JNE key
	RET

// A locked write costs most. So the bits of a key are tested first, without a branch for each, and
// then the clear ones are set, the final one last; see setBits. A bit of missing is 1 if a bit of
// the key is clear. The lowest bit of missing belongs to the last bit of the key.
#define missing DX
#define word    DI
#define final   DI // index of the final bit
#define index   R12
#define back    R11 // number of bits from a bit to the key's end

// INDEX sets to to the index of the bit that the lowest bit of missing stands for, and removes that
// bit from missing. A slot has an index in its upper 38 bits.
#define INDEX(to)                        \
	BSFQ missing, back               \
	INCQ back                        \
	SHLQ $5, back                    \
	NEGQ back                        \
	MOVQ (slotsEnd)(back*1), to      \
	SHRQ $26, to                     \
	LEAQ -1(missing), back           \
	ANDQ back, missing

// func syncAddFours(f *filter, hs *Hash, fours, fetch int, dst *bool)
TEXT ·syncAddFours(SB), 0, $8224-40
	NO_LOCAL_POINTERS
	LOCATE_FOURS
	ALL_KEYS
key:
	MOVQ 0(hashes), sum
	MOVQ 8(hashes), increment
	MOVQ slotsSize, nextSlot
	MOVQ $-1, missing
test:
	MOVL 4(slotsEnd)(nextSlot*1), word
	MOVQ (words)(word*8), R12
	BTQ sum, R12
	ADCQ missing, missing // appends the bit
	ADDQ increment, sum
	ADDQ $32, nextSlot
	JNE test
	NOTQ missing
	TESTQ missing, missing
	JEQ known
	INDEX(final)
	JEQ last
set:
	INDEX(index)
	CMPQ index, final
	JEQ equal
	MOVL $1, R9
	SHLXQ index, R9, R9
	SHRQ $6, index
	LOCK
	ORQ R9, (words)(index*8)
equal:
	TESTQ missing, missing
	JNE set
last:
	LOCK
	BTSQ final, (words)
	SETCC (result)
	JMP added
known:
	MOVB $0, (result)
added:
	NEXT_LANE(slotsEnd)
	SUBQ slotsSize, slotsEnd
	SUBQ $32, slotsEnd
	TESTQ keysLeft, keysLeft
	JNE key
	RET

// If all fetched bits of a key are set, the key gets a note, and its other bits are fetched. Few
// absent keys get a note. A note has the key's next slot, sum, increment and result.
#define note      DX // address of the next note
#define lane      R13 // address of the present key's first slot
#define bitsLeft  BX // number of bits to test
#define bitSlot   R12 // slot of the next bit
#define others    DI // number of bits of a key that are not fetched at first

// TEST_BITS tests bitsLeft bits of a key, from bitSlot on, and stores the answer.
#define TEST_BITS(again)                     \
	MOVL $1, answer                      \
again:                                       \
	MOVL 4(bitSlot), R11                 \
	SHRXQ sum, (words)(R11*8), R11       \
	ANDQ R11, answer                     \
	ADDQ increment, sum                  \
	ADDQ $32, bitSlot                    \
	DECQ bitsLeft                        \
	JNE again                            \
	MOVB answer, (result)

// func filterContainsFetched(f *filter, hs *Hash, fours, fetch int, dst *bool)
TEXT ·filterContainsFetched(SB), 0, $10272-40
	NO_LOCAL_POINTERS
	LOCATE_FOURS
	MOVQ hs+8(FP), hashes
	MOVQ fours+16(FP), keysLeft
	SHLQ $2, keysLeft
	MOVQ dst+32(FP), result
	MOVQ filter_k(filter), others
	SUBQ fetch+24(FP), others
	SLOTS(lane)
	LEAQ notes-10272(SP), note
key:
	MOVQ lane, bitSlot
	MOVQ 0(hashes), sum
	MOVQ 8(hashes), increment
	MOVQ fetch+24(FP), bitsLeft
	TEST_BITS(first)
	TESTQ others, others
	JEQ tested
	MOVQ bitSlot, 0(note)
	MOVQ sum, 8(note)
	MOVQ increment, 16(note)
	MOVQ result, 24(note)
	SHLQ $5, answer
	ADDQ answer, note
tested:
	NEXT_LANE(lane)
	MOVQ f+0(FP), R11
	MOVQ filter_k(R11), R11
	SHLQ $5, R11
	LEAQ -32(lane)(R11*1), lane // the slots of the next four keys
	TESTQ keysLeft, keysLeft
	JNE key

	LEAQ notes-10272(SP), SI
	JMP moreFetches
fetchKey:
	MOVQ 0(SI), bitSlot
	MOVQ others, bitsLeft
fetchBit:
	MOVL 4(bitSlot), R11
	PREFETCHT1 (words)(R11*8)
	ADDQ $32, bitSlot
	DECQ bitsLeft
	JNE fetchBit
	ADDQ $32, SI
moreFetches:
	CMPQ SI, note
	JNE fetchKey

	LEAQ notes-10272(SP), SI
	JMP moreTests
testKey:
	MOVQ 0(SI), bitSlot
	MOVQ 8(SI), sum
	MOVQ 16(SI), increment
	MOVQ 24(SI), result
	MOVQ others, bitsLeft
	TEST_BITS(other)
	ADDQ $32, SI
moreTests:
	CMPQ SI, note
	JNE testKey
	RET

// ROUND is the number of bits of four keys that a look-up tests between two branches. The look-up
// ends at such a branch if all four keys are absent.
#define ROUND 4

// func filterContainsFours(f *filter, hs *Hash, fours int, dst *bool)
TEXT ·filterContainsFours(SB), NOSPLIT, $64-32
	NO_LOCAL_POINTERS
	SETUP_FOURS
	SLOT
	MOVQ hs+8(FP), hashes
	MOVQ fours+16(FP), foursLeft
	MOVQ dst+24(FP), result
four:
	FIRST
	VPCMPEQD answers, answers, answers
	MOVQ filter_k(filter), bitsLeft
	MOVL $ROUND, loop
	JMP test
round:
	MOVL $ROUND, loop
next:
	NEXT
test:
	VPAND place<>(SB), numbers, places
	LOAD
	VMOVQ (words)(R9*8), locatedX
	VPINSRQ $1, (words)(R10*8), locatedX, locatedX
	VMOVQ (words)(R11*8), temp1X
	VPINSRQ $1, (words)(R12*8), temp1X, temp1X
	VINSERTI128 $1, temp1X, located, located
	VPSRLVQ places, located, located
	VPAND located, answers, answers
	DECQ bitsLeft
	JEQ done
	DECQ loop
	JNE next
	VPTEST bitZero<>(SB), answers
	JNE round
done:
	VPSLLQ $63, answers, answers
	VMOVMSKPD answers, loop
	IMUL3L $0x204081, loop, loop // spreads four bits over four bytes
	ANDL $0x01010101, loop
	MOVL loop, (result)
	ADDQ $4, result
	ADDQ $64, hashes
	DECQ foursLeft
	JNE four
	VZEROUPPER
	RET
