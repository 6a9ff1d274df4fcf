//go:build goexperiment.simd && amd64

#include "go_asm.h"
#include "textflag.h"

// This file is long because it is one function: its parts share the registers.

// The frame. A chunk is as many blocks as there are records.
#define chunk 32
#define recordBytes 32
#define texts 0                        // the tokens of a chunk, and room for one store behind them
#define records (texts+chunk*64+64)
#define recordsEnd (records+chunk*recordBytes)
#define pieces recordsEnd              // two vectors, to take one from the middle of
#define locals (pieces+128)
#define dotRun (locals+0)              // all ones: a digit behind a dot was the last byte of the block before
#define eRun (locals+8)                // all ones: the same behind an e
#define afterE (locals+16)             // 1: an e was the last byte
#define wrongs (locals+24)             // not 0: some block of the chunk has something wrong
#define hexes (locals+32)              // the bytes of the next block that must be hexadecimal digits
#define tokenEnd (locals+40)
#define recordEnd (locals+48)
#define inside (locals+56)             // tokens in containers with no other in them
#define objects (locals+64)            // the same for objects
#define outside (locals+168)           // tokens in containers with only such in them
#define outsideObjects (locals+176)
#define valid (locals+72)
#define here (locals+80)
#define saveBlock (locals+88)
#define saveCount (locals+96)
#define saveString (locals+104)
#define saveScalar (locals+112)
#define saveDot (locals+120)
#define saveEscape (locals+128)
#define theWord (locals+136)
#define theLevel (locals+144)
#define theDeepest (locals+152)
#define last (locals+160)              // the end of the container, one bit
// In all 3448 bytes.

// A record of a block.
#define recordBlock 0
#define recordTokens 8                 // which bytes are tokens
#define recordText 16                  // where their classes are
#define recordWrong 24                 // which bytes are wrong

// PAIRS finds the opening brackets in CX that have their closing one right behind them in CX. It takes both off CX, adds
// the pairs of different kinds to R15, and stores which tokens the others enclose, and which of them in objects.
//
// To be neighbours, brackets are moved together, and their marks back to where they stand.
#define PAIRS(enclosed, inObjects) \
	ANDNQ CX, DX, AX    \
	PEXTQ CX, AX, AX    \
	PEXTQ CX, DX, R12   \
	SHRQ  $1, R12       \
	ANDQ  AX, R12       \
	PEXTQ CX, R11, AX   \
	MOVQ  AX, R13       \
	SHRQ  $1, R13       \
	XORQ  AX, R13       \
	ANDQ  R12, R13      \
	PDEPQ CX, R13, R13  \
	ORQ   R13, R15      \
	PDEPQ CX, R12, AX   \
	ADDQ  R12, R12      \
	PDEPQ CX, R12, R12  \
	ANDNQ CX, AX, CX    \
	ANDNQ CX, R12, CX   \
	MOVQ  R12, R13      \
	SUBQ  AX, R13       \
	MOVQ  R13, enclosed(SP) \
	ANDQ  R11, AX       \
	ANDQ  R11, R12      \
	SUBQ  AX, R12       \
	MOVQ  R12, inObjects(SP)

