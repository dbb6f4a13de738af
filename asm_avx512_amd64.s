//go:build !purego && !msan && !asan

#include "go_asm.h"
#include "textflag.h"

// Hashing with AVX-512, which multiplies and rotates lanes of 64 bits. All vectors have
// 256 bits: some processors lower their clock for longer ones.

#define mul1     Y16 // Murmur3's constants
#define mul2     Y17
#define final1   Y18
#define final2   Y19
#define hash1    Y0 // the state of four keys, and H1 and H2 at last
#define hash2    Y1
#define half1    Y2 // of a block
#define half1X   X2
#define half2    Y3
#define half2X   X3
#define temp     Y4
#define tempX    X4

#define CONSTANT(value, vector) MOVQ value, AX; VPBROADCASTQ AX, vector

#define CONSTANTS                             \
	CONSTANT($0x87c37b91114253d5, mul1)   \
	CONSTANT($0x4cf5ad432745937f, mul2)   \
	CONSTANT($0xff51afd7ed558ccd, final1) \
	CONSTANT($0xc4ceb9fe1a85ec53, final2)

#define XORSHIFT(x, temp) VPSRLQ $33, x, temp; VPXORQ temp, x, x

#define FMIX(x, temp)         \
	XORSHIFT(x, temp)     \
	VPMULLQ final1, x, x  \
	XORSHIFT(x, temp)     \
	VPMULLQ final2, x, x  \
	XORSHIFT(x, temp)

// FINISH makes digests of states that the lengths were added to, and stores them.
#define FINISH(x, y, temp1, temp2, at)        \
	VPADDQ y, x, x                        \
	VPADDQ x, y, y                        \
	FMIX(x, temp1)                        \
	FMIX(y, temp2)                        \
	VPADDQ y, x, x                        \
	VPADDQ x, y, y                        \
	VPUNPCKLQDQ y, x, temp1               \
	VPUNPCKHQDQ y, x, temp2               \
	VPERM2I128 $0x20, temp2, temp1, x     \
	VPERM2I128 $0x31, temp2, temp1, y     \
	VMOVDQU x, at(DI)                     \
	VMOVDQU y, at+32(DI)

// Four keys of any lengths, one in each lane. A block of 16 bytes is loaded with a mask
// of the bytes that the key has there: what the mask leaves out is 0 and is not read. 0
// leaves half a state as it is. What follows changes it, and is masked by the keys that
// have the whole block.
#define header   SI
#define keyA     R8
#define keyB     R9
#define keyC     R10
#define keyD     R11
#define at       R12 // of the block in the keys
#define stride   R13 // from a key's header to the next
#define stride3  R15
#define lengths  Y5
#define bytes    Y6 // that are left
#define sixteen  Y20
#define ones     Y21
#define add1     Y22
#define add2     Y23
#define limit    Y24
#define zero     Y25
#define whole    K1

// func sumKeys512(dst *Hash, keys unsafe.Pointer, fours int, size uintptr) int
TEXT ·sumKeys512(SB), NOSPLIT, $32-40
	MOVQ dst+0(FP), DI
	MOVQ keys+8(FP), header
	MOVQ fours+16(FP), CX
	MOVQ size+24(FP), stride
	LEAQ (stride)(stride*2), stride3
	CONSTANTS
	CONSTANT($16, sixteen)
	CONSTANT($1, ones)
	CONSTANT($0x52dce729, add1)
	CONSTANT($0x38495ab5, add2)
	CONSTANT($const_directLen, limit)
	VPXORQ zero, zero, zero
four:
	VMOVQ 8(header), half1X
	VPINSRQ $1, 8(header)(stride*1), half1X, half1X
	VMOVQ 8(header)(stride*2), half2X
	VPINSRQ $1, 8(header)(stride3*1), half2X, half2X
	VINSERTI128 $1, half2X, half1, lengths
	VPCMPUQ $6, limit, lengths, K2
	KORTESTB K2, K2
	JNE done
	MOVQ (header), keyA
	MOVQ (header)(stride*1), keyB
	MOVQ (header)(stride*2), keyC
	MOVQ (header)(stride3*1), keyD
	VMOVDQA lengths, bytes
	VPXOR hash1, hash1, hash1
	VPXOR hash2, hash2, hash2
	XORL at, at
