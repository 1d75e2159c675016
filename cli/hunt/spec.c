/* SPDX-License-Identifier: MIT */
/* spec.c: see spec.h. */
#include "hunt/spec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/jsonx.h"

static const char *const class_names[HUNT_CLASSES] = {"parallel", "serial", "chaos"};

void hunt_spec_fini(struct hunt_spec *s)
{
	strv_fini(&s->argv);
	strv_fini(&s->invariants);
	free(s->cwd);
	free(s->fail_if);
	*s = (struct hunt_spec){0};
}

const char *hunt_class_name(enum hunt_class c)
{
	return class_names[c];
}

char *hunt_sched_text(enum hunt_class c, uint64_t seed)
{
	return c == HUNT_CHAOS ? str_fmt("chaos:%llu", (unsigned long long)seed) : xstrdup(class_names[c]);
}

static int one_sched(const char *word, unsigned *scheds, uint64_t *seed, struct err *e)
{
	for (unsigned c = 0; c < HUNT_CLASSES; c++)
		if (str_eq(word, class_names[c])) {
			*scheds |= 1u << c;
			return 0;
		}
	if (!str_starts(word, "chaos:") || str_u64(word + 6, 10, 0, UINT32_MAX, seed))
		return err_set(e, ERR_USAGE, "--sched: '%s' is none of parallel, serial, chaos, chaos:SEED", word);
	*scheds |= 1u << HUNT_CHAOS;
	return 0;
}

int hunt_parse_scheds(const char *text, unsigned *scheds, uint64_t *seed, struct err *e)
{
	cleanup_strv struct strv words = {0};

	*scheds = 0;
	strv_split(&words, text, ",");
	for (size_t i = 0; i < words.n; i++)
		if (one_sched(words.s[i], scheds, seed, e))
			return -1;
	return *scheds ? 0 : err_set(e, ERR_USAGE, "--sched: the list is empty");
}

/* ---- hunt.json ---- */

static json_t *strings(const struct strv *v)
{
	json_t *list = json_array();

	for (size_t i = 0; i < v->n; i++)
		json_array_append_new(list, json_text(v->s[i], strlen(v->s[i])));
	return list;
}

static int get_strings(const json_t *o, const char *key, struct strv *v, struct err *e)
{
	json_t *list, *item;
	size_t i;

	if (json_get_arr(o, key, &list, e))
		return -1;
	strv_fini(v);
	*v = (struct strv){0};
	json_array_foreach(list, i, item)
	{
		if (!json_is_string(item))
			return err_set(e, ERR_USAGE, "%s: not a list of strings", key);
		strv_add(v, json_string_value(item));
	}
	return 0;
}

json_t *hunt_spec_json(const struct hunt_spec *s)
{
	json_t *scheds = json_array();

	for (unsigned c = 0; c < HUNT_CLASSES; c++)
		if (s->scheds & 1u << c)
			json_array_append_new(scheds, json_string(class_names[c]));
	return json_pack("{s:i, s:o, s:o, s:o, s:b, s:o, s:o, s:I, s:I, s:I, s:b, s:f, s:I, s:b, s:f}", "format", 1,
			 "argv", strings(&s->argv), "cwd", json_text(s->cwd, strlen(s->cwd)), "invariants",
			 strings(&s->invariants), "watch_always", s->watch_always, "fail_if",
			 s->fail_if ? json_text(s->fail_if, strlen(s->fail_if)) : json_null(), "scheds", scheds, "seed",
			 (json_int_t)s->seed, "shard", (json_int_t)s->shard, "shards", (json_int_t)s->shards, "isolate",
			 s->isolate, "timeout_s", s->timeout_s, "runs", (json_int_t)s->runs, "until_failure",
			 s->until_failure, "budget_s", s->budget_s);
}

static int get_scheds(struct hunt_spec *s, const json_t *v, struct err *e)
{
	cleanup_strv struct strv words = {0};
	cleanup_free char *text = NULL;
	uint64_t ignored;

	if (get_strings(v, "scheds", &words, e))
		return -1;
	text = strv_join(&words, ",");
	return hunt_parse_scheds(text, &s->scheds, &ignored, e);
}

