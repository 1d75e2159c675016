/* SPDX-License-Identifier: MIT */
/* disk.c: keeps the recordings of a hunt within --max-disk, and finds out whether the disk is full. */
#include <stdlib.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "hunt/good.h"
#include "hunt/groups.h"
#include "hunt/hunt_int.h"

#define MIN_FREE_BYTES (16ull << 20) /* as for `record` */

bool disk_is_full(const struct hunt *h)
{
	struct statvfs st;

	return !statvfs(h->state.dir, &st) && (unsigned long long)st.f_bavail * st.f_frsize < MIN_FREE_BYTES;
}

static void drop_recording(const struct failure *f)
{
	cleanup_free char *rec = path_join(f->dir, "rec"), *cwd = path_join(f->dir, "cwd");
	struct err ignored;

	rm_rf(rec, &ignored);
	rm_rf(cwd, &ignored);
}

void disk_prune(struct hunt *h, unsigned most)
{
	struct ledger *l = &h->ledger;

	for (size_t i = 0; i < l->nfailures; i++) {
		unsigned better = 0;

		if (!l->failures[i].cause)
			continue;
		for (size_t k = 0; k < l->nfailures; k++)
			better += k != i && groups_same(&l->failures[k], &l->failures[i]) &&
				  groups_better(&l->failures[k], &l->failures[i]);
		if (better >= most)
			drop_recording(&l->failures[i]);
	}
}

static unsigned long long kept_bytes(const struct hunt *h)
{
	cleanup_free char *failures = state_path(&h->state, "failures", NULL);

	return path_disk_usage(failures);
}

/* Ends the run with the largest recording if the limit is exceeded. */
static void end_largest(struct hunt *h, unsigned long long kept)
{
	unsigned long long sum = kept, most = 0;
	struct job *largest = NULL;

	for (unsigned i = 0; i < h->njobs; i++) {
		unsigned long long n;

		if (h->jobs[i].kind != JOB_RUN)
			continue;
		n = path_disk_usage(h->jobs[i].run.dir);
		sum += n;
		if (!largest || n > most) {
			largest = &h->jobs[i];
			most = n;
		}
	}
	if (largest && sum > h->spec->max_disk)
		run_end(&largest->run, "disk");
}

/* A recording is needed until its cause is known, since only then is its group known. */
static bool waits_for_causes(const struct hunt *h)
{
	for (size_t i = 0; i < h->ledger.nfailures && !h->spec->record_only; i++)
		if (!h->ledger.failures[i].cause)
			return true;
	return false;
}

void disk_enforce_limit(struct hunt *h)
{
	unsigned long long kept = kept_bytes(h), good = good_bytes(&h->state);
	struct err e;

	if (good && kept + good > h->spec->max_disk) {
		good_drop(&h->state);
		good = 0;
	}
	if (kept > h->spec->max_disk) {
		disk_prune(h, 1);
		kept = kept_bytes(h);
	}
	h->full = kept > h->spec->max_disk;
	if (waits_for_causes(h)) { /* most recordings are removed when their causes are known */
		end_largest(h, 0);
		return;
	}
	if (h->full) {
		err_set(&e, ERR_HOST,
			"%s: one recording for each group of failures takes more than --max-disk: --resume with a "
			"larger one",
			h->state.dir);
		hunt_fail(h, &e);
		return;
	}
	end_largest(h, kept + good);
}
