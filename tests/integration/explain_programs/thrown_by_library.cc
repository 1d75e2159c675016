/* SPDX-License-Identifier: MIT */
/* A library refuses the argument of a call by an exception: where the argument came from. KIND: exception */
#include <map>
#include <vector>

struct article {
	int kind, size, key;
};

static std::map<int, long> prices;

static int __attribute__((noinline)) key_of(const article &a)
{
	return a.kind * 10 + a.size; /* BUG: the prices have other keys */
}

static long __attribute__((noinline)) total(const std::vector<article> &all)
{
	long sum = 0;

	for (const article &a : all)
		sum += prices.at(a.key);
	return sum;
}

int main()
{
	std::vector<article> all = {{0, 30, 0}, {1, 40, 0}};

	for (const article &a : all)
		prices[a.kind * 100 + a.size] = a.kind;
	for (article &a : all)
		a.key = key_of(a);
	return (int)total(all);
}
