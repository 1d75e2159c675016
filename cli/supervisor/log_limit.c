/* SPDX-License-Identifier: MIT */
/*
 * log_limit.c: see log_limit.h. Two threads: one renews the lease, the other has the daemon trim the logs. When that
 * fails, the limit is given up: the recording grows, and a note says why.
 */
#include "supervisor/log_limit.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/jsonx.h"
#include "base/str.h"
#include "client/client.h"
#include "client/out.h"
#include "recfiles/pause.h"
#include "recfiles/running.h"
#include "supervisor/control.h"

#define LEASE_DS 30 /* tenths of a second */
#define RENEW_MS 500
#define LOOK_MS 20
#define RETRY_MS 300
#define MAX_FAILURES 5
#define CHUNK_MIN (64u << 10)
#define CHUNK_MAX (1u << 20)

struct log_limit {
	char *rec;
	struct rlog_control *c;
	struct cli cli;
	pthread_t lease, trim;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop; /* under lock */
};

/* true: the thread is to stop. */
static bool rest(struct log_limit *b, unsigned ms)
{
	return pause_ms(&b->lock, &b->wake, &b->stop, ms);
}

static void end(struct log_limit *b)
{
	pthread_mutex_lock(&b->lock);
	b->stop = true;
	pthread_cond_broadcast(&b->wake);
	pthread_mutex_unlock(&b->lock);
}

static void *keep_lease(void *arg)
{
	struct log_limit *b = arg;
	do {
		__atomic_store_n(&b->c->log_lease, (uint32_t)(clock_ns() / 100000000) + LEASE_DS, __ATOMIC_RELEASE);
	} while (!rest(b, RENEW_MS));
	__atomic_store_n(&b->c->log_lease, 0, __ATOMIC_RELEASE);
	return NULL;
}

static void got_room(struct rlog_control *c, uint64_t freed)
{
	__atomic_sub_fetch(&c->log_used, freed, __ATOMIC_ACQ_REL);
	__atomic_add_fetch(&c->log_freed, 1, __ATOMIC_ACQ_REL);
	syscall(SYS_futex, &c->log_freed, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static int trim(struct log_limit *b, uint64_t *freed, struct err *e)
{
	json_auto_t *result = NULL;

	*freed = 0;
	if (client_run(&b->cli, "trim",
		       json_pack("{s:s, s:I, s:o}", "rec", b->rec, "keep", (json_int_t)(b->c->log_limit / 2), "running",
				 running_json(b->rec)),
		       &result, e))
		return -1;
	*freed = (uint64_t)out_int(result, "freed");
	got_room(b->c, *freed);
	return 0;
}

static bool is_full(const struct log_limit *b)
{
	return __atomic_load_n(&b->c->log_used, __ATOMIC_ACQUIRE) > b->c->log_limit / 4 * 3;
}

static void *keep_limit(void *arg)
{
	struct log_limit *b = arg;
	unsigned failures = 0;
	struct err why = {0};
	uint64_t freed;

	while (failures < MAX_FAILURES && !rest(b, failures ? RETRY_MS : LOOK_MS)) {
		if (!is_full(b))
			continue;
		if (trim(b, &freed, &why))
			failures++;
		else if (freed < CHUNK_MIN && ++failures)
			err_set(&why, ERR_HOST,
				"the rest of the logs is still needed, or belongs to threads that wait");
		else
			failures = 0;
	}
	if (failures < MAX_FAILURES)
		return NULL;
	control_add_note(b->c, RLOG_NOTE_BOUND, 0, 0, why.text);
	end(b);
	return NULL;
}

int log_limit_prepare(struct rlog_control *c, uint64_t limit, struct err *e)
{
	static const struct cli quiet = {.quiet = true};
	struct client client;
	uint64_t chunk = CHUNK_MIN;
	int r = client_open(&client, &quiet, CLIENT_START, e);

	client_close(&client);
	while (chunk < CHUNK_MAX && chunk * 128 <= limit)
		chunk *= 2;
	c->log_limit = limit;
	c->log_chunk = (uint32_t)chunk;
	return r;
}

struct log_limit *log_limit_start(const char *rec, struct rlog_control *c)
{
	struct log_limit *b;
	sigset_t all, was;

	if (!c->log_limit)
		return NULL;
	b = xcalloc(1, sizeof(*b));
	b->rec = xstrdup(rec);
	b->c = c;
	b->cli = (struct cli){.quiet = true, .background = true};
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->wake, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	/* without these threads, recorded threads do not wait, and nothing is removed */
	if (pthread_create(&b->lease, NULL, keep_lease, b))
		b->lease = 0;
	if (!b->lease || pthread_create(&b->trim, NULL, keep_limit, b))
		b->trim = 0;
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return b;
}

void log_limit_stop(struct log_limit *b)
{
	if (!b)
		return;
	end(b);
	if (b->trim)
		pthread_join(b->trim, NULL);
	if (b->lease)
		pthread_join(b->lease, NULL);
	free(b->rec);
	free(b);
}
