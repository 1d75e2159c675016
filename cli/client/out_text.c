/* SPDX-License-Identifier: MIT */
/* out_text.c: see out_text.h. All fields may be absent. */
#include "client/out_text.h"

#include <stdio.h>
#include <string.h>

#include "client/out.h"

static void text_thread(const json_t *t)
{
	const char *name = out_str(t, "name", "");

	if (!json_is_object(t))
		return;
	printf(", thread %lld (TID %lld", (long long)out_int(t, "id"), (long long)out_int(t, "tid"));
	printf("%s%s)", *name ? ", " : "", name);
}

void text_position(const json_t *result)
{
	const json_t *p = json_object_get(result, "position");
	const json_t *pc = json_object_get(p, "pc");

	printf("event %lld", (long long)out_int(p, "event"));
	if (json_object_get(p, "events_total"))
		printf(" of %lld", (long long)out_int(p, "events_total"));
	if (out_int(result, "processes") > 1)
		printf(", process %lld (PID %lld)", (long long)out_int(result, "process"),
		       (long long)out_int(result, "pid"));
	text_thread(json_object_get(p, "thread"));
	if (json_is_string(pc))
		printf(", %s", json_string_value(pc));
	else if (json_is_integer(pc))
		printf(", 0x%llx", (unsigned long long)json_integer_value(pc));
	if (json_is_string(pc) && out_int(p, "hits"))
		printf(" (--at %lld/%s#%lld)", (long long)out_int(p, "event"), json_string_value(pc),
		       (long long)out_int(p, "hits"));
	putchar('\n');
}

/* Code without source is shown by its address, as GDB does. */
static void text_place(const json_t *o)
{
	const char *file = out_str(o, "file", NULL), *pc = out_str(o, "pc", NULL);
	const char *module = out_str(o, "module", NULL);
	const json_t *args = json_object_get(o, "args");

	if (!file && pc)
		printf("%s in ", pc);
	fputs(out_str(o, "function", "??"), stdout);
	if (json_is_string(args))
		printf(" (%s)", json_string_value(args));
	if (file)
		printf(" at %s:%lld", file, (long long)out_int(o, "line"));
	else if (module)
		printf(" from %s", module);
	putchar('\n');
}

void text_location(const json_t *l)
{
	const char *text = out_str(l, "text", NULL);

	if (!json_is_object(l))
		return;
	text_place(l);
	if (text)
		printf("%s%lld\t%s%s\n", out_style(OUT_BOLD), (long long)out_int(l, "line"), text,
		       out_style(OUT_PLAIN));
}

void text_frames(const json_t *frames)
{
	json_t *f;
	size_t i;

	json_array_foreach((json_t *)frames, i, f)
	{
		printf("#%-3lld", (long long)out_int(f, "level"));
		text_place(f);
	}
}

void text_exit(const json_t *end, const char *otherwise, char buf[32])
{
	const char *name;

	if (!end)
		snprintf(buf, 32, "%s", otherwise);
	else if (!json_object_get(end, "signal"))
		snprintf(buf, 32, "exit %lld", (long long)out_int(end, "code"));
	else if ((name = sigabbrev_np((int)out_int(end, "signal"))))
		snprintf(buf, 32, "SIG%s", name);
	else
		snprintf(buf, 32, "signal %lld", (long long)out_int(end, "signal"));
}

void text_argv(const json_t *argv)
{
	json_t *arg;
	size_t i;

	json_array_foreach((json_t *)argv, i, arg)
	{
		const char *s = json_string_value(arg);

		putchar(' ');
		for (s = s ? s : "?"; *s; s++)
			putchar((unsigned char)*s < ' ' || *s == 0x7f ? ' ' : *s);
	}
}

void text_notes(const struct cli *cli, const json_t *result)
{
	json_t *note;
	size_t i;

	json_array_foreach(json_object_get(result, "notes"), i, note)
		out_note(cli, "%s", json_string_value(note) ? json_string_value(note) : "?");
}
