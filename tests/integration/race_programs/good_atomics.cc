/* SPDX-License-Identifier: MIT */
/* good_atomics.cc: the same of C++: std::atomic, shared pointers, and variables that are initialized once. */
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static std::atomic<bool> ready{false};
static std::atomic<int> turns;
static std::vector<int> values;
static std::mutex lock;
static std::string text;

struct Table {
	int v[100];
	Table()
	{
		for (int i = 0; i < 100; i++)
			v[i] = i;
	}
};

static int lookup(int i)
{
	static Table table;
	return table.v[i];
}

static void reads(std::shared_ptr<std::string> s)
{
	while (!ready.load(std::memory_order_acquire))
		std::this_thread::yield();
	if (values.size() != 3 || lookup(5) != 5 || s->size() != 40)
		abort();
	turns++;
	std::lock_guard<std::mutex> hold(lock);
	text += *s;
}

int main()
{
	auto s = std::make_shared<std::string>(40, 'x');
	std::thread a(reads, s), b(reads, s);

	values = {1, 2, 3};
	ready.store(true, std::memory_order_release);
	if (lookup(7) != 7)
		return 1;
	s.reset();
	a.join();
	b.join();
	return turns != 2 || text.size() != 80;
}
