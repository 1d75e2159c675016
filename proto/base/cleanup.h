/* SPDX-License-Identifier: MIT */
/* cleanup.h: owning locals. `cleanup_free char *s = NULL; cleanup_close int fd = -1;` */
#ifndef FRED_BASE_CLEANUP_H
#define FRED_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_p(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_close_p(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose_p(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void cleanup_closedir_p(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define cleanup_free __attribute__((cleanup(cleanup_free_p)))
#define cleanup_close __attribute__((cleanup(cleanup_close_p)))
#define cleanup_fclose __attribute__((cleanup(cleanup_fclose_p)))
#define cleanup_closedir __attribute__((cleanup(cleanup_closedir_p)))

/* Takes the value out of an owning local, so that it is not freed: `return steal_ptr(&s);` */
#define steal_ptr(p)                                                                                                   \
	({                                                                                                             \
		__typeof__(*(p)) steal_tmp_ = *(p);                                                                    \
		*(p) = NULL;                                                                                           \
		steal_tmp_;                                                                                            \
	})

static inline int steal_fd(int *fd)
{
	int r = *fd;

	*fd = -1;
	return r;
}

#endif
