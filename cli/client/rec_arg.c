/* SPDX-License-Identifier: MIT */
/* rec_arg.c: see rec_arg.h. */
#include "client/rec_arg.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/jsonx.h"
#include "client/out.h"
#include "client/paths.h"
#include "reclog/procs.h"

char *rec_arg(const struct cli *cli, size_t rest, size_t most, size_t *first, struct err *e)
{
	const struct strv *a = &cli->args;
	bool named = a->n > most || (a->n > rest && paths_is_recording(a->s[0]));

	*first = named;
	return paths_recording(named ? a->s[0] : NULL, e);
}

struct rec *rec_arg_open(const struct cli *cli, struct err *e)
{
	size_t first;
	cleanup_free char *dir = rec_arg(cli, 0, 0, &first, e), *incomplete = NULL;
	struct rec *rec;

	if (!dir || rec_open(dir, &rec, e))
		return NULL;
	incomplete = rec_incomplete_text(rec);
	if (incomplete)
		out_note(cli, "%s", incomplete);
	if (!rec_verify_manifest(rec, e))
		return rec;
	rec_free(rec);
	return NULL;
}

json_t *rec_arg_pair(const struct cli *cli, struct err *e)
{
	cleanup_free char *good = paths_recording(cli->args.s[0], e),
			  *bad = good ? paths_recording(cli->args.s[1], e) : NULL;

	return bad ? json_pack("{s:o, s:o}", "good", json_text(good, strlen(good)), "bad", json_text(bad, strlen(bad)))
		   : NULL;
}

json_t *rec_arg_params(const struct cli *cli, size_t rest, size_t most, size_t *first, struct err *e)
{
	cleanup_free char *rec = rec_arg(cli, rest, most, first, e);

	return rec ? json_pack("{s:o}", "rec", json_text(rec, strlen(rec))) : NULL;
}

void rec_arg_option(json_t *params, const struct cli *cli, const char *option, const char *key)
{
	const char *v = cli_value(cli, option);

	if (v)
		json_object_set_new(params, key, json_text(v, strlen(v)));
}

json_t *rec_arg_depth_params(const struct cli *cli, size_t rest, size_t most, size_t *first, struct err *e)
{
	const char *depth = cli_value(cli, "depth");
	json_t *params;
	uint64_t n;

	if (depth && str_u64(depth, 10, 1, 1000, &n)) {
		err_set(e, ERR_USAGE, "--depth: '%s' is not a number from 1 to 1000", depth);
		return NULL;
	}
	params = rec_arg_params(cli, rest, most, first, e);
	if (params && depth)
		json_object_set_new(params, "depth", json_integer((json_int_t)n));
	return params;
}

void rec_arg_flag(json_t *params, const struct cli *cli, const char *option)
{
	if (cli_has(cli, option))
		json_object_set_new(params, option, json_true());
}

static int find_process(json_t *params, const char *v, struct err *e)
{
	struct rec *rec;
	uint32_t n;

	if (rec_open(json_string_value(json_object_get(params, "rec")), &rec, e))
		return -1;
	n = procs_find(rec, v, e);
	rec_free(rec);
	json_object_set_new(params, "process", json_integer((json_int_t)n));
	return n ? 0 : -1;
}

json_t *rec_arg_add_process(json_t *params, const struct cli *cli, struct err *e)
{
	const char *v = cli_value(cli, "process");

	if (!params || !v || !find_process(params, v, e))
		return params;
	json_decref(params);
	return NULL;
}

json_t *rec_arg_add_at(json_t *params, const struct cli *cli, struct err *e)
{
	if (params)
		rec_arg_option(params, cli, "at", "at");
	return rec_arg_add_process(params, cli, e);
}

json_t *rec_arg_at_params(const struct cli *cli, struct err *e)
{
	size_t first;

	return rec_arg_add_at(rec_arg_params(cli, 0, 0, &first, e), cli, e);
}

json_t *rec_arg_pid_params(const struct cli *cli, struct err *e)
{
	const char *pid = cli_value(cli, "pid");
	cleanup_free char *rec = paths_recording_of_process(pid, e);
	json_t *params = rec ? json_pack("{s:o, s:s}", "rec", json_text(rec, strlen(rec)), "at", "end") : NULL;

	if (params)
		rec_arg_option(params, cli, "at", "at");
	if (!params || !find_process(params, pid, e))
		return params;
	json_decref(params);
	return NULL;
}
