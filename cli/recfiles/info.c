/* SPDX-License-Identifier: MIT */
/* info.c: see info.h. */
#include "recfiles/info.h"

#include <dirent.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/path.h"
#include "base/str.h"
#include "client/out.h"
#include "describe/counts.h"
#include "describe/traps.h"
#include "recfiles/shared_files.h"
#include "reclog/frames.h"
#include "reclog/sources.h"

/* The contents of REC/checkpoints/ID/ckpt.json, by ID. A checkpoint that is being made has no such file yet. */
static json_t *checkpoints(const char *rec)
{
	cleanup_free char *root = path_join(rec, "checkpoints");
	cleanup_closedir DIR *d = opendir(root);
	json_t *list = json_array();
	struct dirent *de;
	uint64_t id;

	while (d && (de = readdir(d))) {
		cleanup_free char *path = str_fmt("%s/%s/ckpt.json", root, de->d_name);
		size_t at = json_array_size(list);
		struct err ignored;
		json_auto_t *c = NULL;

		if (str_u64(de->d_name, 10, 1, INT64_MAX, &id) || !(c = json_load_path(path, &ignored)))
			continue;
		while (at && out_int(json_array_get(list, at - 1), "id") > (json_int_t)id)
			at--;
		json_array_insert_new(list, at,
				      json_pack("{s:I, s:I, s:I, s:I}", "id", (json_int_t)id, "process",
						out_int(c, "process"), "event", out_int(c, "event"), "bytes",
						out_int(c, "bytes")));
	}
	return list;
}

/* Bytes of the logs on the disk, parts of which are compressed. */
static unsigned long long log_disk_bytes(const struct rec *rec)
{
	unsigned long long sum = 0;

	for (unsigned i = 0; i < rec->nimages; i++)
		for (unsigned t = 0; t < rec->images[i].nthreads; t++) {
			cleanup_free char *log = rec_log_path(rec, rec->images[i].ordinal, rec->images[i].threads[t]);
			cleanup_free char *frames = frames_path(log);

			sum += path_disk_usage(log) + path_disk_usage(frames);
		}
	return sum;
}

/* The first events of processes whose older events were given up (--max-log). */
static json_t *make_starts(const struct rec *rec)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < rec->nimages; i++)
		if (rec->images[i].start)
			json_array_append_new(list, json_pack("{s:i, s:I}", "process", (int)rec->images[i].ordinal,
							      "event", (json_int_t)rec->images[i].start->event));
	return list;
}

/* The source files, and whether each is now as it was recorded. */
static json_t *make_sources(const struct rec *rec)
{
	static const char *const states[] = {
		[SOURCE_SAME] = "same", [SOURCE_CHANGED] = "changed", [SOURCE_GONE] = "gone"};
	json_t *list = json_array();
	struct sources s;

	sources_init(&s, rec);
	for (size_t i = 0; i < s.n; i++)
		json_array_append_new(list,
				      json_pack("{s:s, s:b, s:s, s:b}", "name", s.v[i].name, "kept", s.v[i].bytes != 0,
						"state", states[source_state(&s, &s.v[i])], "newer", s.v[i].newer));
	sources_fini(&s);
	return list;
}

json_t *info_json(const struct rec *rec, struct err *e)
{
	json_t *counts = counts_json(rec, e), *traps = counts ? traps_json(rec, e) : NULL;
	json_auto_t *starts = make_starts(rec);
	unsigned long long own, shared;
	json_t *info;

	if (!traps) {
		json_decref(counts);
		return NULL;
	}
	info = json_deep_copy(rec->meta);
	json_object_del(info, "manifest");
	json_object_del(info, "crc32c");
	json_object_set_new(info, "recording", json_text(rec->dir, strlen(rec->dir)));
	json_object_set_new(info, "name", json_text(path_base(rec->dir), strlen(path_base(rec->dir))));
	shared_files_usage(rec->dir, &own, &shared);
	json_object_set_new(info, "bytes", json_integer((json_int_t)own));
	json_object_set_new(info, "shared_bytes", json_integer((json_int_t)shared));
	json_object_set_new(info, "log_disk_bytes", json_integer((json_int_t)log_disk_bytes(rec)));
	if (json_object_get(info, "sources"))
		json_object_set_new(info, "sources", make_sources(rec));
	if (json_array_size(starts))
		json_object_set(info, "starts", starts);
	json_object_set_new(info, "counts", counts);
	json_object_set_new(info, "traps", traps);
	json_object_set_new(info, "checkpoints", checkpoints(rec->dir));
	return info;
}
