#include "textflag.h"

// func Swap(value uint32) (old uint32)
TEXT ·Swap(SB), NOSPLIT, $0-12
	STMXCSR old+8(FP)
	LDMXCSR value+0(FP)
	RET
