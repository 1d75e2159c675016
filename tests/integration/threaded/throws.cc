/* SPDX-License-Identifier: MIT */
/* throws.cc: std::thread, exceptions, std::call_once and a future. */
#include <condition_variable>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "mark.h"

static std::mutex lock;
static std::condition_variable more;
static std::once_flag once;
static bool open;

static void deeper(int n)
{
	if (!n)
		throw std::runtime_error("deep");
	deeper(n - 1);
	mark(1);
}

static void works(int n)
{
	std::unique_lock<std::mutex> held(lock);

	more.wait(held, [] { return open; });
	std::call_once(once, [] { mark(100); });
	try {
		deeper(n);
	} catch (const std::exception &) {
		mark(10);
	}
}

int main()
{
	std::vector<std::thread> all;
	auto later = std::async(std::launch::async, []() -> int { deeper(2); return 1; });

	for (int i = 1; i < 3; i++)
		all.emplace_back(works, i);
	{
		std::lock_guard<std::mutex> held(lock);
		open = true;
	}
	more.notify_all();
	for (auto &t : all)
		t.join();
	try {
		later.get();
	} catch (const std::runtime_error &) {
		mark(1000);
	}
	return marks != 1120;
}
