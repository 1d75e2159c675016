/* SPDX-License-Identifier: MIT */
/* call_still.c: see call.h, calls_still: calls that are interpreted, in place of running them in a copy. */
#include "expr/call_still.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "expr/call.h"
#include "insn/emulate.h"
#include "trace/trace.h"

#define REFUSALS_MAX 4 /* after this many refusals in a row it is not tried again */

struct call_still {
	struct emulate *m;
	unsigned refused;
};

/* One evaluation. */
struct reading {
	struct emulate *m;
	pid_t pid;
	struct agent_result *out;
	const struct calls *c;
	struct call_memory results;
};

static void add_range(struct agent_result *to, uint64_t addr, uint32_t len)
{
	for (size_t i = 0; i < to->ranges_n; i++)
		if (to->range[i].addr == addr && to->range[i].len >= len)
			return;
	if (to->ranges_n == AGENT_MAX_RANGES)
		to->ranges_full = true;
	else
		to->range[to->ranges_n++] = (struct agent_range){addr, len};
}

static int page(void *ctx, uint64_t addr, uint8_t out[EMULATE_PAGE])
{
	struct reading *r = ctx;

	return trace_read(r->pid, addr, out, EMULATE_PAGE, NULL);
}

static void has_read(void *ctx, uint64_t addr, unsigned len)
{
	struct reading *r = ctx;

	if (!r->out->ranges_full)
		add_range(r->out, addr, len);
}

struct call_still *call_still_new(void)
{
	static const struct emulate_ops ops = {.page = page, .has_read = has_read};
	struct call_still *s = xcalloc(1, sizeof(*s));

	s->m = emulate_new(&ops);
	return s;
}

void call_still_free(struct call_still *s)
{
	if (s)
		emulate_free(s->m);
	free(s);
}

void calls_no_still(struct calls *c)
{
	call_still_free(c->still);
	c->still = NULL;
}

uint64_t calls_still_cost_ns(const struct calls *c)
{
	return c->still && c->still->m ? emulate_cost_ns(c->still->m) : 0;
}

/* Memory as bytecode sees it. */
static int read_mem(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct reading *r = ctx;

	return addr < EMULATE_PAGE * 16 ? calls_read(&r->results, addr, out, len) : emulate_read(r->m, addr, out, len);
}

/* Runs bytecode; adds what it has read to r->out, except the results of calls. */
static enum agent_status run_code(struct reading *r, const uint8_t *code, size_t len, struct agent_result *v)
{
	static const struct agent_ops ops = {.read_mem = read_mem};
	enum agent_status s = agent_run(code, len, &ops, r, v);

	r->out->ranges_full |= v->ranges_full;
	for (size_t i = 0; i < v->ranges_n; i++)
		if (v->range[i].addr >= EMULATE_PAGE * 16)
			add_range(r->out, v->range[i].addr, v->range[i].len);
	return s;
}

/* Evaluates an argument. EMULATE_FAULT: it is in memory that is not mapped. */
static enum emulate_end argument(struct reading *r, const struct call_arg *a, uint64_t *value)
{
	struct agent_result v;
	enum agent_status s;

	if (a->string) {
		*value = emulate_string(r->m, a->string);
		return *value ? EMULATE_DONE : EMULATE_REFUSED;
	}
	s = run_code(r, a->code, a->len, &v);
	*value = (uint64_t)v.value;
	if (r->results.failed)
		return (enum emulate_end)r->results.failed;
	return s == AGENT_OK ? EMULATE_DONE : s == AGENT_BAD_MEMORY ? EMULATE_FAULT : EMULATE_REFUSED;
}

/* Reads the function's address from the object's table. */
static enum emulate_end dispatch(struct reading *r, const struct call *c, uint64_t object, uint64_t *function)
{
	uint64_t table;

	has_read(r, object, sizeof(table));
	if (emulate_read(r->m, object, &table, sizeof(table)))
		return EMULATE_FAULT;
	has_read(r, table + 8ull * c->slot, sizeof(*function));
	return emulate_read(r->m, table + 8ull * c->slot, function, sizeof(*function)) ? EMULATE_FAULT : EMULATE_DONE;
}

static int make(void *ctx, unsigned n, uint64_t *result)
{
	struct reading *r = ctx;
	const struct call *c = &r->c->call[n];
	uint64_t arg[EMULATE_ARGS] = {0}, function = c->function;
	enum emulate_end end = c->indirect || c->floating ? EMULATE_REFUSED : EMULATE_DONE;

	for (unsigned i = 0; i < c->nargs && !end; i++)
		end = argument(r, &c->arg[i], &arg[i]);
	if (!end && c->is_virtual)
		end = dispatch(r, c, arg[0], &function);
	return end ? end : emulate_call(r->m, function, arg, result);
}

int calls_still(const struct calls *c, pid_t pid, bool *ended, enum agent_status *s, struct agent_result *out)
{
	struct call_still *still = c->still;
	struct agent_result rest = {0};
	struct reading r = {.pid = pid, .out = out, .c = c};
	int failed;

	if (!still || !still->m || still->refused == REFUSALS_MAX)
		return 1;
	memset(out, 0, sizeof(*out));
	r.m = still->m;
	r.results = (struct call_memory){.pid = pid, .n = c->n, .make = make, .ctx = &r};
	emulate_begin(still->m, &r);
	*s = run_code(&r, c->code, c->len, &rest);
	failed = r.results.failed;
	still->refused = failed == EMULATE_REFUSED ? still->refused + 1 : 0;
	if (failed == EMULATE_REFUSED)
		return 1;
	*ended = !failed;
	out->value = rest.value;
	out->fault_addr = rest.fault_addr;
	return 0;
}
