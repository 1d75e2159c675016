/* SPDX-License-Identifier: MIT */
/*
 * pipe_struct.c: threads that pass structures through a pipe. One of the producers works out a length
 * wrongly, the consumer believes it.
 *
 * EXPECT-EXPR: stats.longest <= 64
 * EXPECT-LINE: BUG: length not checked
 * EXPECT-FUNC: consume
 * EXPECT-EXIT: 1
 * EXPECT-CFLAGS: -pthread
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define PRODUCERS 2
#define MESSAGES 3000

struct message {
	unsigned producer, seq;
	int length;
	char text[64];
};

static struct {
	unsigned long messages;
	int longest;
} stats;
static int fds[2];

static __attribute__((noinline)) int text_length(unsigned producer, unsigned seq)
{
	int length = (int)(seq % 50);

	return producer == 1 && seq == 2011 ? 2 * length + 60 : length;
}

static void *produce(void *arg)
{
	struct message m = {.producer = (unsigned)(size_t)arg};

	for (m.seq = 0; m.seq < MESSAGES; m.seq++) {
		m.length = text_length(m.producer, m.seq);
		if (write(fds[1], &m, sizeof(m)) != sizeof(m))
			return (void *)1;
	}
	return NULL;
}

static __attribute__((noinline)) void consume(const struct message *m)
{
	stats.messages++;
	if (m->length > stats.longest)
		stats.longest = m->length; /* BUG: length not checked */
}

int main(void)
{
	pthread_t t[PRODUCERS];
	struct message m;

	if (pipe(fds))
		return 9;
	for (size_t i = 0; i < PRODUCERS; i++)
		pthread_create(&t[i], NULL, produce, (void *)i);
	for (int i = 0; i < PRODUCERS * MESSAGES; i++) {
		if (read(fds[0], &m, sizeof(m)) != sizeof(m))
			return 9;
		consume(&m);
	}
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(t[i], NULL);
	printf("%lu messages, longest %d\n", stats.messages, stats.longest);
	return stats.longest > 64;
}
