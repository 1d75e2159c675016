/* SPDX-License-Identifier: MIT */
/*
 * pools.cc: containers of containers that grow, and calls on them.
 *
 * LEVELS: -O0
 * EXPR: pools.size() < 4 || pools[3].size() < 3
 * EXPR: total(2) <= 40
 * AS: py: sum(n("sums[%d]" % i) for i in range(2, 8)) <= 40
 * EXPR: names.size() == 0 || names.back().size() < 20
 */
#include <cstdio>
#include <string>
#include <unistd.h>
#include <vector>

volatile int pass;
std::vector<std::vector<int>> pools;
std::vector<std::string> names;
int sums[8];

__attribute__((noinline, used)) int total(int from)
{
	int sum = 0;

	for (int i = from; i < 8; i++)
		sum += sums[i];
	return sum;
}

int main()
{
	for (int i = 0; i < 14; i++) {
		pass = i;
		if (i % 3 == 0)
			pools.emplace_back();
		pools[i / 3].push_back(i);
		sums[i % 8] += i;
		names.push_back(std::string(i * 2 % 23, 'x'));
		if (i == 9)
			sums[5] -= 12;
	}
	puts("end");
	_exit(total(0) > 90);
}
