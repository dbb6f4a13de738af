//go:build !purego && !race && !msan && !asan

#include "go_asm.h"
#include "textflag.h"

#define words   R0
#define blocks  R1 // number of blocks
#define lines   R2 // number of lines of a key
#define hash1   R3
#define hash2   R4
#define value   R5 // value of a line
#define at      R6 // address of the line's block
#define scratch R7
#define step    R13 // lineStep
#define each    V0 // the value's low half in each lane
#define maskA   V1 // first half of the line's mask
#define maskB   V2 // second half of the mask
#define heldA   V3 // first half of the block before the call
#define heldB   V4 // second half of the block
#define clearA  V5 // bits of maskA that were not set; then those of both halves
#define clearB  V6 // bits of maskB that were not set
#define missing V7 // bits of the lines so far that were not set
#define saltsA  V16 // salts of the lanes in the first half
#define saltsB  V17 // salts of the lanes in the second half
#define ones    V18 // 1 in each lane

DATA lineSalts<>+0(SB)/8, $0x44974d9147b6137b
DATA lineSalts<>+8(SB)/8, $0xa2b7289d8824ad5b
DATA lineSalts<>+16(SB)/8, $0x2df1424b705495c7
DATA lineSalts<>+24(SB)/8, $0x5c6bfb319efc4947
GLOBL lineSalts<>(SB), RODATA|NOPTR, $32

// Go's assembler does not have these instructions. TestEncodings compares each number with its
// comment.
#define MUL_MASK_A     WORD $0x4eb09c01 // mul v1.4s, v0.4s, v16.4s
#define MUL_MASK_B     WORD $0x4eb19c02 // mul v2.4s, v0.4s, v17.4s
#define USHL_MASK_A    WORD $0x6ea14641 // ushl v1.4s, v18.4s, v1.4s
#define USHL_MASK_B    WORD $0x6ea24642 // ushl v2.4s, v18.4s, v2.4s
#define BIC_CLEAR_A    WORD $0x4e631c25 // bic v5.16b, v1.16b, v3.16b
#define BIC_CLEAR_B    WORD $0x4e641c46 // bic v6.16b, v2.16b, v4.16b
#define UMAXP_CLEAR_A  WORD $0x6ea5a4a5 // umaxp v5.4s, v5.4s, v5.4s

// OPEN loads what the macros below need of the Blocks at b.
#define OPEN                                   \
	MOVD b+0(FP), R0                       \
	MOVD Blocks_fast(R0), lines            \
	MOVD Blocks_blocks+8(R0), blocks       \
	MOVD Blocks_blocks+0(R0), words        \
	MOVD $lineSalts<>(SB), scratch         \
	VLD1 (scratch), [saltsA.S4, saltsB.S4] \
	MOVD $const_lineStep, step             \
	MOVD $1, scratch                       \
	VDUP scratch, ones.S4

// BLOCK sets at to the line's block: high half of its value * number of blocks >> 32.
#define BLOCK              \
	LSR $32, value, at \
	MUL blocks, at, at \
	LSR $32, at, at    \
	ADD at<<5, words, at

// LOCATE loads the line's block, makes the line's mask, and sets clearA. In each lane, the value's
// low half is multiplied by the lane's salt, and the five high bits of the product pick a bit. An
// 64-bit element is loaded and stored as a whole.
#define LOCATE                          \
	VDUP value, each.S4             \
	BLOCK                           \
	MUL_MASK_A                      \
	MUL_MASK_B                      \
	VLD1 (at), [heldA.D2, heldB.D2] \
	VUSHR $27, maskA.S4, maskA.S4   \
	VUSHR $27, maskB.S4, maskB.S4   \
	USHL_MASK_A                     \
	USHL_MASK_B                     \
	BIC_CLEAR_A                     \
	BIC_CLEAR_B                     \
	VORR clearA.B16, clearB.B16, clearA.B16

// TEST goes to no if the block lacks a bit of the line. LOOK adds to missing the bits of the line
// that the block lacks. SET does the same and sets them. FETCH fetches the block.
#define TEST(no)                  \
	LOCATE                    \
	UMAXP_CLEAR_A             \
	VMOV clearA.D[0], scratch \
	CBNZ scratch, no

#define LOOK   \
	LOCATE \
	VORR clearA.B16, missing.B16, missing.B16

#define SET                                  \
	LOOK                                 \
	VORR maskA.B16, heldA.B16, heldA.B16 \
	VORR maskB.B16, heldB.B16, heldB.B16 \
	VST1 [heldA.D2, heldB.D2], (at)

