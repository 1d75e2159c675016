/* SPDX-License-Identifier: MIT */
/*
 * coroutine.cc: C++20 coroutines, whose locals are on the heap.
 *
 * LEVELS: -O0,-std=c++20 -O2,-std=c++20
 * EXPR: last < 12
 * EXPR: sum < 30 || sum > 40
 * EXPR: shown.size() < 4
 * AS: (shown._M_impl._M_finish - shown._M_impl._M_start) < 4
 * EXPR: alive < 2
 */
#include <coroutine>
#include <cstdio>
#include <unistd.h>
#include <vector>

volatile int pass;
int last, sum, alive;
std::vector<int> shown;

struct numbers {
	struct promise_type {
		int value = 0;
		promise_type() { alive++; }
		~promise_type() { alive--; }
		numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
		std::suspend_always initial_suspend() { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(int v)
		{
			value = v;
			last = v;
			return {};
		}
		void return_void() {}
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> h;
};

static numbers count(int by)
{
	int n = 0;
	for (int i = 0; i < 6; i++) {
		n += by;
		co_yield n;
		sum += n;
	}
}

int main()
{
	numbers a = count(1), b = count(3);

	for (int i = 0; i < 5; i++) {
		pass = i;
		a.h.resume();
		b.h.resume();
		shown.push_back(a.h.promise().value);
		if (i == 2)
			shown.clear();
		getppid();
	}
	pass = 20;
	a.h.destroy();
	pass = 21;
	numbers c = count(5);
	c.h.resume();
	c.h.resume();
	c.h.resume();
	pass = 22;
	sum = 35;
	shown.resize(5);
	puts("end");
	_exit(1);
}
