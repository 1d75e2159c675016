/* SPDX-License-Identifier: MIT */
/*
 * sys_walk.c: rare calls whose outputs are reached through pointers in their arguments: bpf, sysfs, tables of
 * netfilter, bridges.
 */
#include "record/core/memory.h"
#include "record/core/state.h"
#include "record/core/util.h"
#include "record/sys/sys.h"

#include <linux/bpf.h>
#include <netinet/in.h>
#include <string.h>

/* ---- bpf ---- */

#define ATTR_MAX 512u

/* Sizes in bytes. They are the first output in the record, since a replay has no map to ask. */
struct bpf_sizes {
	uint32_t attr; /* of the attributes; 0: they cannot be read, and the call fails */
	uint32_t key, value; /* of the map's */
	uint32_t text; /* what the verifier has written */
};

enum bpf_what {
	BPF_OUT_KEYS = 1, /* as many as the word at len says; 0: one */
	BPF_OUT_VALUES,
	BPF_OUT_BYTES, /* the number is in the word at len */
	BPF_OUT_WORDS,
	BPF_OUT_TEXT, /* of the verifier, also when it refuses; len: the room for it */
};

/* Where the attributes of a command (union bpf_attr) have pointers to its outputs. */
static const struct bpf_out {
	uint8_t cmd, what, at, len;
} bpf_outs[] = {
	{BPF_MAP_LOOKUP_ELEM, BPF_OUT_VALUES, 16, 0},
	{BPF_MAP_LOOKUP_AND_DELETE_ELEM, BPF_OUT_VALUES, 16, 0},
	{BPF_MAP_GET_NEXT_KEY, BPF_OUT_KEYS, 16, 0},
	{BPF_MAP_LOOKUP_BATCH, BPF_OUT_KEYS, 8, 0},
	{BPF_MAP_LOOKUP_BATCH, BPF_OUT_KEYS, 16, 32},
	{BPF_MAP_LOOKUP_BATCH, BPF_OUT_VALUES, 24, 32},
	{BPF_MAP_LOOKUP_AND_DELETE_BATCH, BPF_OUT_KEYS, 8, 0},
	{BPF_MAP_LOOKUP_AND_DELETE_BATCH, BPF_OUT_KEYS, 16, 32},
	{BPF_MAP_LOOKUP_AND_DELETE_BATCH, BPF_OUT_VALUES, 24, 32},
	{BPF_PROG_LOAD, BPF_OUT_TEXT, 32, 28},
	{BPF_BTF_LOAD, BPF_OUT_TEXT, 8, 20},
	{BPF_PROG_TEST_RUN, BPF_OUT_BYTES, 24, 12},
	{BPF_PROG_TEST_RUN, BPF_OUT_BYTES, 56, 44},
	{BPF_PROG_QUERY, BPF_OUT_WORDS, 16, 24},
	{BPF_OBJ_GET_INFO_BY_FD, BPF_OUT_BYTES, 8, 4},
};

static uint32_t word_at(const long *a, const struct bpf_sizes *s, unsigned at)
{
	return at + 4 <= s->attr ? *(const uint32_t *)(a[1] + at) : 0;
}

static void *pointer_at(const long *a, const struct bpf_sizes *s, unsigned at)
{
	return at + 8 <= s->attr ? *(void **)(a[1] + at) : NULL;
}

static uint64_t bpf_len(const struct bpf_out *o, const long *a, const struct bpf_sizes *s)
{
	uint64_t n = o->len ? word_at(a, s, o->len) : 1;

	switch (o->what) {
	case BPF_OUT_KEYS:
		return n * s->key;
	case BPF_OUT_VALUES:
		return n * s->value;
	case BPF_OUT_WORDS:
		return n * 4;
	case BPF_OUT_TEXT:
		return s->text;
	default:
		return n;
	}
}

static uint32_t text_len(const char *text, uint32_t room)
{
	uint32_t n = text ? (uint32_t)strnlen(text, room) : 0;

	return text && n < room ? n + 1 : n;
}

static void walk_bpf(struct outs *o, const long *a, long ret, void *arg)
{
	struct bpf_sizes *s = arg;
	const struct bpf_out *d, *end = bpf_outs + sizeof(bpf_outs) / sizeof(bpf_outs[0]);

	for (d = bpf_outs; o->mode == OUTS_COUNT && d < end; d++)
		if (d->cmd == a[0] && d->what == BPF_OUT_TEXT && ret != -14 /* EFAULT */)
			s->text = text_len(pointer_at(a, s, d->at), word_at(a, s, d->len));
	outs_add(o, s, sizeof(*s));
	outs_add(o, (void *)a[1], s->attr);
	for (d = bpf_outs; d < end; d++)
		if (d->cmd == a[0] && (ret >= 0 || d->what == BPF_OUT_TEXT))
			outs_add(o, pointer_at(a, s, d->at), bpf_len(d, a, s));
}

