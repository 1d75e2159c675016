/* SPDX-License-Identifier: MIT */
/* malloc.c: the functions of the heap (heap.c), and where they find that the program has damaged it. */
#include "record/core/real.h"
#include "record/core/state.h"
#include "record/core/tell.h"
#include "record/sync/heap.h"
#include "record/sync/heap_detect.h"
#include "record/sync/heap_shadow.h"

#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096ul
#define SPARSE_MIN (1u << 20) /* glibc maps blocks of this size separately */

/* Fails with glibc's report: a recorded program fails as it does alone. */
static inline struct block *block_of(void *p, const char *bad, const char *twice)
{
	struct block *b = (struct block *)p - 1;

	if (unlikely((uintptr_t)p & 15))
		heap_broken(bad);
	if (unlikely(!is_heap(p)))
		heap_broken(bad);
	if (b->magic == MAGIC_ALIGNED)
		b = (struct block *)((char *)p - heap_block_size(b)) - 1;
	if (unlikely(b->magic != MAGIC_USED))
		heap_broken(b->magic == MAGIC_FREE ? twice : bad);
	return b;
}

/* The word before a block that is freed is no HEAP_WORD: it takes the place of the size of that block in glibc. */
static __attribute__((noinline, cold)) void check_own(const struct block *b, uint64_t v)
{
	uint64_t size = v & ~7ull;

	if (v & 2) /* it was mapped by itself */
		heap_broken("munmap_chunk(): invalid pointer");
	if ((uintptr_t)(b + 1) - 16 > -size || (b->magic != MAGIC_USED && size <= CACHED_MAX + 8))
		heap_broken("free(): invalid pointer");
	if (size < 32 || (size & 15))
		heap_broken("free(): invalid size");
	if (size > CACHED_MAX + 8)
		heap_broken(size < 1u << 21 ? "free(): invalid next size (normal)" : "double free or corruption (out)");
}

/*
 * The word after a block that is freed or resized is no HEAP_WORD: it takes the place of the size of the next block in
 * glibc.
 */
static __attribute__((noinline, cold)) void check_next(uint64_t v, const char *bad)
{
	if (bad)
		heap_broken(bad);
	if (!(v & 1))
		heap_broken("double free or corruption (!prev)");
	if ((v & ~7ull) <= 16 || v >= 1u << 21)
		heap_broken("free(): invalid next size (normal)");
}

/* p is the program's, in the heap. */
static inline void check(void *p)
{
	const struct block *b = (const struct block *)p - 1;
	uint64_t v;

	if (unlikely(((uintptr_t)p & 15) || !is_heap(p) || b->magic == MAGIC_ALIGNED))
		return; /* a block that is not in use is reported elsewhere */
	v = word_before(b,
			b->before && b->magic == MAGIC_USED ? (struct block *)((char *)(uintptr_t)b - b->before) : 0);
	if (unlikely(v != HEAP_WORD))
		check_own(b, v);
}

static const char *twice(const void *p)
{
	const struct block *b = (const struct block *)p - 1;
	const struct arena *a = my_arena();
	int last = (const char *)p + class_size(b->cls < CLASSES ? b->cls : 0) == a->cur;

	release_arena((struct arena *)a);
	return heap_block_size(b) <= CACHED_MAX ? "free(): double free detected in tcache 2"
	       : last				? "double free or corruption (top)"
						: "double free or corruption (!prev)";
}

static __attribute__((noinline, cold)) void tell_heap(enum replay_report_kind kind, const void *p, uint64_t n,
						      unsigned what)
{
	shim_tell(kind, what, (uint64_t)p, n);
	if (shim_report->filter == REPORT_SHADOW)
		heap_shadow(kind, (uint64_t)p, n);
}

static inline void tell(enum replay_report_kind kind, const void *p, uint64_t n)
{
	if (unlikely(shim_report != 0))
		tell_heap(kind, p, n, 0);
}

