/* SPDX-License-Identifier: MIT */
/*
 * libc_dl.c: the dynamic linker: which thread loads, unloads and looks up first is logged.
 *
 * Loading makes system calls under the linker's own locks. A library's constructors and destructors run
 * as the program's code, with LIB_DL taken by their thread, as natively.
 *
 * dlopen (RUNPATH), dlmopen, dlsym and dlvsym (RTLD_NEXT) look at their return address to see which library called:
 * call_from() makes the real function return to a ret instruction of that library, which then returns to us.
 */
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/dbt/xlate.h"
#include "record/event/ev.h"
#include "record/sched/own_locks.h"
#include "record/sync/heap.h"
#include "record/sync/lib.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define RET 0xc3 /* the instruction */
#define PAGE 4096ul
#define SEARCH_MAX (1ul << 24)

void *call_from(const uint8_t *ret, void *fn, const void *a, const void *b, const void *c);
__asm__(".text\n"
	".hidden call_from\n"
	".type call_from, @function\n"
	"call_from:\n"
	"	mov %rsi, %r11\n"
	"	mov %rdi, %r10\n"
	"	mov %rdx, %rdi\n"
	"	mov %rcx, %rsi\n"
	"	mov %r8, %rdx\n"
	"	lea 1f(%rip), %rax\n"
	"	push %rax\n"
	"	push %r10\n"
	"	jmp *%r11\n"
	"1:	ret\n"
	".size call_from, .-call_from\n");

static int is_mapped(uint64_t page)
{
	unsigned char in_core;

	return raw3(SYS_mincore, page, 1, &in_core) == 0;
}

/* A ret instruction, or a byte like one, in the text after pc; 0: there is none. */
static const uint8_t *find_ret(const void *pc)
{
	const uint8_t *p = pc;

	for (uint64_t n = 0; n < SEARCH_MAX; n++, p++) {
		if ((uint64_t)p % PAGE == 0 && !is_mapped((uint64_t)p))
			break;
		if (*p == RET)
			return p;
	}
	return 0;
}

static void *call_for(const void *caller, void *fn, const void *a, const void *b, const void *c)
{
	const uint8_t *ret = find_ret(caller);

	if (!ret)
		return ((void *(*)(const void *, const void *, const void *))fn)(a, b, c);
	return call_from(ret, fn, a, b, c);
}

/* A library that was loaded may have locks of its own. */
static void look_at_new(void)
{
	struct thr *t;

	if (likely(!G.mt || G.serial) || !(t = shim_enter()))
		return;
	own_locks_look(t);
	shim_leave(t);
}

