/* SPDX-License-Identifier: MIT */
/*
 * thread_locals.cc: thread_local variables, an atomic counter, a condition variable.
 *
 * LEVELS: -O0 -O2
 * RECORD: --sched serial
 * EXPR: done.load() < 12
 * AS: done._M_i < 12
 * EXPR: served <= 8
 * EXPR: backlog < 3
 */
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <unistd.h>

volatile int pass;
std::atomic<int> done;
int served, backlog;
thread_local int mine;
static std::mutex lock;
static std::condition_variable wake;
static bool turn;

static void serve()
{
	for (int i = 0; i < 12; i++) {
		std::unique_lock<std::mutex> l(lock);

		while (!turn)
			wake.wait(l);
		pass = 100 + i;
		turn = false;
		mine += 2;
		served = mine % 11;
		backlog--;
		done++;
		wake.notify_one();
	}
}

int main()
{
	std::thread t(serve);

	for (int i = 0; i < 12; i++) {
		std::unique_lock<std::mutex> l(lock);

		pass = i;
		backlog += i == 5 ? 3 : 1;
		if (i == 8)
			backlog = 1;
		turn = true;
		wake.notify_one();
		while (turn)
			wake.wait(l);
	}
	t.join();
	pass = 200;
	served = 10;
	backlog = 5;
	puts("end");
	_exit(1);
}
