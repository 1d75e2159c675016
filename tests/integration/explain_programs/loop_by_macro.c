/* SPDX-License-Identifier: MIT */
/* What the loop goes on for is no expression for GDB; what the statement depends on still is. KIND: abort */
#include <stdlib.h>

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))
static volatile int entries[16];

int main(void)
{
	for (unsigned i = 0; i < ENTRIES; i++) { /* BUG */
		entries[i] = 1;
		if (i >= 10)
			abort();
	}
	return 0;
}