/* A map with a value for each processor returns all of them at once. */
static uint32_t processors(void)
{
	char buf[64];
	uint32_t last = 0;
	long n = read_head("/sys/devices/system/cpu/possible", buf, sizeof(buf));

	for (long i = 0; i < n; i++) {
		if (buf[i] >= '0' && buf[i] <= '9')
			last = last * 10 + (uint32_t)(buf[i] - '0');
		else if (buf[i] == '-' || buf[i] == ',')
			last = 0;
	}
	return last + 1;
}

static void map_sizes(uint32_t fd, struct bpf_sizes *s)
{
	struct bpf_map_info info = {0};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uint64_t)&info;
	if (raw3(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0)
		return;
	s->key = info.key_size;
	s->value = info.value_size;
	switch (info.type) {
	case BPF_MAP_TYPE_PERCPU_HASH:
	case BPF_MAP_TYPE_PERCPU_ARRAY:
	case BPF_MAP_TYPE_LRU_PERCPU_HASH:
	case BPF_MAP_TYPE_PERCPU_CGROUP_STORAGE:
		s->value = (s->value + 7) / 8 * 8 * processors();
	}
}

#define BATCH_MAP 36u /* where the attributes of a command for many elements have the map */

long sys_bpf(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	struct bpf_sizes s = {0};
	uint32_t n = (uint32_t)a[2], crc = 0;

	if (n && n <= ATTR_MAX && sys_readable((const void *)a[1], n)) {
		s.attr = n;
		crc = crc32c(0, (const void *)a[1], n);
	}
	for (unsigned i = 0; G.mode == SHIM_RECORD && i < sizeof(bpf_outs) / sizeof(bpf_outs[0]); i++)
		if (bpf_outs[i].cmd == a[0] && bpf_outs[i].what <= BPF_OUT_VALUES)
			map_sizes(word_at(a, &s, a[0] >= BPF_MAP_LOOKUP_BATCH ? BATCH_MAP : 0), &s);
	return sys_do_walk(t, SYS_bpf, a, 3, crc, walk_bpf, &s);
}

/* ---- sysfs ---- */

#define SYSFS_NAME 2 /* of a type of file systems, by its number */

static void walk_sysfs(struct outs *o, const long *a, long ret, void *arg)
{
	uint32_t *len = arg;

	if (a[0] != SYSFS_NAME || ret < 0)
		return;
	if (o->mode == OUTS_COUNT)
		*len = (uint32_t)strlen((const char *)a[2]) + 1;
	outs_add(o, len, sizeof(*len));
	outs_add(o, (void *)a[2], *len);
}

long sys_sysfs(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	long b[6] = {a[0], a[0] == 1 || a[0] == SYSFS_NAME ? a[1] : 0, a[0] == SYSFS_NAME ? a[2] : 0};
	uint32_t len = 0;

	return sys_do_walk(t, SYS_sysfs, b, 3, 0, walk_sysfs, &len);
}

/* ---- options of sockets ---- */

/* struct ipt_replace and ip6t_replace: the counters of the rules that are replaced, 16 bytes each, come back. */
#define SET_REPLACE 64
#define REPLACE_LEN 96u
#define COUNTERS 84u /* their number; after it where they go */

static void walk_counters(struct outs *o, const long *a, long ret, void *arg)
{
	(void)arg;
	if (ret >= 0)
		outs_add(o, *(void **)(a[3] + COUNTERS + 4), 16ull * *(const uint32_t *)(a[3] + COUNTERS));
}

long sys_setsockopt(struct thr *t, long nr, const long *a, ucontext_t *uc)
{
	static const struct sys_info plain = {CLASS_QUICK, 5, {{IO_BYTES, 3, 4, 0}}, {{0}}};
	uint32_t len = (uint32_t)a[4];

	if ((a[1] == SOL_IP || a[1] == SOL_IPV6) && a[2] == SET_REPLACE && len >= REPLACE_LEN &&
	    sys_readable((const void *)a[3], len))
		return sys_do_walk(t, SYS_setsockopt, a, 5, crc32c(0, (const void *)a[3], len), walk_counters, 0);
	return sys_do(t, &plain, SYS_setsockopt, a);
}

/* ---- bridges, as they were made before there were requests for them ---- */

#define GET_BRIDGES 1

/* a[2]: what is to be done, where the result goes, and how many numbers fit there. */
static void walk_bridges(struct outs *o, const long *a, long ret, void *arg)
{
	const uint64_t *args = arg;

	if (ret > 0 && args[0] == GET_BRIDGES)
		outs_add(o, (void *)args[1], (uint64_t)ret * 4);
	(void)a;
}

long sys_bridges(struct thr *t, const long *a)
{
	uint64_t args[3] = {0};
	uint32_t crc = 0;

	if (sys_readable((const void *)a[2], sizeof(args))) {
		memcpy(args, (const void *)a[2], sizeof(args));
		crc = crc32c(0, args, sizeof(args));
	}
	return sys_do_walk(t, SYS_ioctl, a, 3, crc, walk_bridges, args);
}
