/* SPDX-License-Identifier: MIT */
/* An address is made of a number, and copied from object to object. KIND: segfault */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
struct msg {
	int kind;
	char *text;
};
static struct msg queue[8];
static int head, tail;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void push(struct msg x)
{
	pthread_mutex_lock(&m);
	queue[head++ % 8] = x;
	pthread_mutex_unlock(&m);
}
static int pop(struct msg *x)
{
	int r = 0;
	pthread_mutex_lock(&m);
	if (tail < head) {
		*x = queue[tail++ % 8];
		r = 1;
	}
	pthread_mutex_unlock(&m);
	return r;
}
static __attribute__((noinline)) struct msg make(int i)
{
	struct msg x = {i, "text"};
	if (i == 5)
		x.text = (char *)(long)i; /* BUG */
	return x;
}
static void *consumer(void *arg)
{
	struct msg x;
	for (int n = 0; n < 7;)
		if (pop(&x)) {
			printf("%zu\n", strlen(x.text));
			n++;
		}
	return arg;
}
int main(void)
{
	pthread_t t;
	for (int i = 0; i < 7; i++)
		push(make(i));
	pthread_create(&t, NULL, consumer, NULL);
	pthread_join(t, NULL);
	return 0;
}
