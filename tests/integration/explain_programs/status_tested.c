/* SPDX-License-Identifier: MIT */
/* KIND: exit */
/* NOT-SAID: missing = 0 */
/* Errors are counted: why the count was raised is the question, even where only the condition in front of it is known. */
#include <string.h>

static char names[3][8] = {"one", "two", "thre"};

int main(void)
{
	static const char *const wanted[] = {"one", "two", "three"};
	int missing = 0;

	for (int k = 0; k < 3; k++) {
		int found = 0;

		for (int i = 0; i < 3; i++)
			found |= !strcmp(names[i], wanted[k]);
		if (!found) /* BUG */
			missing++; /* optimized, there is no branch: BUG */
	}
	return missing;
}
