/* SPDX-License-Identifier: MIT */
/*
 * sequences.c: bugs that show in one order of many, of other shapes than those of ordering.c and orders.c: behind long
 * computations, in system calls, with pipes, files, semaphores and time-outs. Each fails natively in fewer than one run in
 * 1,000. How to run one: orders.h.
 */
#include "orders.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

/* ---- overwritten: the stop that a thread is told before it comes to its start ---- */

enum { NEW, RUNNING, STOPPING };
static atomic_int state;

static void *service(void *arg)
{
	state = RUNNING; /* BUG: perhaps it was STOPPING */
	for (int i = 0; state != STOPPING; i++) {
		if (i == 3000) {
			failed = 1;
			break;
		}
		usleep(100);
	}
	return arg;
}

static void overwritten(void)
{
	pthread_t t;

	pthread_create(&t, NULL, service, NULL);
	count(30);
	usleep(3000);
	state = STOPPING; /* PART */
	pthread_join(t, NULL);
}

/* ---- reset: an event is reset behind the look at what it tells of: it hangs ---- */

static int items, is_set;

static void *takes_items(void *arg)
{
	for (int taken = 0; taken < 3;) {
		int some;

		pthread_mutex_lock(&lock);
		some = items;
		items = 0;
		pthread_mutex_unlock(&lock);
		taken += some;
		if (some)
			continue;
		pthread_mutex_lock(&lock);
		is_set = 0; /* BUG: it told of one that came just now */
		while (!is_set)
			pthread_cond_wait(&cond, &lock);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *puts_items(void *arg)
{
	for (int i = 0; i < 3; i++) {
		usleep(800);
		count(25);
		pthread_mutex_lock(&lock);
		items++;
		is_set = 1;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void reset(void)
{
	both(takes_items, puts_items);
}

/* ---- slots: a test and an act, both atomic, behind a long computation ---- */

static atomic_int slots = 1;

static void *takes_slot(void *arg)
{
	work(arg ? 400000 : 1000);
	if (atomic_load(&slots) > 0) { /* PART */
		if (atomic_fetch_sub(&slots, 1) <= 0) /* BUG */
			failed = 1;
		work(100);
		atomic_fetch_add(&slots, 1);
	}
	return arg;
}

static void slots_left(void)
{
	both(takes_slot, takes_slot);
}

/* ---- audit: what is moved in two sections is counted in between ---- */

static long left_side = 1000, right_side;

static void *transfers(void *arg)
{
	for (int i = 0; i < 3; i++) {
		count(20);
		pthread_mutex_lock(&lock);
		left_side -= 10; /* PART */
		pthread_mutex_unlock(&lock); /* BUG */
		pthread_mutex_lock(&lock);
		right_side += 10; /* PART */
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *audits(void *arg)
{
	usleep(4000);
	pthread_mutex_lock(&lock);
	failed = left_side + right_side != 1000;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void audit(void)
{
	both(transfers, audits);
}

/* ---- two_conditions: waits for the one that may be over before the other is waited for: it hangs ---- */

static pthread_cond_t loaded = PTHREAD_COND_INITIALIZER, checked = PTHREAD_COND_INITIALIZER;
static int is_loaded;

static void *loads(void *arg)
{
	count(10);
	usleep(1000);
	pthread_mutex_lock(&lock);
	is_loaded = 1;
	pthread_cond_signal(&loaded);
	pthread_mutex_unlock(&lock);
	count(30);
	usleep(3000);
	pthread_mutex_lock(&lock);
	pthread_cond_signal(&checked); /* BUG: no variable says so */
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *needs_both(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!is_loaded)
		pthread_cond_wait(&loaded, &lock);
	pthread_mutex_unlock(&lock);
	count(1);
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&checked, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void two_conditions(void)
{
	both(needs_both, loads);
}

/* ---- merged: sums of two threads come together without a lock ---- */

static volatile long total;

static void *sums(void *arg)
{
	long mine = 0;

	for (long i = 0; i < (arg ? 3000000 : 100000); i++)
		mine += i & 1 ? 1 : -1;
	mine += 5;
	total = total + mine; /* BUG */
	return arg;
}

static void merged(void)
{
	both(sums, sums);
	failed = total != 10;
}

/* ---- half: a value of two words is read while it is written ---- */

static volatile struct {
	long seconds, rest;
} stamp;

static void *sets_stamp(void *arg)
{
	for (int i = 1; i <= 5; i++) {
		count(15);
		work(500);
		stamp.seconds = i; /* PART */
		stamp.rest = -i; /* BUG */
	}
	return arg;
}

static void *reads_stamp(void *arg)
{
	long a, b;

	usleep(2500);
	a = stamp.seconds;
	b = stamp.rest;
	failed = a + b != 0;
	return arg;
}

static void half(void)
{
	both(sets_stamp, reads_stamp);
}

/* ---- doorbell: who is about to sleep is not rung for: it hangs ---- */

static int bell[2];
static atomic_int queued, asleep;

static void *sleeps_in_poll(void *arg)
{
	struct pollfd p = {.fd = bell[0], .events = POLLIN};
	char c;

	for (int done = 0; done < 4;) {
		done += atomic_exchange(&queued, 0);
		if (done == 4)
			break;
		if (!queued) { /* PART */
			asleep = 1; /* BUG: and nobody looks again */
			poll(&p, 1, -1);
			asleep = 0;
			if (read(bell[0], &c, 1) != 1)
				failed = 1;
		}
	}
	return arg;
}

static void *rings(void *arg)
{
	for (int i = 0; i < 4; i++) {
		usleep(700);
		count(10);
		queued++; /* PART */
		if (asleep && write(bell[1], "", 1) != 1) /* PART */
			failed = 1;
	}
	return arg;
}

static void doorbell(void)
{
	if (pipe2(bell, O_NONBLOCK) == 0)
		both(sleeps_in_poll, rings);
}

/* ---- round: a barrier of the program's own, whose count is reset too late ---- */

static atomic_int arrived, round_number, rounds_done[2];

static void own_barrier(void)
{
	int mine = round_number;

	if (atomic_fetch_add(&arrived, 1) == 1) {
		round_number++;
		arrived = 0; /* BUG: the other one may be here again */
	} else {
		for (int i = 0; round_number == mine; i++) {
			if (i == 20000) {
				failed = 1;
				return;
			}
			sched_yield();
		}
	}
}

static void *goes_round(void *arg)
{
	for (int i = 0; i < 4 && !failed; i++) {
		count(3);
		work(2000);
		own_barrier();
		rounds_done[arg != NULL]++;
	}
	return arg;
}

static void own_rounds(void)
{
	both(goes_round, goes_round);
}

/* ---- philosophers: three, each with one fork: it hangs ---- */

static sem_t fork_free[3];

static void *eats(void *arg)
{
	int me = (int)(size_t)arg;

	count(me * 40);
	for (int i = 0; i < 2; i++) {
		sem_wait(&fork_free[me]); /* PART */
		sem_wait(&fork_free[(me + 1) % 3]); /* BUG */
		work(50);
		sem_post(&fork_free[(me + 1) % 3]);
		sem_post(&fork_free[me]);
		count(10);
	}
	return arg;
}

static void philosophers(void)
{
	for (int i = 0; i < 3; i++)
		sem_init(&fork_free[i], 0, 1);
	run((void *(*const[])(void *)){eats, eats, eats}, 3);
}

/* ---- lock_file: tested, and then made ---- */

static char lock_path[64];
static atomic_int owners;

static void *makes_file(void *arg)
{
	int fd;

	count(arg ? 80 : 5);
	usleep(arg ? 1500 : 0);
	if (access(lock_path, F_OK)) { /* PART */
		fd = open(lock_path, O_CREAT | O_RDWR, 0600); /* BUG */
		if (fd >= 0)
			close(fd);
		owners++;
	}
	return arg;
}

static void lock_file(void)
{
	snprintf(lock_path, sizeof(lock_path), "/tmp/fred-order.%d", (int)getpid());
	both(makes_file, makes_file);
	unlink(lock_path);
	failed = owners != 1;
}

/* ---- given_up: who waits for an answer for a while frees what the answer is written to ---- */

static struct request {
	int answered, valid;
} *request;

static void *answers(void *arg)
{
	struct request *r;

	count(10);
	pthread_mutex_lock(&lock);
	r = request;
	pthread_mutex_unlock(&lock);
	work(1000);
	count(5);
	if (!r->valid) /* BUG: it may be gone */
		failed = 1;
	pthread_mutex_lock(&lock);
	r->answered = 1;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *asks(void *arg)
{
	struct timespec ts;

	later(&ts, 50);
	pthread_mutex_lock(&lock);
	while (!request->answered)
		if (pthread_cond_timedwait(&cond, &lock, &ts))
			break;
	pthread_mutex_unlock(&lock);
	request->valid = 0; /* PART */
	return arg;
}

static void given_up(void)
{
	static struct request r = {.valid = 1};

	request = &r;
	both(asks, answers);
}

/* ---- evicted: found under the lock, used behind it, and out of the table in between ---- */

static struct entry {
	int key, users, dead;
} entries[4];

static void *looks_up(void *arg)
{
	struct entry *e;

	for (int i = 0; i < 5; i++) {
		count(12);
		pthread_mutex_lock(&lock);
		e = &entries[i % 4];
		if (e->dead)
			e = NULL;
		pthread_mutex_unlock(&lock);
		if (!e)
			continue;
		pthread_mutex_lock(&lock); /* BUG: in the section above */
		e->users++;
		if (e->dead)
			failed = 1;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *evicts(void *arg)
{
	usleep(6000);
	for (int i = 0; i < 4; i++) {
		pthread_mutex_lock(&lock);
		if (!entries[i].users)
			entries[i].dead = 1; /* PART */
		pthread_mutex_unlock(&lock);
		count(2);
	}
	return arg;
}

static void evicted(void)
{
	both(looks_up, evicts);
}

/* ---- registry: a thread looks itself up where its creator enters it ---- */

static pthread_t registry[3];
static atomic_int entered;

static void *looks_itself_up(void *arg)
{
	int found = 0;

	usleep(3000);
	count(5);
	for (int i = 0; i < entered; i++)
		found |= pthread_equal(registry[i], pthread_self());
	if (!found) /* BUG: nobody has waited for the entry */
		failed = 1;
	return arg;
}

static void registers_threads(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++) {
		pthread_create(&t[i], NULL, looks_itself_up, NULL);
		registry[i] = t[i]; /* PART */
		entered++; /* PART */
	}
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
}

/* ---- logger: its buffer goes before it has ended ---- */

static char *volatile buffer;
static atomic_int closing;

static void *logs(void *arg)
{
	for (int i = 0; i < 50 && !closing; i++) {
		if (!buffer) /* BUG: behind the look at closing */
			failed = 1;
		count(1);
		usleep(100);
	}
	return arg;
}

static void logger(void)
{
	static char space[16];
	pthread_t t;

	buffer = space;
	pthread_create(&t, NULL, logs, NULL);
	usleep(2000);
	count(20);
	closing = 1;
	buffer = NULL; /* PART */
	pthread_join(t, NULL);
}

static const struct bug bugs[] = {
	{"overwritten", overwritten}, {"reset", reset}, {"slots_left", slots_left}, {"audit", audit},
	{"two_conditions", two_conditions}, {"merged", merged}, {"half", half}, {"doorbell", doorbell},
	{"own_rounds", own_rounds}, {"philosophers", philosophers}, {"lock_file", lock_file}, {"given_up", given_up},
	{"evicted", evicted}, {"registers_threads", registers_threads}, {"logger", logger},
};

int main(int argc, char **argv)
{
	return run_bug(bugs, sizeof(bugs) / sizeof(bugs[0]), argc, argv);
}
