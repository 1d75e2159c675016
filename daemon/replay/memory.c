/* SPDX-License-Identifier: MIT */
/* memory.c: see memory.h. The file: struct head, then for each position struct position_record, its threads, its pages.
 */
#include "replay/memory.h"

#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "base/maps.h"
#include "base/str.h"
#include "replay/vectors.h"
#include "trace/pagemap.h"

#define MAGIC 0x324d454d44455246ull /* "FREDMEM2" */
#define PAGE 4096ull
#define STACK_SLOT (1ull << 26) /* plugins/record/proc/thread.c */
#define ALT_STACK 65536ull
#define TRIES 100000

struct head {
	uint64_t magic;
	uint32_t version, variant, sched_crc, positions;
};

struct position_record {
	uint64_t event, nthreads, npages;
};

static const char *const reg_names[] = {"rbx", "rbp", "r12", "r13", "r14", "r15", "rsp", "rip"};
#define REGS (sizeof(reg_names) / sizeof(*reg_names))

struct thread {
	uint64_t ordinal;
	uint64_t reg[REGS];
	uint64_t vectors; /* vectors.h */
};

struct page {
	uint64_t addr, hash;
};

/* ---- threads ---- */

static int read_stand(const struct target *t, uint32_t thread, struct replay_stand *s, struct err *e)
{
	struct iovec to = {s, sizeof(*s)};
	struct iovec from = {(void *)(t->ctl->stand_addr + thread * t->ctl->stand_size), sizeof(*s)};

	if (!t->ctl->stand_addr || process_vm_readv(t->pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof(*s))
		return err_set(e, ERR_USAGE, "the recorder of this recording does not report where its threads are");
	return 0;
}

static int add_threads(struct buf *b, const struct target *t, uint64_t *count, struct err *e)
{
	struct replay_stand s;

	for (uint32_t i = 1; i < RLOG_MAX_THREADS; i++) {
		struct thread th = {.ordinal = i};

		if (!target_tid(t, i))
			continue;
		for (int tries = 0; tries < TRIES; tries++) {
			if (read_stand(t, i, &s, e))
				return -1;
			if (s.there)
				break;
			sched_yield(); /* it is on its way */
		}
		if (!s.there)
			return err_set(e, ERR_INTERNAL, "thread %u does not stand still", i);
		if (vectors_hash(t->pid, target_tid(t, i), &th.vectors, e))
			return -1;
		memcpy(th.reg, s.reg, sizeof(th.reg));
		buf_add(b, &th, sizeof(th));
		(*count)++;
	}
	return 0;
}

/* ---- memory ---- */

static bool is_stack(const struct mapping *m)
{
	return str_eq(m->path, "[stack]") || shim_is_stack(m->lo);
}

static bool is_ours(const struct mapping *m, uint64_t shim_end)
{
	return shim_owns(m->lo) || str_ends(m->path, "/" RLOG_SHIM_NAME) || (!*m->path && m->lo == shim_end) ||
	       (is_stack(m) && m->lo % STACK_SLOT == STACK_SLOT - ALT_STACK);
}

/* The lowest address in [m->lo, m->hi] that a thread may still read. */
static uint64_t live_from(const struct mapping *m, const struct thread *v, uint64_t n)
{
	uint64_t low = m->hi;

	if (!is_stack(m))
		return m->lo;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t sp = v[i].reg[6];

		if (sp >= m->lo && sp < low)
			low = sp;
	}
	return low;
}

static uint64_t hash_words(const uint64_t *p, size_t n)
{
	uint64_t h[4] = {1, 2, 3, 4};

	for (size_t i = 0; i < n; i++) {
		uint64_t *a = &h[i & 3];

		*a = (*a ^ p[i]) * 0x9e3779b97f4a7c15ull;
		*a ^= *a >> 29;
	}
	return h[0] ^ h[1] * 3 ^ h[2] * 5 ^ h[3] * 7;
}

static bool all_zero(const uint64_t *p, size_t n)
{
	uint64_t any = 0;

	for (size_t i = 0; i < n; i++)
		any |= p[i];
	return !any;
}

/* Is the page's content the process's own? Of pages that are only read from a file, the recording has a copy. */
static bool is_own(uint64_t entry, const struct mapping *m)
{
	bool there = entry >> 63 || (entry >> 62 & 1);

	return there && (m->shared || !(entry >> 61 & 1));
}

/* A range of memory, and what of it is not compared. */
struct comparable {
	int mem, pagemap;
	uint64_t live; /* compared from this address on ... */
	uint64_t hole, hole_end; /* ... except for this range */
};

/* Clears [from, to) in a page. */
static void clear(uint64_t *page, uint64_t addr, uint64_t from, uint64_t to)
{
	uint64_t a = from > addr ? from : addr, b = to < addr + PAGE ? to : addr + PAGE;

	if (a < b)
		memset((char *)page + (a - addr), 0, b - a);
}

