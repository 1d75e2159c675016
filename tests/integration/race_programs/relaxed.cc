/* SPDX-License-Identifier: MIT */
/* relaxed.cc: relaxed operations of std::atomic order nothing; others do. */
#include <atomic>
#include <sched.h>
#include <thread>

int first, second, third, fourth;
static std::atomic<int> flag, other, good[2], count;

/* Members of the same name. */
struct Safe {
	std::atomic<int> total;
} safe;
struct Plain {
	int total;
	void set()
	{
		total = 1; /* RACE: - */
	}
	int get() const
	{
		return total; /* RACE: - */
	}
};
Plain *plain;

static void tells()
{
	plain->set();
	safe.total = 1;
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
	volatile int sum; /* one line does not become another's */

	while (!flag.load(std::memory_order_acquire))
		sched_yield();
	sum = first; /* RACE: first */
	sum += plain->get();
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
	plain = new Plain(); /* ALLOC */
	std::thread a(tells), b(asks);

	a.join();
	b.join();
	return 0;
}
