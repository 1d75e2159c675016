/* SPDX-License-Identifier: MIT */
/* A library that is loaded and unloaded again and again: the loader's blocks are given out anew each time. It looks at
 * who calls it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	for (int i = 0; i < 5; i++) {
		void *lib = dlopen("libm.so.6", RTLD_NOW);
		char *p = malloc(100);

		if (!lib || !p || !dlsym(RTLD_NEXT, "malloc"))
			return 1;
		memset(p, i, 100);
		dlclose(lib);
		free(p);
	}
	return 0;
}
