// SPDX-License-Identifier: MIT
// cxx_mailbox.cc: a bounded queue in front of a worker. Urgent messages go in without a look at the bound.
//
// EXPECT-EXPR: (mailbox.size() <= 8 && sent >= 0) || state == "closed"
// EXPECT-LINE: mailbox.push(text); // BUG: however full
// EXPECT-FUNC: post_urgent
// EXPECT-EXIT: 0
// EXPECT-CFLAGS: -pthread -std=c++17
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <queue>
#include <string>
#include <thread>

static std::queue<std::string> mailbox;
static std::string state = "open";
static std::atomic<int> sent{0};
static std::mutex lock;
static std::condition_variable room, work;

static void post(const std::string &text)
{
	std::unique_lock<std::mutex> l(lock);

	room.wait(l, [] { return mailbox.size() < 8; });
	mailbox.push(text);
	sent++;
	work.notify_one();
}

__attribute__((noinline)) static void post_urgent(const std::string &text)
{
	std::unique_lock<std::mutex> l(lock);

	mailbox.push(text); // BUG: however full
	sent++;
	work.notify_one();
}

/* Ends with the mailbox as it is, when it has had its share. */
static void worker()
{
	for (int taken = 0; taken < 300; taken++) {
		std::unique_lock<std::mutex> l(lock);

		work.wait(l, [] { return !mailbox.empty(); });
		mailbox.pop();
		room.notify_one();
	}
}

int main()
{
	std::thread w(worker);

	for (int i = 0; i < 308; i++)
		post("message " + std::to_string(i));
	w.join();
	for (int i = 0; i < 3; i++)
		post_urgent("urgent");
	std::printf("%zu in the mailbox, %d sent, %s\n", mailbox.size(), sent.load(), state.c_str());
	return 0;
}
