// SPDX-License-Identifier: MIT
// work.cc ROUNDS: C++ threads that share a queue, atomics, a spin lock and futures, and throw through all of it.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct refused : std::runtime_error {
	explicit refused(long what) : std::runtime_error("refused " + std::to_string(what)), what_for(what) {}
	long what_for;
};

class spin {
	std::atomic_flag flag = ATOMIC_FLAG_INIT;

public:
	void lock()
	{
		while (flag.test_and_set(std::memory_order_acquire))
			;
	}
	void unlock() { flag.clear(std::memory_order_release); }
};

class queue {
	std::mutex m;
	std::condition_variable filled;
	std::deque<long> items;
	bool closed = false;

public:
	void put(long x)
	{
		std::lock_guard<std::mutex> g(m);
		items.push_back(x);
		filled.notify_one();
	}
	void close()
	{
		std::lock_guard<std::mutex> g(m);
		closed = true;
		filled.notify_all();
	}
	bool get(long &x)
	{
		std::unique_lock<std::mutex> g(m);
		filled.wait(g, [&] { return closed || !items.empty(); });
		if (items.empty())
			return false;
		x = items.front();
		items.pop_front();
		return true;
	}
};

static queue jobs;
static spin lock;
static std::atomic<long> done, thrown;
static unsigned long order; // of the jobs; depends on the threads

static long work(long x, int depth)
{
	std::string on_the_way(depth + 20, 'x'); // freed by the exception

	if (depth == 0) {
		if (x % 3 == 0)
			throw refused(x);
		return x * 2 + (long)on_the_way.size() - 20;
	}
	return work(x, depth - 1);
}

static long worker(int number)
{
	long x, sum = 0;

	while (jobs.get(x)) {
		try {
			sum += work(x, (int)(x % 20));
		} catch (const refused &r) {
			sum -= r.what_for;
			thrown.fetch_add(1, std::memory_order_relaxed);
		}
		done++;
		std::lock_guard<spin> g(lock);
		order = order * 31 + (unsigned long)(x * 7 + number);
	}
	return sum;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 10, sum = 0;
	std::vector<std::future<long>> results;
	std::vector<std::thread> producers;

	for (int i = 0; i < 3; i++)
		results.push_back(std::async(std::launch::async, worker, i));
	for (int i = 0; i < 2; i++)
		producers.emplace_back([=] {
			for (long k = 0; k < rounds * 50; k++)
				jobs.put(2 * k + i);
		});
	for (auto &t : producers)
		t.join();
	jobs.close();
	for (auto &r : results)
		sum += r.get();
	auto last = std::async(std::launch::async, [] { return work(3, 5); });
	try {
		last.get();
	} catch (const std::exception &e) {
		sum += std::string(e.what()) == "refused 3";
	}
	std::printf("%lx\n%ld %ld %ld\n", order, sum, done.load(), thrown.load());
}