// func scanTokens(c *classes, first *[64]uint8, blocks int, alive, object uint64, limit int) (end int, high bool)
//
// While it goes through blocks:
//
//	SI  the block              CX  how many are left
//	DI  where tokens go        R13 where the record goes
//	BX  bytes that count       R15 not 0: a backslash or \u goes on from the block before (bit 0: escaped)
//	R8  all ones in a string   R9  1 behind a byte of a number or literal
//	R10 1 behind a dot         R14 wrong bytes
//	Z3  classes of the block before, Z11 all bytes, Z12 the kinds of the tokens before
TEXT ·scanTokens(SB), 0, $3448-57
	MOVQ first+8(FP), SI
	MOVQ blocks+16(FP), CX
	MOVQ alive+24(FP), BX
	MOVQ object+32(FP), DX
	MOVQ c+0(FP), AX
	VMOVDQU8 classes_quote(AX), Z16
	VMOVDQU8 classes_backslash(AX), Z17
	VMOVDQU  classes_ones(AX), X10
	VMOVDQU8 classes_class(AX), Z19
	VMOVDQU8 classes_class+64(AX), Z20
	VMOVDQU8 classes_control(AX), Z21
	VMOVDQU8 classes_pairBefore(AX), Z22
	VMOVDQU8 classes_pair(AX), Z23
	VMOVDQU8 classes_tripleBefore(AX), Z24
	VMOVDQU8 classes_triple(AX), Z25
	VMOVDQU8 classes_tripleBefore2(AX), Z26
	VMOVDQU8 classes_lower(AX), Z27
	VMOVDQU8 classes_upper(AX), Z28
	VMOVDQU8 classes_dot(AX), Z29
	VMOVDQU8 classes_even(AX), Z30
	VMOVDQU8 classes_exponent(AX), Z31
	VMOVDQU8 classes_grammarBefore2(AX), Z13
	VMOVDQU8 classes_grammarBefore(AX), Z14
	VMOVDQU8 classes_grammar(AX), Z15
	VPXORQ   Z3, Z3, Z3
	VPXORQ   Z11, Z11, Z11

	// The tokens before are a colon and the opening bracket. Only the last two bytes matter.
	MOVQ DX, theWord(SP)
	MOVQ $1, theLevel(SP)
	MOVQ $1, theDeepest(SP)
	SHLQ $56, DX
	MOVQ $(const_openToken<<56 + const_colonToken<<48), R8
	ADDQ R8, DX
	VPBROADCASTQ DX, Z12

	XORL R8, R8
	XORL R9, R9
	XORL R10, R10
	XORL R15, R15
	MOVQ R8, dotRun(SP)
	MOVQ R8, eRun(SP)
	MOVQ R8, afterE(SP)
	MOVQ R8, wrongs(SP)
	MOVQ R8, hexes(SP)
	LEAQ texts(SP), DI
	LEAQ records(SP), R13

block:
	VMOVDQU8 (SI), Z0
	VPCMPEQB Z16, Z0, K1
	VPCMPEQB Z17, Z0, K2
	KMOVQ    K1, AX
	KMOVQ    K2, DX
	XORL     R14, R14
	ORQ      R15, DX
	JNE      escapes
	ANDQ     BX, AX
	JEQ      unquoted

quoted:
	// AX has the quotes. Inside strings is what has an odd number of them before it, opening quotes included.
	VMOVQ      AX, X1
	VPCLMULQDQ $0, X10, X1, X1
	VMOVQ      X1, DX
	XORQ       R8, DX
	MOVQ       DX, R8
	SARQ       $63, R8

	// Classes, as if there were no strings, and what must not be where it is. Marks are fetched before it is known
	// what is outside: those of strings are taken off later.
	ANDNQ     BX, DX, AX
	KMOVQ     AX, K3
	VMOVDQA64 Z0, Z1
	VPERMI2B  Z20, Z19, Z1
	VPORQ     Z0, Z11, Z11
	VPCMPUB   $2, Z21, Z0, K4
	VPORQ     Z0, Z1, Z2
	VPMOVB2M  Z2, K5
	KMOVQ     K4, R11
	ANDQ      DX, R11
	ORQ       R11, R14
	KMOVQ     K5, R11
	ANDQ      AX, R11
	ORQ       R11, R14
	VPTESTMB  Z27, Z1, K1
	VPTESTMB  Z28, Z1, K2
	KMOVQ     K1, R12
	KMOVQ     K2, DX
	ANDQ      AX, DX  // tokens but numbers and literals
	ANDQ      R12, AX // bytes of numbers and literals

	// Tokens: what has an upper half, and where a number or literal begins.
	LEAQ        (R9)(AX*2), R11
	ANDNQ       AX, R11, R11
	MOVQ        AX, R9
	SHRQ        $63, R9
	ORQ         R11, DX
	KMOVQ       DX, K1
	VPCOMPRESSB.Z Z1, K1, Z2
	VMOVDQU8    Z2, (DI)
	MOVQ        SI, recordBlock(R13)
	MOVQ        DX, recordTokens(R13)
	MOVQ        DI, recordText(R13)
	POPCNTQ     DX, DX
	ADDQ        DX, DI
	VMOVDQU8.Z  Z1, K3, Z1

	// Each byte with the one before and the two before.
	VALIGNQ    $6, Z3, Z1, Z2
	VPALIGNR   $15, Z2, Z1, Z4
	VPALIGNR   $14, Z2, Z1, Z5
	VMOVDQA64  Z1, Z3
	VPSHUFB    Z4, Z22, Z6
	VPSHUFB    Z1, Z23, Z7
	VPSHUFB    Z4, Z24, Z8
	VPSHUFB    Z1, Z25, Z9
	VPSHUFB    Z5, Z26, Z5
	VPTERNLOGQ $0x80, Z9, Z8, Z5
	VPTERNLOGQ $0xF8, Z7, Z6, Z5
	VPTESTMB   Z5, Z5, K6
	KMOVQ      K6, R11
	ORQ        R11, R14

	// A one added behind each dot ripples through the number: no dot where it comes out.
	VPCMPEQB Z29, Z1, K1
	VPANDQ   Z30, Z1, Z2
	VPCMPEQB Z31, Z2, K2
	KMOVQ    K1, DX
	LEAQ     (R10)(DX*2), R11
	MOVQ     DX, R10
	SHRQ     $63, R10
	ANDNQ    AX, DX, R12
	ANDQ     R12, R11
	SUBQ     dotRun(SP), R11
	ADDQ     R12, R11
	SBBQ     AX, AX
	MOVQ     AX, dotRun(SP)
	ANDNQ    R11, R12, R11
	ANDQ     DX, R11
	ORQ      R11, R14

	// Behind each e likewise: neither dot nor e. The e of literals has nothing behind it.
	KMOVQ K2, R11
	ANDNQ R12, R11, R12
	ORQ   R11, DX
	MOVQ  afterE(SP), AX
	LEAQ  (AX)(R11*2), AX
	SHRQ  $63, R11
	MOVQ  R11, afterE(SP)
	ANDQ  R12, AX
	SUBQ  eRun(SP), AX
	ADDQ  R12, AX
	SBBQ  R11, R11
	MOVQ  R11, eRun(SP)
	ANDNQ AX, R12, AX
	ANDQ  DX, AX
	ORQ   AX, R14

	MOVQ R14, recordWrong(R13)
	ORQ  R14, wrongs(SP)
	ADDQ $recordBytes, R13
	MOVQ $-1, BX
	ADDQ $64, SI
	DECQ CX
	JEQ  judge
	LEAQ recordsEnd(SP), AX
	CMPQ R13, AX
	JNE  block
	JMP  judge

