/* SPDX-License-Identifier: MIT */
/* test_spin.c: loops that wait for another thread inside of loops that do more, as a thread that is interrupted there
 * has them. */
#include "record/core/memory.h"
#include "record/dbt/spin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

int sys_mapped(const void *p, size_t n)
{
	(void)n;
	return p != NULL;
}

/* Each has its place at a label of its own. */
#define CODE(name, text)                                                                                               \
	__asm__(".text\n" #name "_begin:\n" text);                                                                     \
	extern const unsigned char name[]
#define OUTER_BEGINS "5:\n"
#define OUTER_ENDS "	mov %edx, (%rdi)\n	add $1, %ecx\n	cmp $100, %ecx\n	jne 5b\n	ret\n"

/* while (*f != me) ; */
CODE(in_register,
     OUTER_BEGINS "6:	mov (%rdi), %eax\nin_register:\n	cmp %esi, %eax\n	jne 6b\n" OUTER_ENDS);
/* The same without optimization. */
CODE(in_frame, OUTER_BEGINS
     "	nop\n6:	mov -24(%rbp), %rax\nin_frame:\n	mov (%rax), %eax\n	cmp %eax, -12(%rbp)\n	jne 6b\n"
     "	addl $1, -4(%rbp)\n	mov -24(%rbp), %rax\n	movl $1, (%rax)\n	cmpl $9, -4(%rbp)\n	jle "
     "5b\n	ret\n");
/* while (!mine(f)) ; */
CODE(in_call, "7:	xor %eax, %eax\nin_call:	cmp %esi, (%rdi)\n	sete %al\n	ret\n" OUTER_BEGINS
	      "6:	call 7b\nin_call_back:	test %eax, %eax\n	je 6b\n" OUTER_ENDS);
extern const unsigned char in_call_back[];
/* for (j = 0; j < *n; j++) sum *= 3; in a loop */
CODE(computes, OUTER_BEGINS "	xor %r8d, %r8d\n6:	lea (%rax,%rax,2), %rax\ncomputes:\n	add $1, %r8d\n	cmp "
			    "(%rdi), %r8d\n	jne 6b\n" OUTER_ENDS);
/* while (p->next) p = p->next; in a loop */
CODE(goes_along, OUTER_BEGINS
     "	mov %r9, %rax\n6:	mov (%rax), %rax\ngoes_along:	test %rax, %rax\n	jne 6b\n" OUTER_ENDS);
/* A function that the waiting loop does not call: its own way is longer. */
CODE(counts_in_call,
     "7:	xor %eax, %eax\n8:	add (%rdi,%rax,8), %r8\ncounts_in_call:	add $1, %rax\n	cmp $80, %rax\n	jne "
     "8b\n	ret\n" OUTER_BEGINS "6:	call 7b\ncounts_in_call_back:	test %eax, %eax\n	je 6b\n" OUTER_ENDS);
extern const unsigned char counts_in_call_back[];

static int spins(const unsigned char *at, const unsigned char *back)
{
	uint64_t stack[64] = {0};
	ucontext_t uc = {0};
	greg_t *reg = uc.uc_mcontext.gregs;

	stack[8] = (uint64_t)back;
	reg[REG_RIP] = (greg_t)at;
	reg[REG_RSP] = (greg_t)&stack[8];
	reg[REG_RBP] = (greg_t)&stack[20];
	return spin_here(&uc);
}

static void test_waits(void **state)
{
	(void)state;
	assert_true(spins(in_register, NULL));
	assert_true(spins(in_frame, NULL));
	assert_true(spins(in_call, in_call_back));
}

static void test_works(void **state)
{
	(void)state;
	assert_false(spins(computes, NULL));
	assert_false(spins(goes_along, NULL));
	assert_false(spins(counts_in_call, counts_in_call_back));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_waits), cmocka_unit_test(test_works)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
