/* SPDX-License-Identifier: MIT */
/* collect.c: see collect.h. */
#include "hunt/collect.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/home.h"
#include "base/path.h"
#include "hunt/groups.h"
#include "hunt/ledger.h"
#include "hunt/state.h"

#define MOST_NEW 100000u

char *collect_new(const char *program, struct err *e)
{
	cleanup_free char *hunts = home_subdir("hunts", e);

	for (unsigned n = 1; hunts && n < MOST_NEW; n++) {
		cleanup_free char *dir = str_fmt("%s/%s-%u", hunts, program, n);

		if (!mkdir(dir, 0700))
			return steal_ptr(&dir);
		if (errno != EEXIST) {
			err_errno(e, ERR_HOST, "%s", dir);
			return NULL;
		}
	}
	if (hunts)
		err_set(e, ERR_HOST, "%s: too many hunts of %s", hunts, program);
	return NULL;
}

/* The names of the hunts in a folder, in order. */
static void hunts_in(const char *dir, struct strv *out)
{
	cleanup_closedir DIR *d = opendir(dir);
	cleanup_strv struct strv names = {0};
	struct dirent *de;

	while (d && (de = readdir(d)))
		if (de->d_name[0] != '.')
			strv_add(&names, de->d_name);
	strv_sort(&names);
	for (size_t i = 0; i < names.n; i++) {
		cleanup_free char *path = path_join(dir, names.s[i]);

		if (state_exists(path))
			strv_add(out, path);
		else if (path_is_dir(path) && !str_eq(names.s[i], "failures"))
			hunts_in(path, out);
	}
}

char *collect_latest(struct err *e)
{
	cleanup_free char *hunts = home_subdir("hunts", e);
	cleanup_strv struct strv all = {0};
	struct timespec latest = {0};
	char *best = NULL;

	if (!hunts)
		return NULL;
	hunts_in(hunts, &all);
	for (size_t i = 0; i < all.n; i++) {
		cleanup_free char *tasks = path_join(all.s[i], "tasks"); /* each start makes a file there */
		struct stat st;

		if (stat(tasks, &st) || st.st_mtim.tv_sec < latest.tv_sec ||
		    (st.st_mtim.tv_sec == latest.tv_sec && st.st_mtim.tv_nsec < latest.tv_nsec))
			continue;
		latest = st.st_mtim;
		free(best);
		best = xstrdup(all.s[i]);
	}
	if (!best)
		err_set(e, ERR_USAGE, "%s: there is no hunt to resume", hunts);
	return best;
}

bool collect_same(const json_t *a, const json_t *b, const char *option)
{
	static const char *const keys[][2] = {{"invariant", "invariants"},
					      {"watch-always", "watch_always"},
					      {"fail-if", "fail_if"},
					      {"isolate", "isolate"},
					      {"shard", "shard"}};

	for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (str_eq(option, keys[i][0]))
			return json_equal(json_object_get(a, keys[i][1]), json_object_get(b, keys[i][1]));
	return true;
}

/* ---- collect ---- */

struct part {
	struct hunt_state state;
	struct hunt_spec spec;
	struct ledger ledger;
	bool has_ledger;
};

static int open_part(struct part *p, const char *dir, struct err *e)
{
	json_auto_t *spec = NULL;

	if (state_open(&p->state, dir, &spec, e) || hunt_spec_from_json(&p->spec, spec, e))
		return err_wrap(e, "%s", dir);
	ledger_init(&p->ledger, &p->state, &p->spec);
	p->has_ledger = true;
	return ledger_read(&p->ledger, e);
}

static int same_program(const struct part *a, const struct part *b, struct err *e)
{
	cleanup_free char *x = hunt_command_text(&a->spec.argv), *y = hunt_command_text(&b->spec.argv);

	return str_eq(x, y)
		       ? 0
		       : err_set(e, ERR_USAGE, "--collect: the hunts are of different programs: %s of %s, %s of %s",
				 a->state.dir, x, b->state.dir, y);
}

static json_t *report(struct part *parts, size_t n, const struct strv *dirs, struct err *e)
{
	cleanup_free const struct ledger **l = xcalloc(n, sizeof(*l));
	cleanup_free char *all = NULL;
	struct groups_facts facts = {.why = HUNT_ALL_RUNS};

	for (size_t i = 0; i < n; i++) {
		if (open_part(&parts[i], dirs->s[i], e) || same_program(&parts[0], &parts[i], e))
			return NULL;
		l[i] = &parts[i].ledger;
	}
	all = strv_join(dirs, " ");
	facts.spec = &parts[0].spec;
	facts.dir = all;
	return groups_report(l, (unsigned)n, &facts);
}

json_t *collect(const struct strv *dirs, struct err *e)
{
	cleanup_strv struct strv all = {0};
	struct part *parts;
	json_t *v;

	for (size_t i = 0; i < dirs->n; i++) {
		size_t before = all.n;

		if (state_exists(dirs->s[i]))
			strv_add(&all, dirs->s[i]);
		else
			hunts_in(dirs->s[i], &all);
		if (all.n == before) {
			err_set(e, ERR_USAGE, "--collect: there is no hunt in %s", dirs->s[i]);
			return NULL;
		}
	}
	parts = xcalloc(all.n, sizeof(*parts));
	v = report(parts, all.n, &all, e);
	for (size_t i = 0; i < all.n; i++) {
		if (parts[i].has_ledger)
			ledger_fini(&parts[i].ledger);
		if (parts[i].state.dir)
			state_fini(&parts[i].state);
		hunt_spec_fini(&parts[i].spec);
	}
	free(parts);
	return v;
}
