// The assembly of the filters shares these macros. HASH hashes a key as Sum does; a comment in Sum
// says how the end of a key is read. PORTABLE ends a function.

#define keyPtr  DI
#define keyLen  SI
#define hash1   AX // first half of the state; H1 at the end
#define hash2   BX // second half of the state; H2 at the end
#define half1   R10 // first half of a block
#define half2   R11 // second half of a block
#define mul1    R8 // Murmur3's constants
#define mul2    R9
#define last16  R13 // where the last 16 bytes of the key begin
#define scratch CX
#define spare   DX

// MIX1 and MIX2 scramble half a block into half of the state.
#define MIX1                    \
	IMULQ mul1, half1       \
	RORXQ $33, half1, half1 \
	IMULQ mul2, half1       \
	XORQ half1, hash1

#define MIX2                    \
	IMULQ mul2, half2       \
	RORXQ $31, half2, half2 \
	IMULQ mul1, half2       \
	XORQ half2, hash2

// FOLD does x ^= x >> 33 for each half x of the state. half1 has the number 33.
#define FOLD                        \
	SHRXQ half1, hash1, scratch \
	SHRXQ half1, hash2, spare   \
	XORQ scratch, hash1         \
	XORQ spare, hash2

DATA fmix1<>+0(SB)/8, $0xff51afd7ed558ccd
GLOBL fmix1<>(SB), RODATA|NOPTR, $8

DATA fmix2<>+0(SB)/8, $0xc4ceb9fe1a85ec53
GLOBL fmix2<>(SB), RODATA|NOPTR, $8

// MULTIPLIERS sets mul1 and mul2, which HASH needs and leaves as they are.
#define MULTIPLIERS                    \
	MOVQ $0x87c37b91114253d5, mul1 \
	MOVQ $0x4cf5ad432745937f, mul2

// HASH sets hash1 and hash2 to the digest of the key of keyLen bytes at keyPtr. It
// reads nothing beyond the key, and changes all of the registers above but keyLen,
// mul1 and mul2.
#define HASH                                   \
	XORL hash1, hash1                      \
	XORL hash2, hash2                      \
	CMPQ keyLen, $8                        \
	JEQ eightBytes                         \
	JCS upTo7Bytes                         \
	LEAQ -16(keyPtr)(keyLen*1), last16     \
	CMPQ keyLen, $16                       \
	JCS lastBytes                          \
block:                                         \
	MOVQ (keyPtr), half1                   \
	MOVQ 8(keyPtr), half2                  \
	MIX1                                   \
	RORXQ $37, hash1, hash1                \
	ADDQ hash2, hash1                      \
	LEAQ 0x52dce729(hash1)(hash1*4), hash1 \
	MIX2                                   \
	RORXQ $33, hash2, hash2                \
	ADDQ hash1, hash2                      \
	LEAQ 0x38495ab5(hash2)(hash2*4), hash2 \
	ADDQ $16, keyPtr                       \
	CMPQ keyPtr, last16                    \
	JLS block                              \
	TESTL $15, keyLen                      \
	JEQ finish                             \
lastBytes:                                     \
	MOVL 8(last16), half2                  \
	MOVL 12(last16), spare                 \
	SHLQ $32, spare                        \
	ORQ spare, half2                       \
	SHRQ $1, half2                         \
	LEAQ (keyLen*8), scratch               \
	NOTQ scratch                           \
	SHRXQ scratch, half2, half2            \
	XORL spare, spare                      \
	MOVL keyLen, scratch                   \
	ANDL $8, scratch                       \
	MOVQ -8(keyPtr)(scratch*1), half1      \
	CMOVQEQ half2, half1                   \
	CMOVQEQ spare, half2                   \
	MIX2                                   \
	JMP lastHalf                           \
upTo7Bytes:                                    \
	CMPQ keyLen, $4                        \
	JCS upTo3Bytes                         \
	MOVL (keyPtr), half1                   \
	MOVL -4(keyPtr)(keyLen*1), spare       \
	LEAQ -32(keyLen*8), scratch            \
	SHLXQ scratch, spare, spare            \
	ORQ spare, half1                       \
	JMP lastHalf                           \
upTo3Bytes:                                    \
	XORL half1, half1                      \
	TESTQ keyLen, keyLen                   \
	JEQ lastHalf                           \
	MOVQ keyLen, scratch                   \
	SHRQ $1, scratch                       \
	MOVBLZX (keyPtr), half1                \
	MOVBLZX (keyPtr)(scratch*1), half2     \
	MOVBLZX -1(keyPtr)(keyLen*1), spare    \
	SHLQ $3, scratch                       \
	SHLXQ scratch, half2, half2            \
	ORQ half2, half1                       \
	LEAQ -8(keyLen*8), scratch             \
	SHLXQ scratch, spare, spare            \
	ORQ spare, half1                       \
	JMP lastHalf                           \
eightBytes:                                    \
	MOVQ (keyPtr), half1                   \
lastHalf:                                      \
	MIX1                                   \
finish:                                        \
	XORQ keyLen, hash1                     \
	XORQ keyLen, hash2                     \
	ADDQ hash2, hash1                      \
	ADDQ hash1, hash2                      \
	MOVL $33, half1                        \
	FOLD                                   \
	IMULQ fmix1<>(SB), hash1               \
	IMULQ fmix1<>(SB), hash2               \
	FOLD                                   \
	IMULQ fmix2<>(SB), hash1               \
	IMULQ fmix2<>(SB), hash2               \
	FOLD                                   \
	ADDQ hash2, hash1                      \
	ADDQ hash1, hash2

// KEY hashes the argument key. It goes to portable if the key is longer than directLen.
#define KEY                           \
	MOVQ key_len+16(FP), keyLen   \
	CMPQ keyLen, $const_directLen \
	JHI portable                  \
	MOVQ key_base+8(FP), keyPtr   \
	MULTIPLIERS                   \
	HASH

// PORTABLE ends a function of one key. At the label portable, it jumps to the function's portable
// form. The CALL is never executed. It makes the assembler begin the function with a check whether
// to stop, for the garbage collector or for another goroutine. A function without any call that
// needs little of the stack has no such check. A loop of calls of such a function could hardly be
// stopped.
#define PORTABLE(function)  \
portable:                   \
	JMP function(SB)    \
	CALL function(SB)