int hunt_spec_from_json(struct hunt_spec *s, const json_t *v, struct err *e)
{
	const char *cwd, *fail_if = NULL;
	int64_t format;

	if (json_get_i64(v, "format", &format, e))
		return -1;
	if (format != 1)
		return err_set(e, ERR_USAGE, "its format is %lld; this fredctl knows 1", (long long)format);
	if (get_strings(v, "argv", &s->argv, e) || get_strings(v, "invariants", &s->invariants, e) ||
	    json_get_str(v, "cwd", &cwd, e) || json_opt_str(v, "fail_if", &fail_if, e) ||
	    json_get_bool(v, "watch_always", &s->watch_always, e) || json_get_u64(v, "seed", &s->seed, e) ||
	    json_get_u64(v, "shard", &s->shard, e) || json_get_u64(v, "shards", &s->shards, e) ||
	    json_get_bool(v, "isolate", &s->isolate, e) || json_get_real(v, "timeout_s", &s->timeout_s, e) ||
	    json_get_u64(v, "runs", &s->runs, e) || json_get_bool(v, "until_failure", &s->until_failure, e) ||
	    json_opt_real(v, "budget_s", &s->budget_s, e) || get_scheds(s, v, e))
		return -1;
	if (!s->argv.n || !s->shards || s->shard >= s->shards)
		return err_set(e, ERR_USAGE, "it does not name a program or a shard");
	free(s->cwd);
	free(s->fail_if);
	s->cwd = xstrdup(cwd);
	s->fail_if = fail_if ? xstrdup(fail_if) : NULL;
	return 0;
}

/* ---- words of the command line ---- */

static double unit_seconds(const char *p, size_t *len)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"ms", 0.001}, {"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}};

	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str_starts(p, units[i].name)) {
			*len = strlen(units[i].name);
			return units[i].seconds;
		}
	*len = 0;
	return *p ? NAN : 1;
}

int hunt_parse_duration(const char *text, double *seconds, struct err *e)
{
	const char *p = text;
	double sum = 0;

	do {
		char *end;
		size_t len;
		double v = *p >= '0' && *p <= '9' ? strtod(p, &end) : NAN;

		if (isnan(v))
			return err_set(e, ERR_USAGE, "'%s' is not a time such as 90, 90s, 15m, 8h or 1h30m", text);
		sum += v * unit_seconds(end, &len);
		p = end + len;
	} while (*p && !isnan(sum));
	if (!isfinite(sum) || sum <= 0)
		return err_set(e, ERR_USAGE, "'%s' is not a time such as 90, 90s, 15m, 8h or 1h30m", text);
	*seconds = sum;
	return 0;
}

int hunt_parse_size(const char *text, uint64_t *bytes, struct err *e)
{
	static const char units[] = "KMGT";
	cleanup_free char *number = xstrdup(text);
	size_t n = strlen(number);
	const char *unit = n ? strchr(units, number[n - 1]) : NULL;
	unsigned shift = 0;

	if (unit && *unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		number[n - 1] = '\0';
	}
	if (str_u64(number, 10, 1, INT64_MAX >> 40, bytes))
		return err_set(e, ERR_USAGE, "'%s' is not a size such as 500M or 10G", text);
	*bytes <<= shift;
	return 0;
}

char *hunt_duration_text(double s)
{
	unsigned long long n = (unsigned long long)s;

	if (s < 60)
		return str_fmt(s < 10 ? "%.2f s" : "%.1f s", s);
	if (s < 3600)
		return str_fmt("%llu min %llu s", n / 60, n % 60);
	return str_fmt("%llu h %llu min", n / 3600, n / 60 % 60);
}

char *hunt_command_text(const struct strv *argv)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
	struct buf b = {0};

	for (size_t i = 0; i < argv->n; i++) {
		const char *s = argv->s[i];

		buf_add_str(&b, i ? " " : "");
		if (*s && !s[strspn(s, plain)]) {
			buf_add_str(&b, s);
			continue;
		}
		buf_add_char(&b, '\'');
		for (; *s; s++)
			if (*s == '\'')
				buf_add_str(&b, "'\\''");
			else
				buf_add_char(&b, *s);
		buf_add_char(&b, '\'');
	}
	return buf_steal(&b);
}
