/* SPDX-License-Identifier: MIT */
/* functions.c: see functions.h. */
#include "unwritten/functions.h"

#include <string.h>

#define WRITTEN_MOST (64u << 20)

/* ARG: a bit for each argument. */
#define ARG(n) (1u << (n))
#define FUNCTIONS(X)                                                                                                   \
	X("write", 0, FUNCTION_OUTPUTS)                                                                                \
	X("pwrite", 0, FUNCTION_OUTPUTS)                                                                               \
	X("pwrite64", 0, FUNCTION_OUTPUTS)                                                                             \
	X("send", 0, FUNCTION_OUTPUTS)                                                                                 \
	X("writev", 0, FUNCTION_OUTPUTS)                                                                               \
	X("pwritev", 0, FUNCTION_OUTPUTS)                                                                              \
	X("sendmsg", 0, FUNCTION_OUTPUTS)                                                                              \
	X("printf", 0, 0)                                                                                              \
	X("fprintf", 0, 1)                                                                                             \
	X("__printf_chk", 0, 1)                                                                                        \
	X("__fprintf_chk", 0, 2)                                                                                       \
	X("vprintf", 0, FUNCTION_NOTHING)                                                                              \
	X("vfprintf", 0, FUNCTION_NOTHING)                                                                             \
	X("__vprintf_chk", 0, FUNCTION_NOTHING)                                                                        \
	X("__vfprintf_chk", 0, FUNCTION_NOTHING)                                                                       \
	X("puts", 0, FUNCTION_NOTHING)                                                                                 \
	X("fputs", 0, FUNCTION_NOTHING)                                                                                \
	X("putchar", 0, FUNCTION_NOTHING)                                                                              \
	X("fputc", 0, FUNCTION_NOTHING)                                                                                \
	X("putc", 0, FUNCTION_NOTHING)                                                                                 \
	X("fwrite", 0, FUNCTION_NOTHING)                                                                               \
	X("fread", ARG(0), FUNCTION_TELLS_ITEMS)                                                                       \
	X("__fread_chk", ARG(0), FUNCTION_TELLS_ITEMS_CHECKED)                                                         \
	X("fgets", ARG(0), FUNCTION_TELLS)                                                                             \
	X("__fgets_chk", ARG(0), FUNCTION_TELLS)                                                                       \
	X("strftime", ARG(0), FUNCTION_TELLS)                                                                          \
	X("perror", 0, FUNCTION_NOTHING)                                                                               \
	X("malloc", 0, FUNCTION_NOTHING)                                                                               \
	X("calloc", 0, FUNCTION_NOTHING)                                                                               \
	X("realloc", 0, FUNCTION_NOTHING)                                                                              \
	X("reallocarray", 0, FUNCTION_NOTHING)                                                                         \
	X("free", 0, FUNCTION_NOTHING)                                                                                 \
	X("aligned_alloc", 0, FUNCTION_NOTHING)                                                                        \
	X("posix_memalign", ARG(0), FUNCTION_NOTHING)                                                                  \
	X("read", 0, FUNCTION_NOTHING)                                                                                 \
	X("pread", 0, FUNCTION_NOTHING)                                                                                \
	X("pread64", 0, FUNCTION_NOTHING)                                                                              \
	X("recv", 0, FUNCTION_NOTHING)                                                                                 \
	X("open", 0, FUNCTION_NOTHING)                                                                                 \
	X("open64", 0, FUNCTION_NOTHING)                                                                               \
	X("openat", 0, FUNCTION_NOTHING)                                                                               \
	X("openat64", 0, FUNCTION_NOTHING)                                                                             \
	X("close", 0, FUNCTION_NOTHING)                                                                                \
	X("fopen", 0, FUNCTION_NOTHING)                                                                                \
	X("fopen64", 0, FUNCTION_NOTHING)                                                                              \
	X("fdopen", 0, FUNCTION_NOTHING)                                                                               \
	X("tmpfile", 0, FUNCTION_NOTHING)                                                                              \
	X("rewind", 0, FUNCTION_NOTHING)                                                                               \
	X("fseek", 0, FUNCTION_NOTHING)                                                                                \
	X("fseeko", 0, FUNCTION_NOTHING)                                                                               \
	X("ftell", 0, FUNCTION_NOTHING)                                                                                \
	X("ftello", 0, FUNCTION_NOTHING)                                                                               \
	X("feof", 0, FUNCTION_NOTHING)                                                                                 \
	X("ferror", 0, FUNCTION_NOTHING)                                                                               \
	X("getc", 0, FUNCTION_NOTHING)                                                                                 \
	X("fgetc", 0, FUNCTION_NOTHING)                                                                                \
	X("getchar", 0, FUNCTION_NOTHING)                                                                              \
	X("ungetc", 0, FUNCTION_NOTHING)                                                                               \
	X("random", 0, FUNCTION_NOTHING)                                                                               \
	X("rand", 0, FUNCTION_NOTHING)                                                                                 \
	X("srand", 0, FUNCTION_NOTHING)                                                                                \
	X("exit", 0, FUNCTION_NOTHING)                                                                                 \
	X("fclose", 0, FUNCTION_NOTHING)                                                                               \
	X("fflush", 0, FUNCTION_NOTHING)                                                                               \
	X("setenv", 0, FUNCTION_NOTHING)                                                                               \
	X("putenv", 0, FUNCTION_NOTHING)                                                                               \
	X("unsetenv", 0, FUNCTION_NOTHING)                                                                             \
	X("pthread_create", ARG(0), FUNCTION_NOTHING)                                                                  \
	X("pthread_join", ARG(1), FUNCTION_NOTHING)                                                                    \
	X("pthread_mutex_lock", 0, FUNCTION_NOTHING)                                                                   \
	X("pthread_mutex_unlock", 0, FUNCTION_NOTHING)

const char *const functions_names[] = {
#define X(name, out, does) name,
	FUNCTIONS(X)
#undef X
};

const size_t functions_count = sizeof(functions_names) / sizeof(functions_names[0]);

const struct function_outputs functions[] = {
#define X(name, out, does) {out, does},
	FUNCTIONS(X)
#undef X
};

bool functions_is_system_call(const char *name)
{
	for (size_t k = 0; k < functions_count; k++)
		if (functions[k].does == FUNCTION_OUTPUTS && !strcmp(functions_names[k], name))
			return true;
	return false;
}

uint64_t functions_size_among(const uint64_t *arg, unsigned n)
{
	uint64_t most = FUNCTIONS_WRITTEN_LEAST, size;

	for (unsigned k = 0; k < n; k++) {
		if (arg[k] > most && arg[k] <= WRITTEN_MOST)
			most = arg[k];
		if (k + 1 < n && !__builtin_mul_overflow(arg[k], arg[k + 1], &size) && size > most &&
		    size <= WRITTEN_MOST)
			most = size;
	}
	return most;
}

bool functions_tells_all(int name, const uint64_t *arg)
{
	int does = functions[name].does;
	const uint64_t *sizes = arg + (does == FUNCTION_TELLS_ITEMS_CHECKED ? 2 : 1);

	if (does == FUNCTION_TELLS_ITEMS || does == FUNCTION_TELLS_ITEMS_CHECKED)
		return sizes[0] == 1 || sizes[1] == 1;
	return does == FUNCTION_TELLS;
}