block:
	VPCMPQ $5, sixteen, bytes, whole
	KMOVB whole, AX
	CMPL AX, $15
	JNE parts
	VMOVDQU (keyA)(at*1), half1X
	VMOVDQU (keyB)(at*1), half2X
	VINSERTI128 $1, (keyC)(at*1), half1, half1
	VINSERTI128 $1, (keyD)(at*1), half2, half2
mix:
	VPUNPCKLQDQ half2, half1, temp
	VPUNPCKHQDQ half2, half1, half2
	VPMULLQ mul1, temp, half1
	VPMULLQ mul2, half2, half2
	VPROLQ $31, half1, half1
	VPROLQ $33, half2, half2
	VPMULLQ mul2, half1, half1
	VPMULLQ mul1, half2, half2
	VPXOR half1, hash1, hash1
	VPROLQ $27, hash1, whole, hash1
	VPADDQ hash2, hash1, whole, hash1
	VPSLLQ $2, hash1, temp
	VPADDQ temp, hash1, whole, hash1
	VPADDQ add1, hash1, whole, hash1
	VPXOR half2, hash2, hash2
	VPROLQ $31, hash2, whole, hash2
	VPADDQ hash1, hash2, whole, hash2
	VPSLLQ $2, hash2, temp
	VPADDQ temp, hash2, whole, hash2
	VPADDQ add2, hash2, whole, hash2
	VPSUBQ sixteen, bytes, bytes
	ADDQ $16, at
	VPCMPQ $6, zero, bytes, K2
	KORTESTB K2, K2
	JNE block
	VPXOR lengths, hash1, hash1
	VPXOR lengths, hash2, hash2
	FINISH(hash1, hash2, half1, half2, 0)
	LEAQ (header)(stride*4), header
	ADDQ $64, DI
	DECQ CX
	JNE four
done:
	VZEROUPPER
	SUBQ dst+0(FP), DI
	SHRQ $4, DI
	MOVQ DI, ret+32(FP)
	RET
parts:
	VPMINSQ sixteen, bytes, temp
	VPMAXSQ zero, temp, temp
	VPSLLVQ temp, ones, temp
	VPSUBQ ones, temp, temp
	VMOVDQU temp, masks-32(SP)
	KMOVW masks-32(SP), K2
	KMOVW masks-24(SP), K3
	KMOVW masks-16(SP), K4
	KMOVW masks-8(SP), K5
	VMOVDQU8.Z (keyA)(at*1), K2, half1X
	VMOVDQU8.Z (keyB)(at*1), K3, half2X
	VMOVDQU8.Z (keyC)(at*1), K4, tempX
	VINSERTI128 $1, tempX, half1, half1
	VMOVDQU8.Z (keyD)(at*1), K5, tempX
	VINSERTI128 $1, tempX, half2, half2
	JMP mix

// func sumUint64s512(dst *Hash, keys unsafe.Pointer, eights int)
//
// Two vectors side by side, as in sumUint64s.
TEXT ·sumUint64s512(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ keys+8(FP), SI
	MOVQ eights+16(FP), CX
	CONSTANTS
	CONSTANT($8, Y8)
eight:
	VPMULLQ (SI), mul1, Y0
	VPMULLQ 32(SI), mul1, Y2
	VPROLQ $31, Y0, Y0
	VPROLQ $31, Y2, Y2
	VPMULLQ mul2, Y0, Y0
	VPMULLQ mul2, Y2, Y2
	VPXOR Y8, Y0, Y0
	VPXOR Y8, Y2, Y2
	VMOVDQA Y8, Y1
	VMOVDQA Y8, Y3
	FINISH(Y0, Y1, Y4, Y5, 0)
	FINISH(Y2, Y3, Y6, Y7, 64)
	ADDQ $64, SI
	ADDQ $128, DI
	DECQ CX
	JNE eight
	VZEROUPPER
	RET
