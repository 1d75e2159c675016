/* SPDX-License-Identifier: MIT */
/* variants.c: see variants.h. */
#define LOG_DOMAIN "nav"
#include "replay/variants.h"

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"

static char *variants_path(const struct rec *rec)
{
	return path_join(rec->dir, "variants.json");
}

int variants_known(const struct rec *rec, const char *key)
{
	cleanup_free char *path = variants_path(rec);
	json_auto_t *j = NULL;
	struct err ignored;

	j = json_load_path(path, &ignored);
	return j ? (int)json_integer_value(json_object_get(j, key)) : 0;
}

void variants_note(const struct rec *rec, const char *key, unsigned value)
{
	cleanup_free char *path = variants_path(rec);
	json_auto_t *j = NULL;
	struct err ignored;

	if ((unsigned)variants_known(rec, key) == value)
		return;
	j = json_load_path(path, &ignored);
	if (!json_is_object(j)) {
		json_decref(j);
		j = json_object();
	}
	json_object_set_new(j, key, json_integer((json_int_t)value));
	if (json_write_path(path, j, 0600, &ignored))
		log_warn("%s", ignored.text);
}

int variants_of(const struct rec *rec, uint32_t process)
{
	cleanup_free char *key = str_fmt("%u", process);

	return variants_known(rec, key);
}

void variants_set(const struct rec *rec, uint32_t process, unsigned variant)
{
	cleanup_free char *key = str_fmt("%u", process);

	variants_note(rec, key, variant);
}

void variants_tell(struct op_ctx *ctx, const struct err *why)
{
	cleanup_free char *text = str_fmt("%s; trying other orders of the events that no lock orders",
					  why->kind ? why->text : "the replay diverged");

	op_note(ctx, text);
}