/* Memory that is not present and memory with zeros look the same to the program. */
static void add_page(struct buf *b, const struct comparable *l, const struct mapping *m, uint64_t addr, uint64_t *count)
{
	uint64_t page[PAGE / 8];

	if (pread_full(l->mem, page, PAGE, (off_t)addr) != (ssize_t)PAGE)
		return; /* after the end of its file */
	clear(page, addr, 0, l->live);
	clear(page, addr, l->hole, l->hole_end);
	if (!m->inode && all_zero(page, PAGE / 8))
		return;
	buf_add(b, &(struct page){addr, hash_words(page, PAGE / 8)}, sizeof(struct page));
	(*count)++;
}

static int add_map(struct buf *b, const struct comparable *l, const struct mapping *m, uint64_t *count, struct err *e)
{
	uint64_t entry[512];

	for (uint64_t at = l->live & ~(PAGE - 1); at < m->hi;) {
		uint64_t n = (m->hi - at) / PAGE;
		bool used = false;

		if (n > 512)
			n = 512;
		if (pread_full(l->pagemap, entry, n * 8, (off_t)(at / PAGE * 8)) != (ssize_t)(n * 8))
			return err_errno(e, ERR_INTERNAL, "/proc/PID/pagemap");
		for (uint64_t i = 0; i < n; i++, at += PAGE) {
			used |= entry[i] != 0;
			if (is_own(entry[i], m))
				add_page(b, l, m, at, count);
		}
		if (!used && at < m->hi)
			at = pagemap_next_used(l->pagemap, at, m->hi);
	}
	return 0;
}

struct proc_files {
	struct maps maps;
	int mem, pagemap;
};

static int open_proc(struct proc_files *f, pid_t pid, struct err *e)
{
	cleanup_free char *mem = str_fmt("/proc/%d/mem", pid), *pagemap = str_fmt("/proc/%d/pagemap", pid);

	if (maps_open(&f->maps, pid, e))
		return -1;
	f->mem = open(mem, O_RDONLY | O_CLOEXEC);
	f->pagemap = open(pagemap, O_RDONLY | O_CLOEXEC);
	return f->mem >= 0 && f->pagemap >= 0 ? 0 : err_errno(e, ERR_INTERNAL, "/proc/%d", pid);
}

static void close_proc(struct proc_files *f)
{
	maps_close(&f->maps);
	if (f->mem >= 0)
		close(f->mem);
	if (f->pagemap >= 0)
		close(f->pagemap);
}

/* The .bss of the object that is mapped at base. */
static void find_bss(struct comparable *l, uint64_t base)
{
	Elf64_Ehdr eh;
	Elf64_Phdr ph;

	if (pread_full(l->mem, &eh, sizeof(eh), (off_t)base) != sizeof(eh))
		return;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (pread_full(l->mem, &ph, sizeof(ph), (off_t)(base + eh.e_phoff + i * sizeof(ph))) != sizeof(ph))
			return;
		if (ph.p_type != PT_LOAD || ph.p_memsz == ph.p_filesz)
			continue;
		l->hole = base + ph.p_vaddr + ph.p_filesz;
		l->hole_end = base + ph.p_vaddr + ph.p_memsz;
	}
}

static int add_memory(struct buf *b, const struct target *t, const struct thread *v, uint64_t n, uint64_t *count,
		      struct err *e)
{
	struct proc_files f = {.mem = -1, .pagemap = -1};
	uint64_t shim_end = 0;
	struct mapping m;
	int ret = open_proc(&f, t->pid, e);
	struct comparable l = {.mem = f.mem, .pagemap = f.pagemap};

	while (!ret && maps_next(&f.maps, &m)) {
		if (str_ends(m.path, "/" RLOG_SHIM_NAME))
			shim_end = m.hi;
		if (!l.hole && str_ends(m.path, "/ld-linux-x86-64.so.2"))
			find_bss(&l, m.lo);
		l.live = live_from(&m, v, n);
		if (m.write && !is_ours(&m, shim_end))
			ret = add_map(b, &l, &m, count, e);
	}
	close_proc(&f);
	return ret;
}

/* ---- what differs ---- */

/* "in the heap of thread 2": what lies at an address. */
static char *name_of(const struct target *t, uint64_t addr)
{
	struct mapping m;

	if (addr >= SHIM_STACK_ADDR && addr < SHIM_STACK_ADDR + RLOG_MAX_THREADS * STACK_SLOT)
		return str_fmt("the stack of thread %llu", (unsigned long long)((addr - SHIM_STACK_ADDR) / STACK_SLOT));
	if (addr >= SHIM_HEAP_MAIN_ADDR && addr < SHIM_HEAP_ADDR)
		return xstrdup("the heap of thread 1");
	if (addr >= SHIM_HEAP_ADDR && addr < SHIM_HEAP_ADDR + ((uint64_t)RLOG_MAX_THREADS << 32))
		return str_fmt("the heap of thread %llu", (unsigned long long)((addr - SHIM_HEAP_ADDR) >> 32));
	if (!maps_find(t->pid, addr, &m))
		return xstrdup("memory that is no longer mapped");
	return xstrdup(m.path[0] ? m.path : "memory without a name");
}

static int differs(struct err *e, uint64_t event, const char *what)
{
	err_set(e, ERR_NOT_FOUND, "at event %llu %s an earlier replay", (unsigned long long)event, what);
	return 1;
}

