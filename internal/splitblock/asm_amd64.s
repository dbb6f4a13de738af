//go:build !purego && !race && !msan && !asan

#include "funcdata.h"
#include "go_asm.h"
#include "textflag.h"
#include "hash_amd64.h"

// After HASH, its registers are free, except hash1 and hash2.
#define words   SI
#define length  R8 // number of words, which is four times the number of blocks
#define lines   CX // number of lines of a key
#define value   R9 // value of a line, and then the offset of its block in words
#define mask    Y0 // mask of the line
#define held    Y1 // the block before the call
#define missing Y3 // bits of the lines so far that were not set
#define salts   Y4 // salt of each lane
#define ones    Y5 // 1 in each lane

DATA lineSalts<>+0(SB)/8, $0x44974d9147b6137b
DATA lineSalts<>+8(SB)/8, $0xa2b7289d8824ad5b
DATA lineSalts<>+16(SB)/8, $0x2df1424b705495c7
DATA lineSalts<>+24(SB)/8, $0x5c6bfb319efc4947
GLOBL lineSalts<>(SB), RODATA|NOPTR, $32

DATA lineOnes<>+0(SB)/8, $0x0000000100000001
DATA lineOnes<>+8(SB)/8, $0x0000000100000001
DATA lineOnes<>+16(SB)/8, $0x0000000100000001
DATA lineOnes<>+24(SB)/8, $0x0000000100000001
GLOBL lineOnes<>(SB), RODATA|NOPTR, $32

DATA lineStep<>+0(SB)/8, $const_lineStep
GLOBL lineStep<>(SB), RODATA|NOPTR, $8

// FILTER loads a filter and its number of lines. It goes to portable if assembly does not do this
// filter.
#define FILTER                      \
	MOVQ b+0(FP), DX            \
	MOVQ Blocks_fast(DX), lines \
	TESTQ lines, lines          \
	JEQ portable

// OPEN loads what LOCATE needs of the filter at DX.
#define OPEN                            \
	MOVQ Blocks_Words+0(DX), words  \
	MOVQ Blocks_Words+8(DX), length \
	VMOVDQU lineSalts<>(SB), salts  \
	VMOVDQU lineOnes<>(SB), ones

// OFFSET turns the high half of a line's value into its block's offset in words, in
// bytes: high half * number of blocks >> 32 * 32.
#define OFFSET              \
	IMULQ length, value \
	SHRQ $34, value     \
	SHLQ $5, value

// BITS loads a line's block and makes the line's mask. Before, each lane of mask has the low half
// of the line's value. The lane is multiplied by its salt, and the five high bits of the product
// pick a bit.
#define BITS                      \
	VPMULLD salts, mask, mask \
	VPSRLD $27, mask, mask    \
	VPSLLVD mask, ones, mask  \
	VMOVDQU (words)(value*1), held

// LOCATE sets held and mask for a line's value.
#define LOCATE                \
	VMOVQ value, X0       \
	SHRQ $32, value       \
	OFFSET                \
	VPBROADCASTD X0, mask \
	BITS

// FIND sets the carry flag if the block has all bits of the line.
#define FIND   \
	LOCATE \
	VPTEST mask, held

// TEST and SET add to missing the bits of a line that are not set. SET also sets them.
#define TEST                    \
	LOCATE                  \
	VPANDN mask, held, held \
	VPOR held, missing, missing

#define SET                          \
	LOCATE                       \
	VPOR mask, held, Y2          \
	VMOVDQU Y2, (words)(value*1) \
	VPANDN mask, held, held      \
	VPOR held, missing, missing

// LINE1 to LINE4 set value to the values of a key's lines, as the function line does. Each but the
// first adds a step to hash2.
#define LINE1 MOVQ hash1, value

#define LINE2                      \
	ADDQ lineStep<>(SB), hash2 \
	MOVQ hash2, value

#define LINE3                      \
	ADDQ lineStep<>(SB), hash2 \
	LEAQ (hash1)(hash2*1), value

#define LINE4                      \
	ADDQ lineStep<>(SB), hash2 \
	RORXQ $32, hash1, value    \
	ADDQ hash2, value