/* realloc ends the program if p is not a block in use, which is as if it were freed. */
static __attribute__((noinline, cold)) void tell_unusable(const void *p)
{
	const struct block *b = (const struct block *)p - 1;

	if (!((uintptr_t)p & 15) && is_heap(p)) {
		if (b->magic == MAGIC_ALIGNED)
			b = (const struct block *)((const char *)p - heap_block_size(b)) - 1;
		if (b->magic == MAGIC_USED)
			return;
	}
	tell_heap(REPORT_FREE, p, 0, 0);
}

/* what: REPORT_BLOCK_... */
static inline void tell_block(enum replay_report_kind kind, const void *p, uint64_t n, unsigned what, const void *site)
{
	if (unlikely(shim_report != 0))
		tell_heap(kind, p, n, what | (site == shim_tell_back ? 0 : REPORT_BLOCK_INNER));
}

/*
 * ---- heaps other than fred's plain one: glibc's with --malloc system, or a sanitizer's, for what is allocated from
 * the recorder's start on; and the one with canaries, of --detect ----
 */

static enum rlog_malloc which;

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t m);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);

static struct {
	void *(*malloc)(size_t n);
	void *(*calloc)(size_t n, size_t m);
	void *(*realloc)(void *p, size_t n);
	void *(*memalign)(size_t align, size_t n);
	void (*free)(void *p);
} systems = {__libc_malloc, __libc_calloc, __libc_realloc, __libc_memalign, __libc_free};

static const struct link_map *library; /* whose functions `systems` are; NULL: libc's */
static int others; /* blocks that are not in fred's heap may be of `systems` */

/* An allocator in a library behind the recorder, which is not libc. In the program itself it would come first. */
static int is_allocator(const struct link_map *m)
{
	return m != _r_debug.r_map && m->l_ld != _DYNAMIC && dl_find_in(m, "malloc") && dl_find_in(m, "free") &&
	       dl_find_in(m, "calloc") && dl_find_in(m, "realloc") && dl_find_in(m, "memalign") &&
	       !dl_find_in(m, "__libc_start_main");
}

/*
 * 1: the heap is the library's: AddressSanitizer and LeakSanitizer find errors in it. Of others, the program may free
 * what it allocated by their own functions, or by operator new, which they define as well.
 */
static int use_library(void)
{
	const struct link_map *m = _r_debug.r_map;

	while (m && !is_allocator(m))
		m = m->l_next;
	if (!m)
		return 0;
	*(void **)&systems.malloc = dl_find_in(m, "malloc");
	*(void **)&systems.calloc = dl_find_in(m, "calloc");
	*(void **)&systems.realloc = dl_find_in(m, "realloc");
	*(void **)&systems.memalign = dl_find_in(m, "memalign");
	*(void **)&systems.free = dl_find_in(m, "free");
	library = m;
	others = 1;
	return dl_find_in(m, "__asan_init") || dl_find_in(m, "__lsan_init");
}

int heap_is_in(const struct link_map *m)
{
	return m == library;
}

void heap_use(enum rlog_malloc mode)
{
	which = use_library() ? RLOG_MALLOC_SYSTEM : mode;
	G.system_heap = which == RLOG_MALLOC_SYSTEM;
	others |= which == RLOG_MALLOC_SYSTEM;
	if (which == RLOG_MALLOC_DETECT)
		detect_begin(G.mode != SHIM_REPLAY);
}

#define SITE __builtin_return_address(0)

static inline int is_systems(const void *p)
{
	return unlikely(others) && !is_heap(p);
}

/* n bytes for a program that called from site. what: REPORT_BLOCK_... */
static inline __attribute__((always_inline)) void *take(size_t n, int *zero, unsigned what, const void *site)
{
	void *p = likely(!which) ? heap_take(n, zero) : detect_take(n, zero, site);

	tell_block(REPORT_ALLOC, p, n, what, site);
	return p;
}

EXPORT void *malloc(size_t n)
{
	int zero;

	if (unlikely(which == RLOG_MALLOC_SYSTEM))
		return systems.malloc(n);
	return take(n, &zero, 0, SITE);
}