static int compare_threads(const struct position_record *p, const struct thread *a, const struct position_record *q,
			   const struct thread *b, struct err *e)
{
	char what[200];

	for (uint64_t i = 0; i < p->nthreads && i < q->nthreads; i++) {
		if (a[i].ordinal != b[i].ordinal)
			break;
		for (unsigned r = 0; r < REGS; r++) {
			if (a[i].reg[r] == b[i].reg[r])
				continue;
			snprintf(what, sizeof(what), "%s of thread %llu is 0x%llx, and was 0x%llx in", reg_names[r],
				 (unsigned long long)a[i].ordinal, (unsigned long long)a[i].reg[r],
				 (unsigned long long)b[i].reg[r]);
			return differs(e, p->event, what);
		}
		if (a[i].vectors == b[i].vectors)
			continue;
		snprintf(what, sizeof(what), "the vector registers of thread %llu differ from those of",
			 (unsigned long long)a[i].ordinal);
		return differs(e, p->event, what);
	}
	return p->nthreads == q->nthreads ? 0 : differs(e, p->event, "there are other threads than in");
}

static int compare_pages(const struct target *t, const struct position_record *p, const struct page *a,
			 const struct position_record *q, const struct page *b, struct err *e)
{
	cleanup_free char *name = NULL, *what = NULL;
	uint64_t i = 0, addr;

	while (i < p->npages && i < q->npages && a[i].addr == b[i].addr && a[i].hash == b[i].hash)
		i++;
	if (i == p->npages && i == q->npages)
		return 0;
	addr = i == p->npages ? b[i].addr : i == q->npages || a[i].addr < b[i].addr ? a[i].addr : b[i].addr;
	name = name_of(t, addr);
	what = str_fmt("the page at 0x%llx (%s) differs from that of", (unsigned long long)addr, name);
	return differs(e, p->event, what);
}

static size_t record_size(const struct position_record *p)
{
	return sizeof(*p) + p->nthreads * sizeof(struct thread) + p->npages * sizeof(struct page);
}

/* The record at this offset of what an earlier replay wrote; NULL if the file is cut short. */
static const struct position_record *record_at(const struct buf *b, size_t at)
{
	const struct position_record *p = (const void *)(b->data + at);

	if (at + sizeof(*p) > b->len || p->nthreads > RLOG_MAX_THREADS || p->npages > b->len / sizeof(struct page) ||
	    at + record_size(p) > b->len)
		return NULL;
	return p;
}

static int compare(struct memory_check *m, const struct target *t, const struct position_record *p, struct err *e)
{
	const struct position_record *q = record_at(&m->before, m->at);
	const struct thread *a = (const void *)(p + 1), *b = (const void *)(q + 1);
	int r;

	if (!q || q->event != p->event)
		return err_set(e, ERR_USAGE, "%s is damaged: remove it to start again", m->path);
	r = compare_threads(p, a, q, b, e);
	if (!r)
		r = compare_pages(t, p, (const void *)(a + p->nthreads), q, (const void *)(b + q->nthreads), e);
	m->at += record_size(q);
	return r;
}

/* ---- the whole ---- */

uint64_t memory_position(const struct target *t, unsigned i)
{
	uint64_t prefix = timeline_prefix(t->tl), own = target_total(t) - prefix;

	return prefix + own / MEMORY_POSITIONS * i + own % MEMORY_POSITIONS * i / MEMORY_POSITIONS;
}

void memory_begin(struct memory_check *m, const struct target *t)
{
	struct head head = {MAGIC, RLOG_VERSION, t->variant, t->sched_crc, MEMORY_POSITIONS};
	struct err ignored;

	memory_fini(m);
	m->path = str_fmt("%s/memory.%04u", t->rec->dir, t->process);
	buf_add(&m->now, &head, sizeof(head));
	m->compares = !access(m->path, F_OK) && !read_file(m->path, &m->before, &ignored) &&
		      m->before.len >= sizeof(head) && !memcmp(m->before.data, &head, sizeof(head));
	m->at = sizeof(head);
}

int memory_look(struct memory_check *m, struct target *t, struct err *e)
{
	cleanup_buf struct buf threads = {0}, pages = {0};
	struct position_record p = {.event = t->ctl->turn};
	size_t at = m->now.len;

	if (add_threads(&threads, t, &p.nthreads, e) ||
	    add_memory(&pages, t, (const void *)threads.data, p.nthreads, &p.npages, e))
		return -1;
	buf_add(&m->now, &p, sizeof(p));
	buf_add(&m->now, threads.data, threads.len);
	buf_add(&m->now, pages.data, pages.len);
	m->positions++;
	return m->compares ? compare(m, t, (const void *)(m->now.data + at), e) : 0;
}

int memory_end(struct memory_check *m, struct err *e)
{
	return m->compares ? 0 : write_file_atomic(m->path, m->now.data, m->now.len, 0600, e);
}

void memory_fini(struct memory_check *m)
{
	free(m->path);
	buf_fini(&m->now);
	buf_fini(&m->before);
	memset(m, 0, sizeof(*m));
}