#define FETCH \
	BLOCK \
	PRFM (at), PLDL2KEEP

// MISSING does DO, which is LOOK or SET, for all lines of a key. It sets the condition NE if a bit
// was missing.
#define MISSING(DO, done)                         \
	VMOVI $0, missing.B16                     \
	LINES(DO, done)                           \
done:                                             \
	VORR missing.B16, missing.B16, clearA.B16 \
	UMAXP_CLEAR_A                             \
	VMOV clearA.D[0], scratch                 \
	CMP $0, scratch

// LINES sets value to the value of each of a key's lines in turn, as the function line does, and
// does DO. It changes hash2.
#define LINES(DO, done)         \
	MOVD hash1, value       \
	DO                      \
	CMP $2, lines           \
	BLT done                \
	ADD step, hash2         \
	MOVD hash2, value       \
	DO                      \
	CMP $3, lines           \
	BLT done                \
	ADD step, hash2         \
	ADD hash2, hash1, value \
	DO                      \
	CMP $4, lines           \
	BLT done                \
	ADD step, hash2         \
	ROR $32, hash1, value   \
	ADD hash2, value        \
	DO

// KEY loads the Blocks and a digest. It goes to portable if assembly does not do these Blocks.
// Unlike on amd64, these functions do not check whether to stop. Signals stop a loop of calls of
// them.
#define KEY                 \
	OPEN                \
	CBZ lines, portable \
	LDP h_h1+8(FP), (hash1, hash2)

#define next    R8  // address of the next digest
#define left    R9  // number of digests to do
#define toFetch R10 // number of digests whose blocks are to be fetched
#define answer  R11 // address of the next answer
#define ahead   R12 // address of the next digest whose blocks are to be fetched

// BATCH loads the arguments that all functions of batches have.
#define BATCH               \
	OPEN                \
	MOVD hs+8(FP), next \
	MOVD count+16(FP), left

// BATCH_LOOP begins the loop of a batch. Each round fetches the blocks of a digest ahead, and loads
// the next digest.
#define BATCH_LOOP(loop, fetched)               \
	BATCH                                   \
	MOVD further+24(FP), toFetch            \
	MOVD dst+32(FP), answer                 \
	ADD $(16*const_fetchAhead), next, ahead \
loop:                                           \
	CBZ toFetch, fetched                    \
	SUB $1, toFetch                         \
	LDP.P 16(ahead), (hash1, hash2)         \
	LINES(FETCH, fetched)                   \
fetched:                                        \
	LDP.P 16(next), (hash1, hash2)

// ANSWER stores the answer in scratch and ends the loop.
#define ANSWER(loop)              \
	MOVB.P scratch, 1(answer) \
	SUB $1, left              \
	CBNZ left, loop           \
	RET

// func containsHash(b *Blocks, h bloom.Hash) bool
TEXT ·containsHash(SB), NOFRAME, $0-25
	KEY
	LINES(TEST(no), yes)
yes:
	MOVD $1, scratch
	MOVB scratch, ret+24(FP)
	RET
no:
	MOVB ZR, ret+24(FP)
	RET
portable:
	JMP ·containsHashPortable(SB)

// func addHash(b *Blocks, h bloom.Hash) bool
TEXT ·addHash(SB), NOFRAME, $0-25
	KEY
	MISSING(SET, done)
	CSET NE, scratch
	MOVB scratch, ret+24(FP)
	RET
portable:
	JMP ·addHashPortable(SB)

// func prefetchBlocks(b *Blocks, hs *bloom.Hash, count int)
TEXT ·prefetchBlocks(SB), NOSPLIT, $0-24
	BATCH
fetch:
	LDP.P 16(next), (hash1, hash2)
	LINES(FETCH, fetched)
fetched:
	SUB $1, left
	CBNZ left, fetch
	RET

// func addBlocks(b *Blocks, hs *bloom.Hash, count, further int, dst *bool)
TEXT ·addBlocks(SB), NOSPLIT, $0-40
	BATCH_LOOP(add, fetched)
	MISSING(SET, done)
	CSET NE, scratch
	ANSWER(add)

// func containBlocks(b *Blocks, hs *bloom.Hash, count, further int, dst *bool)
//
// containBlocks tests all lines of a digest without a branch. If present and absent keys come in no
// order, a branch for each key would be mispredicted.
TEXT ·containBlocks(SB), NOSPLIT, $0-40
	BATCH_LOOP(test, fetched)
	MISSING(LOOK, done)
	CSET EQ, scratch
	ANSWER(test)
