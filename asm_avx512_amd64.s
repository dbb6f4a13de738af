//go:build !purego && !msan && !asan

#include "go_asm.h"
#include "textflag.h"

// This file hashes with AVX-512, which multiplies and rotates 64-bit lanes. Vectors have 256 bits
// (Y), or 512 bits (Z) if useWide is true.
//
// FINISH stores the digests of even lanes first, and then those of odd lanes. So even lanes have
// the first half of the keys in order, and odd lanes have the second half.

#define CONSTANT(value, vector) \
	MOVQ value, AX          \
	VPBROADCASTQ AX, vector

// CONSTANTS loads Murmur3's constants.
#define CONSTANTS(mul1, mul2, final1, final2) \
	CONSTANT($0x87c37b91114253d5, mul1)   \
	CONSTANT($0x4cf5ad432745937f, mul2)   \
	CONSTANT($0xff51afd7ed558ccd, final1) \
	CONSTANT($0xc4ceb9fe1a85ec53, final2)

// SCRAMBLE scrambles a block of each key. At first half1 has the blocks of the first half of the
// keys, and half2 has those of the second half. At the end half1 has the first word of each block,
// scrambled, and half2 has the second word.
#define SCRAMBLE(half1, half2, temp, mul1, mul2) \
	VPUNPCKLQDQ half2, half1, temp           \
	VPUNPCKHQDQ half2, half1, half2          \
	VPMULLQ mul1, temp, half1                \
	VPMULLQ mul2, half2, half2               \
	VPROLQ $31, half1, half1                 \
	VPROLQ $33, half2, half2                 \
	VPMULLQ mul2, half1, half1               \
	VPMULLQ mul1, half2, half2

// TURN mixes a scrambled block into the states. The mask whole says which keys have the whole
// block. Any other key has the rest of its bytes in the block, padded with zeros, or only zeros.
// Its state changes by the two exclusive ors alone.
#define TURN(hash1, hash2, half1, half2, temp, whole, add1, add2) \
	VPXORQ half1, hash1, hash1                                \
	VPROLQ $27, hash1, whole, hash1                           \
	VPADDQ hash2, hash1, whole, hash1                         \
	VPSLLQ $2, hash1, temp                                    \
	VPADDQ temp, hash1, whole, hash1                          \
	VPADDQ add1, hash1, whole, hash1                          \
	VPXORQ half2, hash2, hash2                                \
	VPROLQ $31, hash2, whole, hash2                           \
	VPADDQ hash1, hash2, whole, hash2                         \
	VPSLLQ $2, hash2, temp                                    \
	VPADDQ temp, hash2, whole, hash2                          \
	VPADDQ add2, hash2, whole, hash2

#define XORSHIFT(x, temp)   \
	VPSRLQ $33, x, temp \
	VPXORQ temp, x, x

#define FMIX(x, temp, final1, final2) \
	XORSHIFT(x, temp)             \
	VPMULLQ final1, x, x          \
	XORSHIFT(x, temp)             \
	VPMULLQ final2, x, x          \
	XORSHIFT(x, temp)

// FINISH makes digests of the states and stores them. The lengths of the keys were mixed into the
// states before.
#define FINISH(x, y, temp1, temp2, final1, final2, at, next) \
	VPADDQ y, x, x                                       \
	VPADDQ x, y, y                                       \
	FMIX(x, temp1, final1, final2)                       \
	FMIX(y, temp2, final1, final2)                       \
	VPADDQ y, x, x                                       \
	VPADDQ x, y, y                                       \
	VPUNPCKLQDQ y, x, temp1                              \
	VPUNPCKHQDQ y, x, temp2                              \
	VMOVDQU64 temp1, at(DI)                              \
	VMOVDQU64 temp2, next(DI)

// INTEGERS hashes the integers of two vectors of size bytes at a time, as sumUint64s does. Byte i
// of order is the number of the key in lane i.
#define INTEGERS(size, order, lanes, mul1, mul2, final1, final2, eight, x1, y1, x2, y2, temp1, temp2, temp3, temp4) \
	MOVQ dst+0(FP), DI                                           \
	MOVQ keys+8(FP), SI                                          \
	MOVQ pairs+16(FP), CX                                        \
	CONSTANTS(mul1, mul2, final1, final2)                        \
	CONSTANT($8, eight)                                          \
	MOVQ order, AX                                               \
	VMOVQ AX, X0                                                 \
	VPMOVZXBQ X0, lanes                                          \
