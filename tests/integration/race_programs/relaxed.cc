/* SPDX-License-Identifier: MIT */
/* relaxed.cc: relaxed operations of std::atomic order nothing; others do. */
#include <atomic>
#include <sched.h>
#include <thread>

int first, second, third, fourth;
static std::atomic<int> flag, other, good[2], count;

static void tells()
{
	first = 1; /* RACE: first */
	flag.store(1, std::memory_order_relaxed);
	second = 1; /* RACE: second */
	other.store(1, std::memory_order_release);
	third = 1;
	good[1].store(1, std::memory_order_release);
	fourth = 1; /* RACE: fourth */
	count.fetch_add(1, std::memory_order_relaxed);
}

static void asks()
{
	int sum;

	while (!flag.load(std::memory_order_acquire))
		sched_yield();
	sum = first; /* RACE: first */
	while (!other.load(std::memory_order_relaxed))
		sched_yield();
	sum += second; /* RACE: second */
	while (!good[1].load(std::memory_order_acquire))
		sched_yield();
	sum += third;
	while (!count)
		sched_yield();
	third = sum + fourth; /* RACE: fourth */
}

int main()
{
	std::thread a(tells), b(asks);

	a.join();
	b.join();
	return 0;
}
