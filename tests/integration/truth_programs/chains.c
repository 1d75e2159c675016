/* SPDX-License-Identifier: MIT */
/*
 * chains.c: calls in expressions: lists and trees whose functions the program has; the last of several transitions.
 *
 * LEVELS: -O0 -O2
 * CI: -O0
 * EXPR: chain_len(chain) < 6
 * AS: py:length("chain") < 6
 * EXPR: strlen(word) <= 5
 * AS: py:len(v("word").string()) <= 5
 * EXPR: sum_of(chain) < 30
 * AS: py:sum(int(x["key"]) for x in each("chain")) < 30
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile int pass;
struct link {
	int key;
	struct link *next;
} *chain;
char word[32] = "a";

__attribute__((noinline, used)) int chain_len(const struct link *l)
{
	int n = 0;

	for (; l; l = l->next)
		n++;
	return n;
}

__attribute__((noinline, used)) int sum_of(const struct link *l)
{
	int n = 0;

	for (; l; l = l->next)
		n += l->key;
	return n;
}

__attribute__((noinline)) static void push(int key)
{
	struct link *l = malloc(sizeof(*l));

	l->key = key;
	l->next = chain;
	__asm__ volatile("" ::: "memory");
	chain = l;
}

__attribute__((noinline)) static void pop(void)
{
	struct link *l = chain;

	chain = l->next;
	free(l);
}

int main(void)
{
	for (int i = 0; i < 16; i++) {
		pass = i;
		push(i % 9);
		if (i % 8 > 4) {
			pop();
			pop();
		}
		memset(word, 'x', i % 7 + 1);
		word[i % 7 + 1] = 0;
	}
	while (chain_len(chain) < 8)
		push(1);
	chain->key += 40;
	strcat(word, "longer");
	puts("end");
	_exit(1);
}
