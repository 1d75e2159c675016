/* SPDX-License-Identifier: MIT */
/*
 * cxx.cc: C++: exceptions across frames and threads, std::thread and its friends, streams, chrono, containers.
 * CFLAGS: -std=c++17
 * NOTES: one thread ran at a time
 */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static std::atomic<int> failed;

static void check(bool good, const char *what, int line)
{
	if (!good) {
		failed++;
		std::cerr << "cxx.cc:" << line << ": failed: " << what << std::endl;
	}
}
#define CHECK(cond) check(cond, #cond, __LINE__)

static void step(const char *name)
{
	static int before;

	std::cout << (failed == before ? "ok " : "not ok ") << name << std::endl;
	before = failed;
}

struct counted {
	static int alive;
	counted() { alive++; }
	~counted() { alive--; }
};
int counted::alive;

static int descend(int n)
{
	counted c;

	if (n == 0)
		throw std::runtime_error("bottom");
	return descend(n - 1) + 1;
}

static void test_exceptions()
{
	int caught = 0;

	for (int i = 0; i < 100; i++) {
		try {
			descend(i);
		} catch (const std::exception &e) {
			caught += std::string(e.what()) == "bottom";
		}
	}
	CHECK(caught == 100 && counted::alive == 0);
	step("exceptions");
}

static void test_threads()
{
	std::vector<std::thread> threads;
	std::shared_mutex shared;
	std::mutex m;
	std::condition_variable cv;
	std::map<int, int> seen;
	std::once_flag once;
	int turn = 0, runs = 0;

	for (int i = 0; i < 4; i++) {
		threads.emplace_back([&, i] {
			std::call_once(once, [&] { runs++; });
			std::unique_lock<std::mutex> lock(m);
			cv.wait(lock, [&] { return turn == i; });
			turn++;
			cv.notify_all();
			lock.unlock();
			for (int k = 0; k < 500; k++) {
				if (k % 10) {
					std::shared_lock<std::shared_mutex> r(shared);
					CHECK(seen.size() <= 4);
				} else {
					std::unique_lock<std::shared_mutex> w(shared);
					seen[i]++;
				}
			}
		});
	}
	for (auto &t : threads)
		t.join();
	CHECK(turn == 4 && runs == 1 && seen[3] == 50);
	step("threads");
}

static void test_futures()
{
	std::promise<std::string> promise;
	auto future = promise.get_future();
	std::thread t([&] { promise.set_value("kept"); });

	CHECK(future.get() == "kept");
	t.join();
	auto thrower = std::async(std::launch::async, []() -> int { throw std::logic_error("late"); });
	try {
		thrower.get();
		CHECK(false);
	} catch (const std::logic_error &e) {
		CHECK(std::string(e.what()) == "late");
	}
	std::vector<std::future<long>> parts;
	for (long i = 0; i < 8; i++)
		parts.push_back(std::async(std::launch::async, [i] {
			std::vector<long> v(1000);
			std::iota(v.begin(), v.end(), i * 1000);
			return std::accumulate(v.begin(), v.end(), 0L);
		}));
	CHECK(std::accumulate(parts.begin(), parts.end(), 0L,
			      [](long a, std::future<long> &f) { return a + f.get(); }) == 31996000);
	step("futures");
}

static void test_time_and_streams()
{
	auto start = std::chrono::steady_clock::now();
	std::stringstream ss;
	std::string word;
	long sum = 0, n;

	std::this_thread::sleep_for(std::chrono::milliseconds(3));
	CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(3));
	{
		std::ofstream out("stream.txt");
		for (int i = 0; i < 1000; i++)
			out << i << (i % 10 ? ' ' : '\n');
	}
	std::ifstream in("stream.txt");
	while (in >> n)
		sum += n;
	CHECK(sum == 499500);
	ss << 3.5 << ' ' << std::hex << 255;
	CHECK(ss.str() == "3.5 ff");
	std::remove("stream.txt");
	step("time and streams");
}

int main()
{
	test_exceptions();
	test_threads();
	test_futures();
	test_time_and_streams();
	return failed != 0;
}
