/* SPDX-License-Identifier: MIT */
/*
 * A number that was read from a text is the index of an element that nobody has ever set: what is wrong is the number.
 * KIND: segfault
 */
#include <stdio.h>

struct date {
	int year, month;
};

static const char *const names[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul",
				    "Aug", "Sep", "Oct", "Nov", "Dec", NULL};
static struct date dates[3];

static void __attribute__((noinline)) read_date(const char *text, struct date *d)
{
	int year = 0, month = 0;

	sscanf(text, "%d-%d", &year, &month);
	d->year = year;
	d->month = month; /* BUG: these begin with 1, and those in the table with 0 */
}

static int __attribute__((noinline)) initial(const struct date *d)
{
	const char *name = names[d->month];

	return name[0];
}

int main(void)
{
	int sum = 0;

	read_date("2021-03", &dates[0]);
	read_date("2021-12", &dates[1]);
	read_date("2022-01", &dates[2]);
	for (int i = 0; i < 3; i++)
		sum += initial(&dates[i]);
	return sum;
}
