/* SPDX-License-Identifier: MIT */
/* cmd_doctor.c: fredctl doctor. Exit code 77 when something that fred needs is missing. */
#include <stdio.h>

#include "base/jsonx.h"
#include "client/out.h"
#include "cmd/commands.h"
#include "doctor/doctor.h"

/* NULL: there is nothing to do. */
static const char *advice_of(const struct doctor_check *c, const struct doctor_result *r)
{
	return r->status == DOCTOR_OK ? NULL : r->advice ? r->advice : c->advice;
}

static json_t *check_json(const struct doctor_check *c, const struct doctor_result *r)
{
	return json_pack("{s:s, s:s, s:o, s:s, s:s*}", "name", c->name, "status", doctor_status_name(r->status),
			 "found", json_text(buf_str(&r->found), r->found.len), "means", c->means, "advice",
			 advice_of(c, r));
}

static void print_check(const struct doctor_check *c, const struct doctor_result *r)
{
	static const enum out_style styles[] = {
		[DOCTOR_OK] = OUT_GREEN, [DOCTOR_WARN] = OUT_YELLOW, [DOCTOR_MISSING] = OUT_RED};

	printf("%s%-8s%s %-14s %s\n", out_style(styles[r->status]), doctor_status_name(r->status), out_style(OUT_PLAIN),
	       c->name, buf_str(&r->found));
	if (advice_of(c, r))
		printf("%24s%s\n%24s-> %s\n", "", c->means, "", advice_of(c, r));
}

static int exec_doctor(struct cli *cli, struct err *e)
{
	json_t *list = json_array();
	json_auto_t *v = json_pack("{s:o}", "checks", list);
	bool ok = true;

	for (const struct doctor_check *c = doctor_checks(); c->name; c++) {
		struct doctor_result r = {0};

		c->run(&r);
		ok &= r.status != DOCTOR_MISSING;
		if (!cli->json && (!cli->quiet || r.status != DOCTOR_OK))
			print_check(c, &r);
		json_array_append_new(list, check_json(c, &r));
		buf_fini(&r.found);
	}
	json_object_set_new(v, "ok", json_boolean(ok));
	if (cli->json && out_json(v, e))
		return -1;
	return ok ? 0 : err_exit_code(ERR_HOST);
}

const struct cli_command cmd_doctor = {
	.name = "doctor",
	.help = "check whether this host can record and replay",
	.usage = "",
	.exec = exec_doctor,
};