unquoted:
	TESTQ R8, R8
	JEQ   quoted

	// In a string: go on to the next block that has something else than plain characters.
plain:
	VPCMPEQB Z16, Z0, K1
	VPCMPEQB Z17, Z0, K2
	VPCMPUB  $2, Z21, Z0, K3
	KORQ     K1, K2, K1
	KORTESTQ K1, K3
	JNE      special
	VPORQ    Z0, Z11, Z11
	ADDQ     $64, SI
	DECQ     CX
	JEQ      judge
	VMOVDQU8 (SI), Z0
	JMP      plain

special:
	// Never a block that was here before, unless it has a control character.
	KMOVQ K1, AX
	TESTQ AX, AX
	JNE   block
	JMP   quoted

	// Some bytes of this block are behind a backslash, or belong to a \u of the block before.
escapes:
	KMOVQ K2, DX
	ANDQ  BX, DX
	MOVQ  R15, R11
	ANDL  $1, R11

	// A run of backslashes escapes what stands at odd distances from its start. Subtracting the start of the run
	// from the alternating pattern of odd places flips the pattern behind even starts.
	MOVQ  $0xAAAAAAAAAAAAAAAA, R14
	ANDNQ DX, R11, R12
	LEAQ  (R12)(R12*1), R15
	ORQ   R14, R15
	SUBQ  R12, R15
	XORQ  R14, R15
	ORQ   DX, R11
	XORQ  R15, R11 // what is escaped
	ANDQ  DX, R15
	SHRQ  $63, R15 // 1: the first byte of the next block is
	ANDNQ AX, R11, AX
	ANDQ  BX, AX

	MOVQ      c+0(FP), R12
	VMOVDQA64 Z0, Z1
	VMOVDQU8  classes_escape(R12), Z2
	VPERMI2B  classes_escape+64(R12), Z2, Z1
	VPMOVB2M  Z0, K3
	VPTESTMB  classes_simple(R12), Z1, K4
	VPTESTMB  classes_unicode(R12), Z1, K5
	VPTESTMB  classes_hex(R12), Z1, K6
	KANDNQ    K4, K3, K4
	KANDNQ    K6, K3, K6
	KMOVQ     K4, R14
	ANDNQ     R11, R14, R14 // wrong
	KMOVQ     K5, R12
	ANDQ      R11, R12      // \u
	MOVQ      hexes(SP), DX
	LEAQ      (R12)(R12*1), R11
	ORQ       R11, DX
	LEAQ      (R12*4), R11
	ORQ       R11, DX
	LEAQ      (R12*8), R11
	ORQ       R11, DX
	MOVQ      R12, R11
	SHLQ      $4, R11
	ORQ       R11, DX
	KMOVQ     K6, R11
	ANDNQ     DX, R11, R11
	ORQ       R11, R14
	SHRQ      $60, R12
	MOVQ      R12, R11
	SHRQ      $1, R11
	ORQ       R11, R12
	SHRQ      $1, R11
	ORQ       R11, R12
	SHRQ      $1, R11
	ORQ       R11, R12
	MOVQ      R12, hexes(SP)
	ADDQ      R12, R12
	ORQ       R12, R15
	JMP       quoted

	// While it goes through tokens:
	//
	//	SI  the tokens                    DI  behind the last one
	//	R8  the open containers, bit 0 the innermost, 1 for an object
	//	R9  how many                      R10 how many there were at most
	//	BX  tokens that count             CX  brackets
	//	DX  closing ones                  R11 those of objects
	//	R14 tokens in objects             R15 wrong tokens
