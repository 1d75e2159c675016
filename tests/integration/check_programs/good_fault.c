/* SPDX-License-Identifier: MIT */
/* Faults that the program handles: what comes before and after them is examined. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf out;
static char *volatile seen;
/* Returns at once, where it is executed. */
static unsigned char data[] = {0xc3};
static const unsigned char constant[] = {0xc3};
static void *volatile no_code[] = {data, (void *)constant};

static void handler(int sig)
{
	char *p = malloc(32);

	memset(p, sig, 32);
	seen = p;
	siglongjmp(out, sig);
}

int main(void)
{
	volatile int *bad = NULL;
	char *last = malloc(16);

	signal(SIGSEGV, handler);
	for (int i = 0; i < 3; i++) {
		if (!sigsetjmp(out, 1)) {
			if (i < 2) {
				((void (*)(void))no_code[i])();
				return 2;
			}
			*bad = i;
		}
		last[i] = seen[i];
		free(seen);
	}
	int wrong = last[0] != SIGSEGV;

	free(last);
	return wrong;
}
