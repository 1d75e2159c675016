/* SPDX-License-Identifier: MIT */
/*
 * lambdas.cc: lambdas that capture by value and by reference; std::function; generic ones.
 *
 * LEVELS: -O0
 * EXPR: sum < 40
 * IN: main
 * EXPR: applied <= 12
 * EXPR: worst != 9
 */
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <unistd.h>

volatile int pass;
int applied, worst;

__attribute__((noinline)) static void each(const std::array<int, 5> &a, const std::function<void(int)> &f)
{
	for (int v : a)
		f(v);
}

int main()
{
	int sum = 0;
	std::array<int, 5> a = {3, 1, 4, 1, 5};
	auto add = [&sum, by = 2](int v) {
		applied++;
		sum += v * by;
	};
	auto most = [](auto x, auto y) {
		return x > y ? x : y;
	};

	for (int i = 0; i < 4; i++) {
		pass = i;
		each(a, add);
		std::for_each(a.begin(), a.end(), [&](int &v) { worst = most(worst, v + i); });
		if (i == 1)
			sum -= 30;
		a[i] += i;
	}
	sum += 100;
	worst = 9;
	applied += 20;
	puts("end");
	_exit(sum & 1);
}
