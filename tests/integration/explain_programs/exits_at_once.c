/* SPDX-License-Identifier: MIT */
/* KIND: exit */
/* NOTHING-FOUND */
/* The check that ends the program is the failure itself, and no cause of it. */
#include <stdlib.h>
#include <string.h>
static char names[3][8] = {"one", "two", "thre"};
int main(void)
{
	static const char *const wanted[] = {"one", "two", "three"};
	for (int k = 0; k < 3; k++) {
		int found = 0;
		for (int i = 0; i < 3; i++)
			found |= !strcmp(names[i], wanted[k]);
		if (!found)
			exit(3);
	}
	return 0;
}
