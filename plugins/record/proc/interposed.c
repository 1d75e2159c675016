/* SPDX-License-Identifier: MIT */
/*
 * interposed.c: libraries that wrap functions of threads, as the sanitizers' do.
 *
 * The recorder's wrapper of a function comes first, and calls such a library's as it would call libc's. That is wrong
 * where the library has locks: the wrapper has given up its turn while a thread waits for another one's end, and a new
 * thread, in which the library calls the program's function, has to wait for its turn before it comes to the library.
 * So the recorder comes last here. The program's call goes on to the library; the library's call of the next function,
 * which is the recorder's (libc_dl.c), is the one that is recorded.
 */
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/proc/thread.h"

#include <link.h>
#include <string.h>

static const struct {
	const char *name;
	enum real_id id;
} functions[INTERPOSED] = {
	[INTERPOSED_CREATE] = {"pthread_create", REAL_pthread_create},
	[INTERPOSED_JOIN] = {"pthread_join", REAL_pthread_join},
	[INTERPOSED_TRYJOIN] = {"pthread_tryjoin_np", REAL_pthread_tryjoin_np},
	[INTERPOSED_TIMEDJOIN] = {"pthread_timedjoin_np", REAL_pthread_timedjoin_np},
	[INTERPOSED_DETACH] = {"pthread_detach", REAL_pthread_detach},
};
static void *libraries[INTERPOSED]; /* such a library's function */

void interposed_init(void)
{
	const struct link_map *m = _r_debug.r_map;

	while (m && !dl_find_in(m, "__libc_start_main"))
		m = m->l_next;
	for (unsigned i = 0; m && i < INTERPOSED; i++) {
		void *fn = dl_find_in(m, functions[i].name);

		if (!fn || fn == real_table[functions[i].id])
			continue;
		libraries[i] = real_table[functions[i].id];
		real_table[functions[i].id] = fn;
	}
}

int interposed_comes_last(const char *name)
{
	for (unsigned i = 0; i < INTERPOSED; i++)
		if (!strcmp(name, functions[i].name))
			return 1;
	return 0;
}

/* Not by the caller's address: such a library may jump to the next function. */
void *interposed_enter(enum interposed i)
{
	struct thr *t = self;

	if (!libraries[i] || !t || (t->interposed & 1u << i))
		return 0;
	t->interposed |= (uint8_t)(1u << i);
	return libraries[i];
}

int interposed_leave(enum interposed i, int ret)
{
	self->interposed &= (uint8_t) ~(1u << i);
	return ret;
}

int thread_has_allocator(void)
{
	return dl_find_in(_r_debug.r_map, "calloc") != 0;
}
