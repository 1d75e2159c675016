/* SPDX-License-Identifier: MIT */
/* gcc splits off what an assertion calls if it fails: the branch is in what calls that. KIND: assertion */
#include <assert.h>
#include <pthread.h>
#include <string.h>

struct item {
	int refs, value;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct item items[4];

static void put(struct item *it)
{
	pthread_mutex_lock(&lock);
	it->refs--; /* BUG, as far as the condition tells; optimized, what it was before is followed */
	assert(it->refs >= 0);
	pthread_mutex_unlock(&lock);
}

static __attribute__((noinline)) struct item *get(int i)
{
	pthread_mutex_lock(&lock);
	items[i].refs++;
	pthread_mutex_unlock(&lock);
	return items[i].refs ? &items[i] : NULL;
}

static __attribute__((noinline)) void renew(void)
{
	memset(items, 0, sizeof(items)); /* BUG: some are in use */
}

int work(int n)
{
	struct item *it = get(1), *other;

	put(it);
	it = get(n);
	renew();
	other = get(2);
	if (other)
		put(other);
	put(it);
	return n;
}

int main(void)
{
	return work(3);
}
