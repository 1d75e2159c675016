/* SPDX-License-Identifier: MIT */
/* target.c: a C program with one of everything that an expression can name; then it blocks. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEEP(x) __asm__ volatile("" : : "r"(x) : "memory")

extern long block_here(void);

enum color { RED, GREEN = 5, BLUE };
enum level { LOW = -1, HIGH = 1 };

union both {
	int i;
	unsigned char b[4];
};

struct node {
	int value;
	unsigned five : 5;
	int three : 3;
	uint64_t wide : 40;
	const char *name;
	struct node *next;
	double ratio;
	char text[8];
	unsigned char small;
	bool ok;
	enum color color;
	union both u;
	int grid[2][3];
};

struct node third = {30, 3, -4, 1, "third", NULL, 3.5, "ccc", 3, false, RED, {3}, {{0}}};
struct node second = {20, 2, 3, 2, "second", &third, 2.5, "bbb", 2, true, BLUE, {2}, {{0}}};
struct node first = {-10,  31,	  -2,		0xabcdef0123,	       "first", &second, 1.5, "aaa", 200,
		     true, GREEN, {0x01020304}, {{1, 2, 3}, {4, 5, 6}}};
struct node *head = &first;
struct node *nothing;

typedef struct {
	int x;
	enum { NONE, SOME = 3 } how;
} unnamed_t;
unnamed_t typedefed = {4, SOME};
struct {
	int y[2];
} unnamed = {{6, 7}};

struct members {
	int head;
	union {
		struct {
			unsigned mode : 3, low : 5;
			int left : 4;
			unsigned : 3;
			uint64_t wide : 40;
			bool on : 1;
			enum color color : 4;
		};
		uint16_t half[8];
	};
	struct {
		struct {
			signed char deep;
		};
	};
	struct {
		struct {
			int in : 6;
		};
	} outer;
} members = {1, {{5, 17, -3, 0xabcdef0123, true, BLUE}}, {{-9}}, {{-20}}}, *to_members = &members;
struct __attribute__((packed)) {
	struct {
		unsigned char one : 7;
	};
	struct __attribute__((packed)) {
		unsigned a : 5;
		unsigned long b : 59;
	};
} tight = {{100}, {21, 0x5123456789abcdeul}};

static int file_static = 7;
static enum level level = LOW;
enum color color = BLUE;
__thread int tls_counter = 5;
static __thread struct node *tls_node;
long numbers[5] = {1, 2, 3, -4, 5};
unsigned char bytes[4] = {1, 255, 3, 4};
float single = 2.5f;
double real = -0.25;
uint64_t huge = 0xfedcba9876543210ull;
int8_t tiny = -5;
uint16_t half = 65535;
unsigned int uint_max = 4294967295u;
int (*callback)(const char *) = puts;
volatile int flag = 1;
const char *message = "hello";
void *opaque = &first;

int list_len(const struct node *n)
{
	int len = 0;

	for (; n; n = n->next)
		len++;
	return len;
}

int (*handler)(const struct node *) = list_len;

int crash(const struct node *n)
{
	return n->value;
}

int forever(void)
{
	while (flag)
		;
	return 1;
}

/* Allocates and makes a system call, as a call into a program may. */
int busy(int n)
{
	char *p = malloc((size_t)n);
	int r;

	snprintf(p, (size_t)n, "%d", getppid());
	r = p[0] != '\0';
	free(p);
	return r;
}

__attribute__((noinline)) static int innermost(struct node *node, int depth)
{
	int result = (int)block_here();

	return result + node->value + depth;
}

static inline __attribute__((always_inline)) int inlined_step(struct node *node, int depth)
{
	volatile int doubled = depth * 2;

	KEEP(&doubled);
	return innermost(node, doubled) + 1;
}

__attribute__((noinline)) int work(int n, struct node *node)
{
	static long counter = 42;
	volatile int local = n * 2;
	unsigned short us = 65535;
	signed char sc = -3;
	struct node here = *node;
	int array[4] = {n, n + 1, n + 2, n + 3};
	struct node *alias = &here;
	unnamed_t mine = {n, SOME};
	struct {
		int z;
	} nameless = {n};

	counter += local;
	KEEP(&here);
	KEEP(array);
	KEEP(&local);
	KEEP(&us);
	KEEP(&sc);
	KEEP(&alias);
	KEEP(&mine);
	KEEP(&nameless);
	local += inlined_step(node, n);
	return local + us + sc + here.value + array[1] + alias->value + (int)counter;
}

volatile long spins;

static void *second_thread(void *arg)
{
	while (!strcmp(arg, "spin"))
		spins++;

	tls_counter = 77;
	tls_node = &third;
	block_here();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	KEEP(&file_static);
	KEEP(&level);
	tls_node = &second;
	if (argc > 1 && pthread_create(&t, NULL, second_thread, argv[1]))
		return 1;
	return work(3, head) + file_static + (int)level + tls_node->value;
}
