/* SPDX-License-Identifier: MIT */
/* cmd_doctor.c: fredctl doctor. Exit code 77 when something that fred needs is missing. */
#include <stdio.h>
#include <string.h>

#include "base/jsonx.h"
#include "cmd/commands.h"
#include "doctor/doctor.h"
#include "client/out.h"

static json_t *run_check(const struct doctor_check *c)
{
	struct doctor_result r = {0};
	const char *advice;
	json_t *o;

	c->run(&r);
	advice = r.status == DOCTOR_OK ? NULL : r.advice ? r.advice : c->advice;
	o = json_pack("{s:s, s:s, s:o, s:s, s:s*}", "name", c->name, "status",
		      doctor_status_name(r.status), "found",
		      json_text(buf_str(&r.found), strlen(buf_str(&r.found))), "means", c->means,
		      "advice", advice);
	buf_fini(&r.found);
	return o;
}

static void print_check(const json_t *o)
{
	const char *status = out_str(o, "status", "?");
	const char *advice = out_str(o, "advice", NULL);
	enum out_style s = str_eq(status, "ok")	    ? OUT_GREEN
			   : str_eq(status, "warn") ? OUT_YELLOW
						    : OUT_RED;

	printf("%s%-8s%s %-14s %s\n", out_style(s), status, out_style(OUT_PLAIN),
	       out_str(o, "name", "?"), out_str(o, "found", ""));
	if (!advice)
		return;
	printf("%24s%s\n", "", out_str(o, "means", ""));
	printf("%24s-> %s\n", "", advice);
}

static int exec_doctor(struct cli *cli, struct err *e)
{
	json_auto_t *v = NULL;
	json_t *list = json_array();
	bool ok = true;

	v = json_pack("{s:o}", "checks", list);
	for (const struct doctor_check *c = doctor_checks(); c->name; c++) {
		json_t *o = run_check(c);

		if (str_eq(out_str(o, "status", ""), "missing"))
			ok = false;
		if (!cli->json && (!cli->quiet || !str_eq(out_str(o, "status", ""), "ok")))
			print_check(o);
		json_array_append_new(list, o);
	}
	json_object_set_new(v, "ok", json_boolean(ok));
	if (cli->json && out_json(v, e))
		return -1;
	return ok ? 0 : err_exit_code(ERR_HOST);
}

const struct cli_command cmd_doctor = {
	.name = "doctor",
	.help = "say what this host lacks",
	.usage = "",
	.exec = exec_doctor,
};