// CONTAINS sets result to whether the filter at DX has all bits of a digest. It stops at the first
// line with a bit that is not set. Of most absent keys, the filter has no line. So this branch is
// as predictable as the answer, and the other lines need not be fetched. DECQ does not change the
// carry flag, which is the answer.
#define CONTAINS(result) \
	OPEN             \
	LINE1            \
	FIND             \
	DECQ lines       \
	JEQ found        \
	JCC found        \
	LINE2            \
	FIND             \
	JCC found        \
	DECQ lines       \
	JEQ found        \
	LINE3            \
	FIND             \
	JCC found        \
	DECQ lines       \
	JEQ found        \
	LINE4            \
	FIND             \
found:                   \
	VZEROUPPER       \
	SETCS result

// VZEROUPPER must stay in every function; the root's asm_filter_amd64.s says why.

// MISSING does DO, which is TEST or SET, for all lines of a digest. It clears the zero flag if a
// bit was not set.
#define MISSING(DO, done)               \
	VPXOR missing, missing, missing \
	LINES(DO, done)                 \
done:                                   \
	VPTEST missing, missing

// LINES does DO for all lines of a digest.
#define LINES(DO, done) \
	LINE1           \
	DO              \
	CMPQ lines, $2  \
	JCS done        \
	LINE2           \
	DO              \
	CMPQ lines, $3  \
	JCS done        \
	LINE3           \
	DO              \
	CMPQ lines, $4  \
	JCS done        \
	LINE4           \
	DO

// INSERT sets all bits of a digest. It sets result to whether that changed the filter, and returns.
#define INSERT(result)     \
	OPEN               \
	MISSING(SET, done) \
	VZEROUPPER         \
	SETNE result       \
	RET

// KEY_OF_FILTER, DIGEST_OF_FILTER and BATCH load the arguments of a function. BATCH does not load
// dst.
#define next    DI // address of the next digest
#define left    R10 // number of digests to do
#define toFetch R11 // number of digests whose blocks are to be fetched
#define answers R12 // address of the next answer

#define KEY_OF_FILTER    \
	FILTER           \
	KEY              \
	MOVQ b+0(FP), DX \
	MOVQ Blocks_fast(DX), lines

#define DIGEST_OF_FILTER       \
	FILTER                 \
	MOVQ h_h1+8(FP), hash1 \
	MOVQ h_h2+16(FP), hash2

#define BATCH                       \
	MOVQ b+0(FP), DX            \
	MOVQ Blocks_fast(DX), lines \
	OPEN                        \
	MOVQ hs+8(FP), next         \
	MOVQ count+16(FP), left     \
	MOVQ further+24(FP), toFetch

// func addKey(b *Blocks, key []byte) bool
TEXT ·addKey(SB), NOFRAME, $0-33
	NO_LOCAL_POINTERS
	KEY_OF_FILTER
	INSERT(ret+32(FP))
	PORTABLE(·addKeyPortable)

// func addHash(b *Blocks, h bloom.Hash) bool
TEXT ·addHash(SB), NOFRAME, $0-25
	NO_LOCAL_POINTERS
	DIGEST_OF_FILTER
	INSERT(ret+24(FP))
	PORTABLE(·addHashPortable)

// func containsKey(b *Blocks, key []byte) bool
TEXT ·containsKey(SB), NOFRAME, $0-33
	NO_LOCAL_POINTERS
	KEY_OF_FILTER
	CONTAINS(ret+32(FP))
	RET
	PORTABLE(·containsKeyPortable)

// func containsHash(b *Blocks, h bloom.Hash) bool
TEXT ·containsHash(SB), NOFRAME, $0-25
	NO_LOCAL_POINTERS
	DIGEST_OF_FILTER
	CONTAINS(ret+24(FP))
	RET
	PORTABLE(·containsHashPortable)

// func findKey(b *Blocks, key []byte) (h bloom.Hash, found bool)
TEXT ·findKey(SB), NOFRAME, $0-49
	NO_LOCAL_POINTERS
	KEY_OF_FILTER
	MOVQ hash1, h_h1+32(FP)
	MOVQ hash2, h_h2+40(FP)
	CONTAINS(found+48(FP))
	RET
	PORTABLE(·findKeyPortable)

// The functions from here on do batches.

// LOAD loads the digest at offset at from next.
#define LOAD(at)               \
	MOVQ (at)(next), hash1 \
	MOVQ (at+8)(next), hash2

