/* SPDX-License-Identifier: MIT */
/*
 * store.h: the checkpoints of one recording on disk.
 *
 *   ROOT/N/            checkpoint N (from 1)
 *   ROOT/N/ckpt.json   what it is; written last
 *   ROOT/N/images/     CRIU's images
 *   ROOT/N/files/I     copies of the shared files (control page ...), put back before a restore
 *   ROOT/tmp.*         one that is being made or removed; its flock says that its maker lives
 *
 * A checkpoint appears by one rename, so a kill -9 at any moment leaves either all of it or a
 * tmp.* folder that the next ckpt_store_gc removes. Checkpoints are a cache: one whose image is
 * damaged, or was made by another kernel or processor, is dropped. Several processes may use one
 * store at a time.
 */
#ifndef FRED_CKPT_STORE_H
#define FRED_CKPT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ckpt/ckpt.h"

struct ckpt_store;

struct ckpt_meta {
	uint64_t id; /* 0: not stored yet */
	uint64_t event; /* position: events 1..event have taken effect */
	uint32_t process; /* ordinal of the image whose timeline it is on */
	uint32_t variant; /* of the schedule (reclog/timeline.h); "rung" in its meta.json */
	uint32_t sched_crc; /* CRC32C of the timeline it was made with */
	bool keep; /* asked for by the user: never thinned out */
	uint64_t created; /* seconds since the epoch */
	uint64_t bytes; /* of all its files */
	double cost_s; /* what the dump took */
};

struct ckpt_list {
	struct ckpt_meta *v; /* by process, then event, then id */
	size_t n;
};

/* Opens the store in this folder; made (0700) if it does not exist. */
int ckpt_store_open(const char *root, struct ckpt_store **out, struct err *e);
void ckpt_store_free(struct ckpt_store *s);

/* All complete checkpoints that this host can use. Free with ckpt_list_fini. */
int ckpt_store_list(const struct ckpt_store *s, struct ckpt_list *out, struct err *e);
void ckpt_list_fini(struct ckpt_list *l);
/* ERR_USAGE when there is none of this id. */
int ckpt_store_get(const struct ckpt_store *s, uint64_t id, struct ckpt_meta *out, struct err *e);
/*
 * The checkpoint with the greatest event <= like->event, on like's timeline (process, variant,
 * sched_crc). Returns 1 and *out, 0 when there is none, -1 on error.
 */
int ckpt_store_nearest(const struct ckpt_store *s, const struct ckpt_meta *like, struct ckpt_meta *out, struct err *e);
/* The owner of a checkpoint has changed its image: notes the new size. */
int ckpt_store_note_size(const struct ckpt_store *s, uint64_t id, struct err *e);
/*
 * Removes a checkpoint. 1: it stays, since a process is restoring it. -1: it does not exist (ERR_USAGE), or an I/O
 * error.
 */
int ckpt_store_remove(const struct ckpt_store *s, uint64_t id, struct err *e);

struct ckpt_limits {
	size_t max_count; /* 0: no bound */
	uint64_t max_bytes; /* 0: no bound */
	uint64_t total; /* events of the timeline, 0: unknown */
};
struct ckpt_gc_result {
	size_t leftovers; /* of dead processes */
	size_t damaged; /* incomplete, or not of this host */
	size_t thinned;
};
/*
 * Removes leftovers and damaged checkpoints, then thins (ckpt/policy.h). limits and result may be
 * NULL.
 */
int ckpt_store_gc(const struct ckpt_store *s, const struct ckpt_limits *limits, struct ckpt_gc_result *result,
		  struct err *e);

/*
 * Dumps process pid (ckpt_dump) with copies of these files (NULL-terminated absolute paths; what
 * changes during a replay, not what can be made again). m: event, process, variant, sched_crc and
 * keep are the caller's; the rest is filled in.
 */
int ckpt_store_add(const struct ckpt_store *s, const struct ckpt_env *env, pid_t pid, const char *const *files,
		   struct ckpt_meta *m, struct err *e);
/*
 * Writes m's files back to their places (in place: a mapping of them stays valid) and restores its
 * process. ERR_NOT_FOUND when m is gone or is not the same checkpoint any more.
 */
int ckpt_store_restore(const struct ckpt_store *s, const struct ckpt_env *env, const struct ckpt_meta *m, pid_t *pid,
		       struct err *e);

/* ckpt_store_add in steps, for an image that needs another way of dumping. */
struct ckpt_add {
	const struct ckpt_store *store;
	char *dir; /* the folder that is being made */
	char *images; /* dir/images, made: for ckpt_dump */
	int lock;
	struct json_t *files;
};
int ckpt_add_begin(const struct ckpt_store *s, struct ckpt_add *a, struct err *e);
int ckpt_add_file(struct ckpt_add *a, const char *path, struct err *e);
/* Publishes it; m->id, created and bytes are set. On failure call ckpt_add_abort. */
int ckpt_add_commit(struct ckpt_add *a, struct ckpt_meta *m, struct err *e);
/* Removes what was made. Fine after a commit, and on a zeroed struct. */
void ckpt_add_abort(struct ckpt_add *a);

#endif
