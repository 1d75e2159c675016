/* SPDX-License-Identifier: MIT */
/*
 * A function that ends with a call through a pointer, to which the compiler jumps: the pointer stands behind an array,
 * into which a loop wrote one element too many. KIND: jump
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct device {
	long irq[16];
	void (*handler)(struct device *);
	long count;
};

static void on_irq(struct device *d)
{
	d->count++;
}

static void reset(struct device *d)
{
	for (int i = 0; i <= 16; i++) /* BUG */
		d->irq[i] = i * 3 + 1; /* BUG */
}

static void __attribute__((noinline)) fire(struct device *d, int n)
{
	if (d->irq[n] % 2)
		d->handler(d);
}

int main(void)
{
	struct device *d = calloc(1, sizeof(*d));

	d->handler = on_irq;
	d->irq[2] = 3;
	fire(d, 2);
	reset(d);
	fire(d, 4);
	printf("%ld\n", d->count);
	return 0;
}