judge:
	MOVQ SI, saveBlock(SP)
	MOVQ CX, saveCount(SP)
	MOVQ R8, saveString(SP)
	MOVQ R9, saveScalar(SP)
	MOVQ R10, saveDot(SP)
	MOVQ R15, saveEscape(SP)
	MOVQ R13, recordEnd(SP)
	MOVQ DI, tokenEnd(SP)
	LEAQ texts(SP), SI
	MOVQ theWord(SP), R8
	MOVQ theLevel(SP), R9
	MOVQ theDeepest(SP), R10

group:
	MOVQ     tokenEnd(SP), AX
	SUBQ     SI, AX
	JLE      judged
	VMOVDQU8 (SI), Z0
	MOVQ     $-1, BX
	CMPQ     AX, $64
	JGE      full
	BZHIQ    AX, BX, BX

full:
	MOVQ     c+0(FP), R13
	VPTESTMB classes_bracket(R13), Z0, K1
	VPCMPUB  $5, classes_shut(R13), Z0, K2
	VPTESTMB classes_curly(R13), Z0, K3
	VPCMPEQB classes_comma(R13), Z0, K4
	VPSRLW   $4, Z0, Z1
	VPANDQ   Z27, Z1, Z1
	KMOVQ    K1, CX
	MOVQ     R8, R14
	ANDL     $1, R14
	NEGQ     R14
	XORL     R15, R15
	ANDQ     BX, CX
	JEQ      commas
	MOVQ     BX, valid(SP)
	MOVQ     SI, here(SP)
	KMOVQ    K2, DX
	KMOVQ    K3, R11
	ANDQ     CX, DX

	// Most containers are dealt with together: those with no other in them, then those with only such in them.
	PAIRS(inside, objects)
	ANDNQ CX, DX, AX
	MOVQ  AX, outside(SP)
	MOVQ  AX, outsideObjects(SP)
	JEQ   others
	PAIRS(outside, outsideObjects)

others:
	TESTQ CX, CX
	JEQ   matched

	// The others one by one. Which way one goes is hard to predict: both are computed and one is taken.
match:
	BLSIQ   CX, AX
	BLSRQ   CX, CX
	MOVQ    AX, R12
	ANDQ    DX, R12
	NEGQ    R12
	SBBQ    R12, R12 // all ones: closes
	MOVQ    AX, R13
	ANDQ    R11, R13
	NEGQ    R13
	SBBQ    R13, R13 // all ones: of an object
	LEAQ    (R8)(R8*1), DI
	SUBQ    R13, DI
	XORQ    R8, R13
	ANDQ    R12, R13
	ANDL    $1, R13
	ORQ     R13, R15
	SHRQ    $1, R8
	TESTQ   R12, R12
	CMOVQEQ DI, R8
	LEAQ    1(R9)(R12*2), R9
	TESTQ   R9, R9
	JEQ     closed
	CMPQ    R9, R10
	CMOVQGT R9, R10
	NEGQ    AX
	MOVQ    R8, R13
	ANDL    $1, R13
	NEGQ    R13
	XORQ    R14, R13
	ANDQ    AX, R13
	XORQ    R13, R14
	TESTQ   CX, CX
	JNE     match