// FETCH1 fetches the first block of the digest that is const_fetchAhead digests ahead. FETCH
// fetches all its blocks.
#define FETCH1                                    \
	MOVL (16*const_fetchAhead+4)(next), value \
	OFFSET                                    \
	PREFETCHT1 (words)(value*1)

#define FETCH_LINE      \
	SHRQ $32, value \
	OFFSET          \
	PREFETCHT1 (words)(value*1)

#define FETCH(done)               \
	LOAD(16*const_fetchAhead) \
	LINES(FETCH_LINE, done)

// func prefetchBlocks(b *Blocks, hs *bloom.Hash, count int)
TEXT ·prefetchBlocks(SB), NOSPLIT, $0-24
	MOVQ b+0(FP), DX
	MOVQ Blocks_fast(DX), lines
	OPEN
	MOVQ hs+8(FP), next
	MOVQ count+16(FP), left
	SUBQ $(16*const_fetchAhead), next
fetch:
	FETCH(fetched)
fetched:
	ADDQ $16, next
	DECQ left
	JNE fetch
	VZEROUPPER
	RET

// The macros that end with 1 are for filters of one line. A separate loop for these takes two
// thirds of the time, and four keys in each turn of it a tenth less.

// LOCATE1 is LOCATE for the digest at offset at from next.
#define LOCATE1(at)                   \
	VPBROADCASTD (at)(next), mask \
	MOVL (at+4)(next), value      \
	OFFSET                        \
	BITS

// ADD1 and TEST1 add a digest or look it up, and set the answer at offset to from answers.
#define ADD1(at, to)                 \
	LOCATE1(at)                  \
	VPOR mask, held, Y2          \
	VMOVDQU Y2, (words)(value*1) \
	VPTEST mask, held            \
	SETCC (to)(answers)

#define TEST1(at, to)     \
	LOCATE1(at)       \
	VPTEST mask, held \
	SETCS (to)(answers)

// FOURS1 does DO, which is ADD1 or TEST1, for four digests at a time if no blocks are to be
// fetched. Then less than four digests are left.
#define FOURS1(DO, four, start, rest) \
	TESTQ toFetch, toFetch        \
	JNE rest                      \
	JMP start                     \
	PCALIGN $32                   \
four:                                 \
	DO(0, 0)                      \
	DO(16, 1)                     \
	DO(32, 2)                     \
	DO(48, 3)                     \
	ADDQ $4, answers              \
	ADDQ $64, next                \
start:                                \
	SUBQ $4, left                 \
	JCC four                      \
	ADDQ $4, left                 \
	JEQ end

// func addBlocks(b *Blocks, hs *bloom.Hash, count, further int, dst *bool)
TEXT ·addBlocks(SB), NOSPLIT, $0-40
	BATCH
	MOVQ dst+32(FP), answers
	CMPQ lines, $1
	JEQ one
add:
	DECQ toFetch
	JLT fetched
	FETCH(fetched)
fetched:
	LOAD(0)
	MISSING(SET, added)
	SETNE (answers)
	INCQ answers
	ADDQ $16, next
	DECQ left
	JNE add
	JMP end
one:
	FOURS1(ADD1, four, start, add1)
	PCALIGN $32 // without it the loop takes a third longer (Intel Cascade Lake)
add1:
	DECQ toFetch
	JGE fetch1
fetched1:
	ADD1(0, 0)
	INCQ answers
	ADDQ $16, next
	DECQ left
	JNE add1
end:
	VZEROUPPER
	RET
fetch1:
	FETCH1
	JMP fetched1

// The frame of syncAddBlocks has, for each of a key's lines, the missing bits of its four words and
// the address of its block. A line's offset is eight times its number.
#define none       Y6 // zeros
#define offset     R9
#define last       R15 // offset of the last line with missing bits
#define block      BX // address of a line's block
#define bits       R13 // missing bits of a word
#define word       R13 // number of the final word in its block
#define final      DX // address of the final word's block, and then of the word
#define finalBits  R8 // missing bits of the final word
#define old        AX // the final word's value

// READ is TEST of a line that also fills its part of the frame.
#define READ(line)                         \
	TEST                               \
	VMOVDQU held, room-(160-32*line)(SP) \
	ADDQ words, value                  \
	MOVQ value, places-(32-8*line)(SP)

// OR sets the missing bits of a word in a line's block. It does not write to a word that lacks none,
// so that the cache line can stay in the caches of all processors.
#define OR(at, same)                            \
	MOVQ room-(160-at)(SP)(offset*4), bits  \
	TESTQ bits, bits                        \
	JEQ same                                \
	LOCK                                    \
	ORQ bits, at(block)                     \