/* The block of p, which the program frees; ends the program if glibc would. */
static inline __attribute__((always_inline)) struct block *to_free(void *p)
{
	struct block *b;

	check(p);
	b = (struct block *)p - 1;
	b = block_of(p, "free(): invalid pointer",
		     is_heap(b) && b->magic == MAGIC_FREE ? twice(p) : "free(): invalid pointer");
	if (unlikely(heap_block_size(b) > CACHED_MAX && heap_block_size(b) < HEAP_MAPPED_MIN &&
		     *word_after(b) != HEAP_WORD) &&
	    heap_glibc_word(*word_after(b)) != HEAP_WORD)
		check_next(heap_glibc_word(*word_after(b)), 0);
	return b;
}

/* For other heaps than the plain one. */
static __attribute__((noinline)) void free_other(void *p)
{
	enum detect_state state;

	if (is_systems(p)) {
		systems.free(p);
		return;
	}
	state = which == RLOG_MALLOC_DETECT ? detect_look(p) : DETECT_PLAIN;
	if (likely(state == DETECT_INTACT))
		detect_free(p);
	else if (state == DETECT_PLAIN)
		heap_put(to_free(p));
	else
		detect_keep(to_free(p));
}

EXPORT void free(void *p)
{
	if (!p)
		return;
	tell(REPORT_FREE, p, 0);
	if (unlikely(which || others))
		free_other(p);
	else
		heap_put(to_free(p));
}

EXPORT void *calloc(size_t n, size_t m)
{
	size_t total;
	void *p;
	int zero;

	if (unlikely(which == RLOG_MALLOC_SYSTEM))
		return systems.calloc(n, m);
	if (__builtin_mul_overflow(n, m, &total)) {
		errno = ENOMEM;
		return 0;
	}
	p = take(total, &zero, REPORT_BLOCK_ZERO, SITE);
	if (p && !zero)
		memset(p, 0, total);
	return p;
}

static size_t usable(void *p)
{
	struct block *b = block_of(p, "malloc(): invalid pointer", "malloc(): pointer already freed");
	size_t before = (size_t)((char *)p - (char *)(b + 1));

	/* canaries begin after what was asked for */
	return (which == RLOG_MALLOC_DETECT && b->size & ~HEAP_SIZE_MASK ? heap_block_size(b)
									 : heap_usable_of(heap_block_size(b))) -
	       before;
}

/* The same, up to the size to which the block could grow. */
static size_t room(void *p)
{
	struct block *b = block_of(p, "malloc(): invalid pointer", "malloc(): pointer already freed");

	return class_size(b->cls) - sizeof(uint64_t) - (size_t)((char *)p - (char *)(b + 1));
}

/* Can the block have n bytes where it is? *state: with --detect. */
static int resize_in_place(void *p, struct block *b, size_t n, enum detect_state *state)
{
	size_t have = room(p);

	*state = DETECT_PLAIN;
	if (which == RLOG_MALLOC_DETECT) {
		*state = detect_look(p);
		if (*state != DETECT_INTACT || !detect_fits(p, n))
			return 0;
	} else if (which) {
		return 0;
	}
	if (n > have || (n < have / 2 && have > 64))
		return 0;
	if (unlikely(which))
		detect_set(b, p, n, 0);
	else
		use_block(b, n + (size_t)((char *)p - (char *)(b + 1)));
	return 1;
}

static int is_zero(const char *p, size_t n)
{
	for (; n >= 8; p += 8, n -= 8)
		if (*(const uint64_t *)p)
			return 0;
	while (n && !*p)
		p++, n--;
	return !n;
}

/*
 * As memcpy. In large blocks, pages that the program has not touched stay untouched, as when glibc moves the mapping:
 * reading such a page takes no memory. zero: there are only zeros at q.
 */
static void copy_block(char *q, const char *p, size_t n, int zero)
{
	size_t part;

	if (n < SPARSE_MIN) {
		memcpy(q, p, n);
		return;
	}
	for (; n; q += part, p += part, n -= part) {
		part = PAGE - ((uintptr_t)q & (PAGE - 1));
		part = part < n ? part : n;
		if (!is_zero(p, part) || (!zero && !is_zero(q, part)))
			memcpy(q, p, part);
	}
}