pair:                                                                \
	VPERMQ (SI), lanes, x1                                       \
	VPERMQ size(SI), lanes, x2                                   \
	VPMULLQ mul1, x1, x1                                         \
	VPMULLQ mul1, x2, x2                                         \
	VPROLQ $31, x1, x1                                           \
	VPROLQ $31, x2, x2                                           \
	VPMULLQ mul2, x1, x1                                         \
	VPMULLQ mul2, x2, x2                                         \
	VPXORQ eight, x1, x1                                         \
	VPXORQ eight, x2, x2                                         \
	VMOVDQA64 eight, y1                                          \
	VMOVDQA64 eight, y2                                          \
	FINISH(x1, y1, temp1, temp2, final1, final2, 0, size)        \
	FINISH(x2, y2, temp3, temp4, final1, final2, 2*size, 3*size) \
	ADDQ $(2*size), SI                                           \
	ADDQ $(4*size), DI                                           \
	DECQ CX                                                      \
	JNE pair                                                     \
	VZEROUPPER                                                   \
	RET

// sumKeys512 hashes four keys of any lengths, one in each lane. It loads a block of 16 bytes with a
// mask of the bytes that belong to the key. The other bytes are not read, and become 0. A half of 0
// does not change the state by the exclusive or in TURN. The other operations would change it, so
// they are masked by whole.
#define mul1     Y16
#define mul2     Y17
#define hash1    Y0 // first halves of the states of four keys; H1 at the end
#define hash2    Y1 // second halves of the states; H2 at the end
#define half1    Y2 // see SCRAMBLE
#define half1X   X2
#define half2    Y3 // see SCRAMBLE
#define half2X   X3
#define temp     Y4
#define tempX    X4
#define header   SI
#define keyA     R8
#define keyB     R9
#define keyC     R10
#define keyD     R11
#define at       R12 // offset of the block in each key
#define stride   R13 // bytes from a key's header to the next
#define stride3  R15 // 3*stride
#define lengths  Y5
#define bytes    Y6 // number of bytes left in each key
#define sixteen  Y20
#define ones     Y21
#define add1     Y22
#define add2     Y23
#define limit    Y24 // directLen
#define zero     Y25
#define whole    K1 // mask of the keys that have the whole block
#define keyE     BX // keyE to keyH: the second half of eight keys
#define keyF     DX
#define keyG     R14
#define keyH     R15
#define left     AX // number of bytes left in each of eight keys, less 16

// KEY loads the address of the next of eight keys. It goes to done unless the key is as long as the
// first one.
#define KEY(key)             \
	MOVQ (header), key   \
	CMPQ 8(header), left \
	JNE done             \
	ADDQ size+24(FP), header

// func sumKeys512(dst *Hash, keys unsafe.Pointer, fours int, size uintptr) int
TEXT ·sumKeys512(SB), NOSPLIT, $32-40
	MOVQ dst+0(FP), DI
	MOVQ keys+8(FP), header
	MOVQ fours+16(FP), CX
	MOVQ size+24(FP), stride
	LEAQ (stride)(stride*2), stride3
	CONSTANTS(mul1, mul2, Y18, Y19)
	CONSTANT($16, sixteen)
	CONSTANT($1, ones)
	CONSTANT($0x52dce729, add1)
	CONSTANT($0x38495ab5, add2)
	CONSTANT($const_directLen, limit)
	VPXORQ zero, zero, zero
four:
	VMOVQ 8(header), half1X
	VPINSRQ $1, 8(header)(stride*2), half1X, half1X
	VMOVQ 8(header)(stride*1), half2X
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
	VMOVDQU (keyC)(at*1), half2X
	VINSERTI128 $1, (keyB)(at*1), half1, half1
	VINSERTI128 $1, (keyD)(at*1), half2, half2