#define CALL_FOR(name, params, a, b, c, after)                                                                         \
	LIBC(void *, name, params)                                                                                     \
	{                                                                                                              \
		const void *caller = xlate_caller(__builtin_return_address(0));                                        \
		int locked = lib_enter(LIB_DL);                                                                        \
		void *ret = call_for(caller, real_table[REAL_##name], a, b, c);                                        \
                                                                                                                       \
		lib_leave(LIB_DL, locked);                                                                             \
		after;                                                                                                 \
		return ret;                                                                                            \
	}

/*
 * A library that is bound to its own dependencies first would bypass the wrappers, and pass memory that the wrappers
 * have allocated to another free.
 */
static const void *open_mode(int mode)
{
	return (const void *)(long)(mode & ~RTLD_DEEPBIND);
}

CALL_FOR(dlopen, (const char *name, int mode), name, open_mode(mode), 0, look_at_new())
CALL_FOR(dlmopen, (Lmid_t ns, const char *name, int mode), (const void *)ns, name, open_mode(mode), look_at_new())
LIB_CALL(LIB_DL, int, dlclose, (void *handle), (handle))
LIB_CALL(LIB_DL, int, dlinfo, (void *handle, int request, void *arg), (handle, request, arg))
LIB_CALL(LIB_DL, int, dladdr, (const void *at, Dl_info *info), (at, info))
LIB_CALL(LIB_DL, int, dladdr1, (const void *at, Dl_info *info, void **extra, int flags), (at, info, extra, flags))
/* ---- what dl_iterate_phdr tells of the recorder ---- */

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

#define HEADERS 16

/*
 * The recorder's program headers without its writable memory, and without its thread-local variables: garbage
 * collectors and leak detectors look there for pointers, and find others in a replay. Unwinders need the rest. They may
 * keep the address.
 */
static const ElfW(Phdr) * readable_headers(unsigned n)
{
	static ElfW(Phdr) headers[HEADERS];
	static int are_there;
	const ElfW(Phdr) *own = (const ElfW(Phdr) *)(__ehdr_start + ((const ElfW(Ehdr) *)__ehdr_start)->e_phoff);

	/* two threads may do this at once: they write the same */
	for (unsigned i = 0; !__atomic_load_n(&are_there, __ATOMIC_ACQUIRE) && i < n; i++) {
		int hidden = own[i].p_type == PT_TLS || (own[i].p_type == PT_LOAD && (own[i].p_flags & PF_W));
		ElfW(Phdr) h = own[i];

		if (hidden)
			h = (ElfW(Phdr)){.p_type = PT_NULL};
		headers[i] = h;
	}
	__atomic_store_n(&are_there, 1, __ATOMIC_RELEASE);
	return headers;
}

struct phdr_call {
	int (*fn)(struct dl_phdr_info *, size_t, void *);
	void *arg;
	struct dl_phdr_info own;
	size_t own_size; /* 0: not met so far */
};

static int tell_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct phdr_call *call = arg;

	if (info->dlpi_addr != (uint64_t)__ehdr_start || info->dlpi_phnum > HEADERS)
		return call->fn(info, size, call->arg);
	call->own_size = size < sizeof(call->own) ? size : sizeof(call->own);
	memcpy(&call->own, info, call->own_size);
	return 0;
}

/*
 * The recorder's object comes last: AddressSanitizer does not run unless the first library is its own. It wants to be
 * in front of libc, not of the recorder.
 */
static int tell_objects(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	struct phdr_call call = {.fn = fn, .arg = arg};
	int ret = REAL(dl_iterate_phdr)(tell_object, &call);

	if (ret || !call.own_size)
		return ret;
	call.own.dlpi_phdr = readable_headers(call.own.dlpi_phnum);
	call.own.dlpi_tls_modid = 0;
	call.own.dlpi_tls_data = 0;
	return fn(&call.own, call.own_size, arg);
}

/* has a lock of its own, which is free while constructors run */
LIBC(int, dl_iterate_phdr, (int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg))
{
	int locked = lib_enter(LIB_PHDR);
	int ret = tell_objects(fn, arg);

	lib_leave(LIB_PHDR, locked);
	return ret;
}

/* ---- the real dlsym, which dlsym itself cannot find ---- */

/*
 * The recorder's wrapper does not call what was found in libc: does it call the function of the library that asks, or
 * of one before it?
 */
static int calls_back(const void *caller, const char *name)
{
	const struct link_map *m = dl_object_of(caller);

	return dl_find_in(m, name) && (real_has(name) || heap_is_in(m));
}

/*
 * A library may look for a function in libc itself, or after the recorder (RTLD_NEXT), and so find one that the
 * recorder wraps: it gets the wrapper, as the program does. Not if it wraps the function, too, and the recorder's
 * wrapper calls its.
 */
static void *wrapper_of(void *found, const char *name, const void *caller)
{
	void *ours = 0;
	int called = 0, wrapped;

	if (!found)
		return 0;
	for (int i = 0; i < REAL_COUNT && !called; i++)
		called = real_table[i] == found;
	wrapped = called;
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		if (m->l_ld == _DYNAMIC)
			ours = dl_find_in(m, name);
		else if (!wrapped && dl_find_in(m, "__libc_start_main")) /* malloc and its like are not in the table */
			wrapped = dl_find_in(m, name) == found;
	}
	return wrapped && ours && (called || !calls_back(caller, name)) ? ours : found;
}

LIBC(void *, dlsym, (void *handle, const char *name))
{
	const void *caller = xlate_caller(__builtin_return_address(0));
	int locked = lib_enter(LIB_DL);
	void *ret = wrapper_of(call_for(caller, real_table[REAL_dlsym], handle, name, 0), name, caller);

	lib_leave(LIB_DL, locked);
	return ret;
}

LIBC(void *, dlvsym, (void *handle, const char *name, const char *version))
{
	const void *caller = xlate_caller(__builtin_return_address(0));
	int locked = lib_enter(LIB_DL);
	void *ret = wrapper_of(call_for(caller, real_table[REAL_dlvsym], handle, name, version), name, caller);

	lib_leave(LIB_DL, locked);
	return ret;
}
