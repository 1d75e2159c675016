/* SPDX-License-Identifier: MIT */
/*
 * scrub.c: clears what the recorder has left below the program's stack pointer, and in registers that a function need
 * not keep.
 */
#include "record/core/scrub.h"
#include "record/core/state.h"

#include <cpuid.h>

/* bits of XCR0: the state of SSE and AVX */
#define AVX_STATE 0x06u /* in XCR0: of SSE and AVX */
#define AVX512_STATE 0xe0u /* bits of XCR0: opmasks, upper halves of zmm0 to zmm15, zmm16 to zmm31 */
/* bit of CPUID(13, 1): XGETBV(1) exists, which tells which components are not in their initial state */
#define XGETBV_IN_USE 4u
__attribute__((used)) static uint32_t vectors;

void trap_find_vectors(void)
{
	uint32_t a, b, c, d, enabled;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_AVX))
		return;
	__asm__("xgetbv" : "=a"(enabled) : "c"(0) : "edx");
	if ((enabled & AVX_STATE) != AVX_STATE)
		return;
	vectors = 1;
	if ((enabled & AVX512_STATE) == AVX512_STATE && __get_cpuid_count(13, 1, &a, &b, &c, &d) && (a & XGETBV_IN_USE))
		vectors = 2;
}

/* For XRSTOR: an area in which all components are in their initial state (Intel's manual, volume 1, 13.8). */
__attribute__((used, aligned(64))) static const uint8_t initial_state[576];

/*
 * Clears memory from below the return address downwards, without a frame of its own, and changes no register that a
 * function must keep. The other registers are cleared too, since the next trap writes them to the stack.
 */
#define WIPE_XMM(n) "	pxor %xmm" #n ", %xmm" #n "\n"
__asm__(".text\n"
	".globl scrub_stack\n"
	".hidden scrub_stack\n"
	".type scrub_stack, @function\n"
	"scrub_stack:\n"
	"	.cfi_startproc\n" /* for unwinders: daemon/visibility/shim_frames.h */
	"	mov $3072, %edi\n"
	".globl scrub_stack_bytes\n"
	".hidden scrub_stack_bytes\n"
	".type scrub_stack_bytes, @function\n"
	"scrub_stack_bytes:\n"
	"	mov %rdi, %rcx\n"
	"	neg %rdi\n"
	"	add %rsp, %rdi\n"
	"	shr $3, %rcx\n"
	"	xor %eax, %eax\n"
	"	rep stosq\n"
	/*
	 * by SSE instructions: VZEROALL would also mark them as not in use, which the return from a signal would undo
	 */
	WIPE_XMM(0) WIPE_XMM(1) WIPE_XMM(2) WIPE_XMM(3) WIPE_XMM(4) WIPE_XMM(5) WIPE_XMM(6) WIPE_XMM(7) WIPE_XMM(8)
		WIPE_XMM(9) WIPE_XMM(10) WIPE_XMM(11) WIPE_XMM(12) WIPE_XMM(13) WIPE_XMM(14)
			WIPE_XMM(15) "	cmpl $1, vectors(%rip)\n"
				     "	jb 2f\n"
				     "	vzeroupper\n"
				     "	je 2f\n"
				     "	mov $1, %ecx\n"
				     "	xgetbv\n"
				     "	and $0xe0, %eax\n" /* AVX512_STATE */
				     "	jz 2f\n"
				     "	xor %edx, %edx\n"
				     "	xrstor initial_state(%rip)\n" /* those in use */
				     "2:	xor %eax, %eax\n"
				     "	xor %ecx, %ecx\n"
				     "	xor %edx, %edx\n"
				     "	xor %edi, %edi\n"
				     "	xor %esi, %esi\n"
				     "	xor %r8d, %r8d\n"
				     "	xor %r9d, %r9d\n"
				     "	xor %r10d, %r10d\n"
				     "	xor %r11d, %r11d\n"
				     "	ret\n"
				     "	.cfi_endproc\n"
				     ".size scrub_stack, .-scrub_stack\n");

/*
 * What a call leaves on the stack is no input of the program, unless a conservative garbage collector takes it for a
 * pointer. The same is true of the padding in a signal's frame. Only a serial recording is exact for such collectors
 * anyway.
 */
void shim_scrub(void)
{
	if (unlikely(G.serial))
		scrub_stack();
}