same:

// func syncAddBlocks(b *Blocks, hs *bloom.Hash, count, further int, dst *bool)
//
// See addBesideWriters for the order of reads and writes.
TEXT ·syncAddBlocks(SB), NOSPLIT, $160-40
	NO_LOCAL_POINTERS
	BATCH
	MOVQ dst+32(FP), answers
	VPXOR none, none, none
add:
	DECQ toFetch
	JLT fetched
	FETCH(fetched)
fetched:
	LOAD(0)
	VPXOR missing, missing, missing
	LINE1
	READ(0)
	CMPQ lines, $2
	JCS read
	LINE2
	READ(1)
	CMPQ lines, $3
	JCS read
	LINE3
	READ(2)
	CMPQ lines, $4
	JCS read
	LINE4
	READ(3)
read:
	VPTEST missing, missing
	SETNE (answers)
	JEQ added
	LEAQ -8(lines*8), last
	VPCMPEQQ held, none, held
	JMP lastLine
lineBefore:
	SUBQ $8, last
	VPCMPEQQ room-160(SP)(last*4), none, held
lastLine:
	VMOVMSKPD held, word
	XORL $15, word
	JEQ lineBefore
	BSRL word, word
	MOVQ places-32(SP)(last*1), final
	LEAQ room-160(SP)(last*4), block
	MOVQ (block)(word*8), finalBits
	MOVQ $0, (block)(word*8)
	MOVQ last, offset
	JMP beside
besideFinal:
	CMPQ final, places-32(SP)(offset*1)
	JNE beside
	LEAQ room-160(SP)(offset*4), block
	ANDNQ (block)(word*8), finalBits, old
	MOVQ old, (block)(word*8)
beside:
	SUBQ $8, offset
	JGE besideFinal
	LEAQ (final)(word*8), final
	MOVQ (final), old
	XORL offset, offset
line:
	MOVQ places-32(SP)(offset*1), block
	OR(0, word1)
	OR(8, word2)
	OR(16, word3)
	OR(24, word4)
	ADDQ $8, offset
	CMPQ offset, last
	JLS line
again:
	MOVQ old, bits
	ORQ finalBits, bits
	CMPQ bits, old
	JEQ set
	LOCK
	CMPXCHGQ bits, (final)
	JNE again
	JMP done
set:
	MOVB $0, (answers)
done:
	MOVQ b+0(FP), DX
	MOVQ Blocks_Words+8(DX), length
added:
	INCQ answers
	ADDQ $16, next
	DECQ left
	JNE add
	VZEROUPPER
	RET

// With this number of lines or more, a look-up stops at the second line if the block of the first
// or the second lacks a bit. If some keys are there and others are not, the processor often
// predicts wrongly whether it stops. So with three lines, only a short batch stops, which then
// takes about as long as single calls.
#define stopping R13

// func containBlocks(b *Blocks, hs *bloom.Hash, count, further int, dst *bool)
TEXT ·containBlocks(SB), NOSPLIT, $0-40
	BATCH
	MOVQ dst+32(FP), answers
	CMPQ lines, $1
	JEQ one
	MOVL $4, stopping
	CMPQ left, $12
	JCC test
	MOVL $3, stopping
test:
	DECQ toFetch
	JLT fetched
	FETCH(fetched)
fetched:
	LOAD(0)
	VPXOR missing, missing, missing
	LINE1
	TEST
	LINE2
	TEST
	CMPQ lines, $3
	JCS tested
	CMPQ lines, stopping
	JCS line3
	VPTEST missing, missing
	JNE tested
line3:
	LINE3
	TEST
	CMPQ lines, $4
	JCS tested
	LINE4
	TEST
tested:
	VPTEST missing, missing
	SETEQ (answers)
	INCQ answers
	ADDQ $16, next
	DECQ left
	JNE test
	JMP end
one:
	FOURS1(TEST1, four, start, test1)
	PCALIGN $32 // as in addBlocks
test1:
	DECQ toFetch
	JLT fetched1
	FETCH1
fetched1:
	TEST1(0, 0)
	INCQ answers
	ADDQ $16, next
	DECQ left
	JNE test1
end:
	VZEROUPPER
	RET