static inline __attribute__((always_inline)) void *resize(void *p, size_t n, const void *site)
{
	enum detect_state state;
	struct block *b;
	size_t have;
	int zero;
	void *q;

	if (!p && which == RLOG_MALLOC_SYSTEM)
		return systems.malloc(n);
	if (!p)
		return take(n, &zero, 0, site);
	if (is_systems(p))
		return systems.realloc(p, n);
	if (!n) {
		free(p);
		return 0;
	}
	if (unlikely(shim_report != 0))
		tell_unusable(p);
	b = block_of(p, "realloc(): invalid pointer", "realloc(): invalid old size");
	if (unlikely(heap_block_size(b) < HEAP_MAPPED_MIN && *word_after(b) != HEAP_WORD &&
		     heap_glibc_word(*word_after(b)) >= 1u << 21))
		check_next(heap_glibc_word(*word_after(b)), "realloc(): invalid next size");
	if (resize_in_place(p, b, n, &state)) {
		tell_block(REPORT_RESIZE, p, n, 0, site);
		return p;
	}
	have = usable(p);
	zero = 0;
	q = which == RLOG_MALLOC_SYSTEM ? systems.malloc(n) : take(n, &zero, REPORT_BLOCK_MOVED, site);
	if (!q)
		return 0;
	copy_block(q, p, have < n ? have : n, zero);
	free(p);
	return q;
}

EXPORT void *realloc(void *p, size_t n)
{
	return resize(p, n, SITE);
}

EXPORT void *reallocarray(void *p, size_t n, size_t m)
{
	size_t total;

	if (__builtin_mul_overflow(n, m, &total)) {
		errno = ENOMEM;
		return 0;
	}
	return resize(p, total, SITE);
}

static __attribute__((noinline)) void *aligned(size_t align, size_t n, const void *site)
{
	struct block *h;
	uintptr_t q;
	char *p;
	int zero;

	if (unlikely(which == RLOG_MALLOC_SYSTEM))
		return systems.memalign(align, n);
	if (align <= 16)
		return take(n, &zero, 0, site);
	p = take(n + align, &zero, 0, site);
	if (!p)
		return 0;
	q = ((uintptr_t)p + align - 1) & ~(align - 1);
	if (unlikely(which)) {
		if (q != (uintptr_t)p)
			detect_set_aligned((struct block *)p - 1, (void *)q);
		detect_set((struct block *)p - 1, (void *)q, n, q == (uintptr_t)p ? 0 : align);
		if (q != (uintptr_t)p)
			tell(REPORT_ALIGN, p, q);
		tell(REPORT_RESIZE, (void *)q, n);
		return (void *)q;
	}
	if (q == (uintptr_t)p) {
		tell(REPORT_RESIZE, p, n);
		return p;
	}
	h = (struct block *)q - 1;
	h->magic = MAGIC_ALIGNED;
	h->size = q - (uintptr_t)p;
	tell(REPORT_ALIGN, p, q);
	tell(REPORT_RESIZE, (void *)q, n);
	return (void *)q;
}

EXPORT void *memalign(size_t align, size_t n)
{
	if (align & (align - 1)) {
		size_t up = 16;

		while (up < align)
			up *= 2;
		align = up;
	}
	return aligned(align, n, SITE);
}

EXPORT void *aligned_alloc(size_t align, size_t n)
{
	if (!align || (align & (align - 1))) {
		errno = EINVAL;
		return 0;
	}
	return aligned(align, n, SITE);
}

EXPORT int posix_memalign(void **out, size_t align, size_t n)
{
	int saved = errno;
	void *p;

	if (!align || (align & (align - 1)) || align % sizeof(void *))
		return EINVAL;
	p = aligned(align, n, SITE);
	errno = saved;
	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

EXPORT void *valloc(size_t n)
{
	return aligned(4096, n, SITE);
}

EXPORT void *pvalloc(size_t n)
{
	return aligned(4096, (n + 4095) & ~4095ul, SITE);
}

EXPORT size_t malloc_usable_size(void *p)
{
	size_t n;

	if (p && is_systems(p))
		return REAL(malloc_usable_size)(p);
	n = p ? usable(p) : 0;
	if (p)
		tell(REPORT_RESIZE, p, n);
	return n;
}
