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
	const struct link_map *m = dl_first_with("__libc_start_main"); /* libc */

	for (unsigned i = 0; m && i < INTERPOSED; i++) {
		void *fn = dl_find_in(m, functions[i].name);

		if (!fn || fn == real_table[functions[i].id])
			continue;
		libraries[i] = real_table[functions[i].id];
		real_table[functions[i].id] = fn;
	}
}

/* By thread: the call of the library's function that has not returned; NULL: there is none. */
static __thread struct interposed_call *calls[INTERPOSED] __attribute__((tls_model("initial-exec")));

/*
 * Not by the caller's address: such a library may jump to the next function. A call whose frame is below is no longer
 * there: the library's function was left by longjmp.
 */
int interposed_enter(struct interposed_call *call, enum interposed i)
{
	if (!libraries[i] || call < calls[i])
		return 0;
	*call = (struct interposed_call){libraries[i], i, calls[i]};
	calls[i] = call;
	return 1;
}

void interposed_leave(void *p)
{
	struct interposed_call *call = p;

	calls[call->which] = call->outer;
}

int thread_has_allocator(void)
{
	return dl_find_in(_r_debug.r_map, "calloc") != 0;
}
