/* SPDX-License-Identifier: MIT */
/*
 * workers.cc: a queue of work for threads, recorded in parallel: std::mutex, std::condition_variable, lock guards, lambdas.
 *
 * EXPR: work.size() < 4
 * AS: (work._M_impl._M_finish._M_cur - work._M_impl._M_start._M_cur) < 4
 * EXPR: done < 6
 * EXPR: total != 15
 * EXPR: newest == 0 || newest->cost < 3
 */
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <unistd.h>

struct Job {
	int serial, cost;
};

volatile int pass;
std::deque<Job> work;
int done, total;
Job *newest;
static std::mutex lock;
static std::condition_variable change;
static bool mine; /* the worker's turn */

static void worker()
{
	for (;;) {
		std::unique_lock<std::mutex> hold(lock);

		change.wait(hold, [] { return mine; });
		Job job = work.front();
		if (job.serial % 3 == 0)
			work.pop_front();
		done++;
		total += job.cost;
		if (done == 9) {
			puts("end");
			_exit(1);
		}
		mine = false;
		change.notify_all();
	}
}

int main()
{
	std::thread t(worker);

	for (int i = 0;; i++) {
		std::unique_lock<std::mutex> hold(lock);

		change.wait(hold, [] { return !mine; });
		pass = i;
		work.push_back({i, i % 5});
		newest = &work.back();
		if (i == 6)
			work.pop_front();
		mine = true;
		change.notify_all();
	}
}
