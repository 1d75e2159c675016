/* SPDX-License-Identifier: MIT */
/*
 * stale_table.c: a stale pointer. Closing a session by timeout forgets to take it out of the table; later
 * another thread, which walks over the table, meets a session that is not alive and aborts.
 *
 * EXPECT-EXPR: table[7] == 0 || table[7]->alive == 1
 * EXPECT-LINE: BUG: still in the table
 * EXPECT-FUNC: close_timeout
 * EXPECT-EXIT: 134
 * EXPECT-CFLAGS: -pthread
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#define SLOTS 16
#define ROUNDS 5000

struct session {
	unsigned long id, requests;
	int slot;
	volatile int alive;
};

static struct session *volatile table[SLOTS];
static struct session *graveyard[ROUNDS * SLOTS];
static size_t dead;
static sem_t go, scanned;
static unsigned long next_id = 1;

static void session_open(int slot)
{
	struct session *s = calloc(1, sizeof(*s));

	s->id = next_id++;
	s->slot = slot;
	s->alive = 1;
	table[slot] = s;
}

static __attribute__((noinline)) void close_normal(struct session *s)
{
	table[s->slot] = NULL;
	s->alive = 0;
	graveyard[dead++] = s;
}

static __attribute__((noinline)) void close_timeout(struct session *s)
{
	s->alive = 0; /* BUG: still in the table */
	graveyard[dead++] = s;
}

static void *scanner(void *arg)
{
	unsigned long *served = arg;

	for (int r = 0; r < ROUNDS; r++) {
		sem_wait(&go);
		for (int i = 0; i < SLOTS; i++) {
			if (!table[i])
				continue;
			if (!table[i]->alive) {
				fprintf(stderr, "session %lu is dead\n", table[i]->id);
				abort();
			}
			table[i]->requests++;
			++*served;
		}
		sem_post(&scanned);
	}
	return NULL;
}

int main(void)
{
	unsigned long served = 0;
	unsigned seed = 17;
	pthread_t t;

	sem_init(&go, 0, 0);
	sem_init(&scanned, 0, 0);
	pthread_create(&t, NULL, scanner, &served);
	for (int r = 0; r < ROUNDS; r++) {
		for (int i = 0; i < 4; i++) {
			int slot;

			seed = seed * 1103515245 + 12345;
			slot = seed >> 16 & (SLOTS - 1);
			if (!table[slot])
				session_open(slot);
			else if (slot == 7 && table[slot]->requests > 14)
				close_timeout(table[slot]);
			else
				close_normal(table[slot]);
		}
		sem_post(&go);
		sem_wait(&scanned);
	}
	pthread_join(t, NULL);
	printf("served %lu\n", served);
	return 0;
}
