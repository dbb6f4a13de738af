// What the filters' assembly shares: hashing a key as Sum does.

// MIX1 and MIX2 scramble half a block, in R10 and R11, into half of the state,
// AX and BX. R8 and R9 hold Murmur3's constants c1 and c2.
#define MIX1 \
	IMULQ R8, R10       \
	RORXQ $33, R10, R10 \
	IMULQ R9, R10       \
	XORQ R10, AX

#define MIX2 \
	IMULQ R9, R11       \
	RORXQ $31, R11, R11 \
	IMULQ R8, R11       \
	XORQ R11, BX

// FOLD shifts both halves of the state right by 33 onto themselves.
#define FOLD \
	MOVQ AX, CX  \
	MOVQ BX, DX  \
	SHRQ $33, CX \
	SHRQ $33, DX \
	XORQ CX, AX  \
	XORQ DX, BX

// HASH sets AX and BX to H1 and H2 of the key of SI bytes at DI, and reads
// nothing beyond the key. It changes CX, DX, DI, R8 to R13 and X0.
//
// From 16 bytes on it goes through all whole blocks, and shuffles the last 16
// bytes so that those of them remain that are not mixed in yet. The other labels
// are for keys of 9 to 15 bytes (medium), 8, 4 to 7 (short) and 0 to 3 (tiny).
#define HASH \
	MOVQ $0x87c37b91114253d5, R8  \
	MOVQ $0x4cf5ad432745937f, R9  \
	XORL AX, AX                   \
	XORL BX, BX                   \
	CMPQ SI, $8                   \
	JEQ eight                     \
	JCS short                     \
	LEAQ -16(DI)(SI*1), R13       \
	CMPQ SI, $16                  \
	JCS medium                    \
block:                                \
	MOVQ (DI), R10                \
	MOVQ 8(DI), R11               \
	MIX1                          \
	RORXQ $37, AX, AX             \
	ADDQ BX, AX                   \
	LEAQ 0x52dce729(AX)(AX*4), AX \
	MIX2                          \
	RORXQ $33, BX, BX             \
	ADDQ AX, BX                   \
	LEAQ 0x38495ab5(BX)(BX*4), BX \
	ADDQ $16, DI                  \
	CMPQ DI, R13                  \
	JLS block                     \
	MOVL SI, CX                   \
	ANDL $15, CX                  \
	NEGQ CX                       \
	LEAQ hashTail<>+16(SB), DX    \
	VMOVDQU (R13), X0             \
	VPSHUFB (DX)(CX*1), X0, X0    \
	VMOVQ X0, R10                 \
	VPEXTRQ $1, X0, R11           \
	JMP tail                      \
medium:                               \
	MOVQ (DI), R10                \
	MOVQ 8(R13), R11              \
	MOVQ SI, CX                   \
	NEGQ CX                       \
	SHLQ $3, CX                   \
	SHRXQ CX, R11, R11            \
tail:                                 \
	MIX2                          \
	JMP half                      \
short:                                \
	CMPQ SI, $4                   \
	JCS tiny                      \
	MOVL (DI), R10                \
	MOVL -4(DI)(SI*1), DX         \
	LEAQ -32(SI*8), CX            \
	SHLXQ CX, DX, DX              \
	ORQ DX, R10                   \
	JMP half                      \
tiny:                                 \
	XORL R10, R10                 \
	TESTQ SI, SI                  \
	JEQ half                      \
	MOVQ SI, CX                   \
	SHRQ $1, CX                   \
	MOVBLZX (DI), R10             \
	MOVBLZX (DI)(CX*1), R11       \
	MOVBLZX -1(DI)(SI*1), DX      \
	SHLQ $3, CX                   \
	SHLXQ CX, R11, R11            \
	ORQ R11, R10                  \
	LEAQ -8(SI*8), CX             \
	SHLXQ CX, DX, DX              \
	ORQ DX, R10                   \
	JMP half                      \
eight:                                \
	MOVQ (DI), R10                \
half:                                 \
	MIX1                          \
	XORQ SI, AX                   \
	XORQ SI, BX                   \
	ADDQ BX, AX                   \
	ADDQ AX, BX                   \
	MOVQ $0xff51afd7ed558ccd, R8  \
	MOVQ $0xc4ceb9fe1a85ec53, R9  \
	FOLD                          \
	IMULQ R8, AX                  \
	IMULQ R8, BX                  \
	FOLD                          \
	IMULQ R9, AX                  \
	IMULQ R9, BX                  \
	FOLD                          \
	ADDQ BX, AX                   \
	ADDQ AX, BX

// KEY is HASH of the argument that follows the filter, and leaves long keys to
// portable code.
#define KEY(portable) \
	MOVQ key_len+16(FP), SI   \
	CMPQ SI, $const_directLen \
	JHI portable              \
	MOVQ key_base+8(FP), DI   \
	HASH

// The 16 bytes from the n-th before the middle shuffle the last n of 16 bytes to
// the front, and zeros behind them.
DATA hashTail<>+0(SB)/8, $0x0706050403020100
DATA hashTail<>+8(SB)/8, $0x0f0e0d0c0b0a0908
DATA hashTail<>+16(SB)/8, $0x8080808080808080
DATA hashTail<>+24(SB)/8, $0x8080808080808080
GLOBL hashTail<>(SB), RODATA|NOPTR, $32
