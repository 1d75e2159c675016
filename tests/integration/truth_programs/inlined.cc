/* SPDX-License-Identifier: MIT */
/*
 * inlined.cc: templates, namespaces, static members, references, lambdas, inline functions with static variables.
 *
 * EXPR: bank::Account::total < 100
 * EXPR: bank::limit != 5
 * EXPR: meter<int>.worst < 8
 * EXPR: ref < 30
 * EXPR: (int)mode != 2
 * EXPR: pairs[1].b.value > -4
 */
#include <cstdio>
#include <unistd.h>

volatile int pass;

namespace bank
{
struct Account {
	static int total;
	int mine = 0;
	inline void put(int n)
	{
		mine += n;
		total += n;
	}
};
int Account::total;
int limit = 9;
} // namespace bank

template <typename T> struct Meter {
	T worst{}, last{};
	void see(T v)
	{
		last = v;
		if (v > worst)
			worst = v;
	}
};
template <typename T> Meter<T> meter;
template Meter<int> meter<int>;

enum class Mode { idle, busy, broken };

int hidden;
int &ref = hidden;
Mode mode;
struct Inner {
	int value;
};
struct Pair {
	int a;
	Inner b;
} pairs[3];

int main()
{
	bank::Account one, two;
	auto add = [&](int n) {
		hidden += n;
		pairs[n % 3].b.value -= 1;
	};

	for (int i = 0; i < 14; i++) {
		pass = i;
		one.put(i);
		two.put(i % 3 ? 2 : -1);
		add(i);
		meter<int>.see(i % 4 * 3);
		mode = i == 3 ? Mode::broken : Mode::busy;
		if (i == 9)
			bank::limit = 5;
		if (i % 5 == 0)
			getppid();
	}
	mode = Mode::idle;
	mode = Mode::broken;
	bank::limit = 6;
	bank::limit = 5;
	printf("%d %d\n", one.mine, two.mine);
	fflush(stdout);
	_exit(1);
}
