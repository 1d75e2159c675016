/* SPDX-License-Identifier: MIT */
/*
 * called_back.c: What libc calls back races as other code does. But under the lock of a FILE, or of the loader's list of
 * objects, one call comes after the other; a FILE that is closed leaves its lock to none.
 */
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int under_lock, in_loader, in_once, raced;
static FILE *shared;

static ssize_t write_shared(void *cookie, const char *text, size_t n)
{
	under_lock++;
	return (ssize_t)n;
}

static ssize_t write_own(void *cookie, const char *text, size_t n)
{
	raced++; /* RACE: raced */
	return (ssize_t)n;
}

static int object(struct dl_phdr_info *info, size_t n, void *arg)
{
	in_loader++;
	return 1;
}

static void once(void)
{
	in_once++;
}

static void *work(void *arg)
{
	static pthread_once_t control = PTHREAD_ONCE_INIT;
	FILE *own = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_own});

	setvbuf(own, NULL, _IONBF, 0);
	for (int i = 0; i < 2; i++) {
		fputs("a", shared);
		fflush(shared);
		dl_iterate_phdr(object, NULL);
		pthread_once(&control, once);
		if (!in_once)
			abort();
		fputs("b", own);
	}
	fclose(own);
	return NULL;
}

int main(void)
{
	pthread_t t[2];

	shared = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_shared});
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	return 0;
}