mix:
	SCRAMBLE(half1, half2, temp, mul1, mul2)
	TURN(hash1, hash2, half1, half2, temp, whole, add1, add2)
	VPSUBQ sixteen, bytes, bytes
	ADDQ $16, at
	VPCMPQ $6, zero, bytes, K2
	KORTESTB K2, K2
	JNE block
	VPXOR lengths, hash1, hash1
	VPXOR lengths, hash2, hash2
	FINISH(hash1, hash2, half1, half2, Y18, Y19, 0, 32)
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
	VMOVDQU8.Z (keyC)(at*1), K3, half2X
	VMOVDQU8.Z (keyB)(at*1), K4, tempX
	VINSERTI128 $1, tempX, half1, half1
	VMOVDQU8.Z (keyD)(at*1), K5, tempX
	VINSERTI128 $1, tempX, half2, half2
	JMP mix

// sumAlike hashes eight keys of one length, of at least 16 bytes. Addresses and digests are such
// keys. All keys have the same number of blocks. The rest of a key is read as a part of its last 16
// bytes.
//
// FOUR loads a block of four keys, and BLOCKS loads a block of eight.
#define FOUR(keyA, keyB, keyC, keyD, low, all)  \
	VMOVDQU (keyA)(at*1), low               \
	VINSERTI64X2 $1, (keyB)(at*1), all, all \
	VINSERTI64X2 $2, (keyC)(at*1), all, all \
	VINSERTI64X2 $3, (keyD)(at*1), all, all

#define BLOCKS                               \
	FOUR(keyA, keyB, keyC, keyD, X2, Z2) \
	FOUR(keyE, keyF, keyG, keyH, X3, Z3)

// The 16 bytes at shift+n make VPSHUFB move bytes n to 15 to the front, and fill zeros in behind.
DATA shift<>+0(SB)/8, $0x0706050403020100
DATA shift<>+8(SB)/8, $0x0f0e0d0c0b0a0908
DATA shift<>+16(SB)/8, $-1
DATA shift<>+24(SB)/8, $-1
GLOBL shift<>(SB), RODATA|NOPTR, $32

// func sumAlike(dst *Hash, keys unsafe.Pointer, eights int, size uintptr) int
TEXT ·sumAlike(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ keys+8(FP), header
	MOVQ eights+16(FP), CX
	LEAQ shift<>(SB), R13
	CONSTANTS(Z16, Z17, Z18, Z19)
	CONSTANT($0x52dce729, Z22)
	CONSTANT($0x38495ab5, Z23)
	KXNORQ K1, K1, K1
eight:
	MOVQ 8(header), left
	LEAQ -16(left), at
	CMPQ at, $(const_directLen-16)
	JHI done
	KEY(keyA)
	KEY(keyB)
	KEY(keyC)
	KEY(keyD)
	KEY(keyE)
	KEY(keyF)
	KEY(keyG)
	KEY(keyH)
	VPBROADCASTQ left, Z5
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	XORL at, at
	SUBQ $16, left
block:
	BLOCKS
	SCRAMBLE(Z2, Z3, Z4, Z16, Z17)
	TURN(Z0, Z1, Z2, Z3, Z4, K1, Z22, Z23)
	ADDQ $16, at
	SUBQ $16, left
	JCC block
	ADDQ left, at
	NEGQ left
	CMPQ left, $16
	JEQ finish
	BLOCKS
	VBROADCASTI64X2 (R13)(left*1), Z4
	VPSHUFB Z4, Z2, Z2
	VPSHUFB Z4, Z3, Z3
	SCRAMBLE(Z2, Z3, Z4, Z16, Z17)
	VPXORQ Z2, Z0, Z0
	VPXORQ Z3, Z1, Z1
finish:
	VPXORQ Z5, Z0, Z0
	VPXORQ Z5, Z1, Z1
	FINISH(Z0, Z1, Z2, Z3, Z18, Z19, 0, 64)
	ADDQ $128, DI
	DECQ CX
	JNE eight
done:
	VZEROUPPER
	SUBQ dst+0(FP), DI
	SHRQ $4, DI
	MOVQ DI, ret+32(FP)
	RET

// func sumUint64s512(dst *Hash, keys unsafe.Pointer, eights int)
TEXT ·sumUint64s512(SB), NOSPLIT, $0-24
	INTEGERS(32, $0x03010200, Y20, Y16, Y17, Y18, Y19, Y8, Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)

// func sumUint64sWide(dst *Hash, keys unsafe.Pointer, sixteens int)
TEXT ·sumUint64sWide(SB), NOSPLIT, $0-24
	INTEGERS(64, $0x0703060205010400, Z20, Z16, Z17, Z18, Z19, Z8, Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7)