matched:
	MOVQ  valid(SP), BX
	MOVQ  here(SP), SI
	MOVQ  outside(SP), DX
	ANDNQ R14, DX, R14
	ORQ   outsideObjects(SP), R14
	MOVQ  inside(SP), AX
	ANDNQ R14, AX, R14
	ORQ   objects(SP), R14

	// Each of the two is one level more.
	NEGQ AX
	MOVQ R10, AX
	ADCQ $0, AX
	NEGQ DX
	ADCQ $0, AX
	CMPQ AX, limit+40(FP)
	JGT  undecided

commas:
	KMOVQ      K4, AX
	ANDQ       R14, AX
	KMOVQ      AX, K5
	MOVQ       c+0(FP), R13
	VPADDB     classes_member(R13), Z1, K5, Z1
	VALIGNQ    $6, Z12, Z1, Z2
	VPALIGNR   $15, Z2, Z1, Z4
	VPALIGNR   $14, Z2, Z1, Z5
	VPSHUFB    Z5, Z13, Z5
	VPSHUFB    Z4, Z14, Z4
	VPSHUFB    Z1, Z15, Z6
	VPTERNLOGQ $0x80, Z6, Z4, Z5
	VPTESTMB   Z5, Z5, K6
	KMOVQ      K6, AX
	ORQ        R15, AX
	ANDQ       BX, AX
	JNE        undecided
	TESTQ      R9, R9
	JEQ        found
	MOVQ       tokenEnd(SP), AX
	SUBQ       SI, AX
	ADDQ       $64, SI
	CMPQ       AX, $64
	JLT        partial
	VMOVDQA64  Z1, Z12
	JMP        group

closed:
	// Nothing behind the end counts.
	MOVQ    AX, last(SP)
	BLSMSKQ AX, AX
	ANDQ    AX, valid(SP)
	JMP     matched

partial:
	// The last tokens to the end of the vector.
	VMOVDQU8 Z12, pieces(SP)
	VMOVDQU8 Z1, (pieces+64)(SP)
	LEAQ     pieces(SP), DX
	VMOVDQU8 (DX)(AX*1), Z12

judged:
	CMPQ wrongs(SP), $0
	JNE  undecided
	MOVQ R8, theWord(SP)
	MOVQ R9, theLevel(SP)
	MOVQ R10, theDeepest(SP)
	MOVQ saveCount(SP), CX
	TESTQ CX, CX
	JEQ  undecided
	MOVQ saveBlock(SP), SI
	MOVQ saveString(SP), R8
	MOVQ saveScalar(SP), R9
	MOVQ saveDot(SP), R10
	MOVQ saveEscape(SP), R15
	LEAQ texts(SP), DI
	LEAQ records(SP), R13
	MOVQ $-1, BX
	JMP  block

found:
	// Which byte is that token?
	TZCNTQ last(SP), AX
	ADDQ   SI, AX
	MOVQ   recordEnd(SP), R13

back:
	SUBQ    $recordBytes, R13
	CMPQ    recordText(R13), AX
	JHI     back
	SUBQ    recordText(R13), AX
	MOVL    $1, DX
	SHLXQ   AX, DX, DX
	PDEPQ   recordTokens(R13), DX, DX
	BLSMSKQ DX, R11
	TESTQ   R11, recordWrong(R13)
	JNE     undecided
	TZCNTQ  DX, DX
	ADDQ    recordBlock(R13), DX
	SUBQ    first+8(FP), DX
	INCQ    DX
	CMPQ    wrongs(SP), $0
	JEQ     done

	// What is wrong may stand behind the end.
	LEAQ records(SP), AX

before:
	CMPQ AX, R13
	JEQ  done
	CMPQ recordWrong(AX), $0
	JNE  undecided
	ADDQ $recordBytes, AX
	JMP  before

done:
	MOVQ     DX, end+48(FP)
	VPMOVB2M Z11, K1
	KORTESTQ K1, K1
	SETNE    high+56(FP)
	VZEROUPPER
	RET

undecided:
	MOVQ $0, end+48(FP)
	MOVB $0, high+56(FP)
	VZEROUPPER
	RET

// func hasBMI() bool
TEXT ·hasBMI(SB), NOSPLIT, $0-1
	MOVL  $7, AX
	XORL  CX, CX
	CPUID
	ANDL  $(1<<3 + 1<<8), BX
	CMPL  BX, $(1<<3 + 1<<8)
	SETEQ ret+0(FP)
	RET
