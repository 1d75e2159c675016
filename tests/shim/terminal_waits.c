/* SPDX-License-Identifier: MIT */
/*
 * terminal_waits.c: requests to a terminal that wait: for its output, or for another thread that writes to it. Others run meanwhile,
 * and let them go on.
 * RECORD: --sched serial
 */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <termios.h>

#define BYTES 65536 /* far more than a terminal takes */

static int master, slave;
static atomic_int writing, in_flow;

static void *writes(void *arg)
{
	static char bytes[BYTES];

	memset(bytes, 'x', sizeof(bytes));
	atomic_store(&writing, 1);
	CHECK(write(slave, bytes, sizeof(bytes)) == BYTES);
	return arg;
}

/* Sends a character: behind the write that has begun. */
static void *flow(void *arg)
{
	atomic_store(&in_flow, 1);
	CHECK(tcflow(slave, TCIOFF) == 0);
	return arg;
}

static void await(atomic_int *word)
{
	while (!atomic_load(word))
		poll(NULL, 0, 1);
}

/* Until that many characters have come, and the STOP one. */
static void read_all(void)
{
	long n = 0, stops = 0;
	char buf[4096];

	while (n < BYTES || !stops) {
		long k = read(master, buf, sizeof(buf));

		NEED(k > 0);
		for (long i = 0; i < k; i++)
			buf[i] == 'x' ? n++ : stops++;
	}
	CHECK(n == BYTES && stops == 1);
}

int main(void)
{
	struct termios raw;
	pthread_t t[2];

	master = posix_openpt(O_RDWR | O_NOCTTY);
	NEED(master >= 0 && !grantpt(master) && !unlockpt(master));
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	NEED(slave >= 0 && !tcgetattr(slave, &raw));
	raw.c_oflag &= ~(tcflag_t)OPOST;
	NEED(!tcsetattr(slave, TCSANOW, &raw));
	NEED(pthread_create(&t[0], NULL, writes, NULL) == 0);
	await(&writing);
	poll(NULL, 0, 20); /* the write has begun, or comes behind the character */
	NEED(pthread_create(&t[1], NULL, flow, NULL) == 0);
	await(&in_flow);
	poll(NULL, 0, 20);
	read_all();
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	CHECK(tcdrain(slave) == 0 && tcsetattr(slave, TCSADRAIN, &raw) == 0);
	step("waits");
	return check_status();
}
