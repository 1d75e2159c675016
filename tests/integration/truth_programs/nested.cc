/* SPDX-License-Identifier: MIT */
/*
 * nested.cc: a vector of vectors, a map of vectors, classes with virtual methods and base classes, this in methods, exceptions.
 *
 * LEVELS: -O0
 * EXPR: rows[1].size() < 4
 * AS: rows._M_impl._M_start[1]._M_impl._M_finish - rows._M_impl._M_start[1]._M_impl._M_start < 4
 * EXPR: rows[0][0] != 5
 * AS: rows._M_impl._M_start[0]._M_impl._M_start[0] != 5
 * EXPR: errors < 3
 * EXPR: device->level < 9
 * EXPR: this->level < 8
 * IN: Pump::work
 * AS: level < 8
 */
#include <cstdio>
#include <map>
#include <stdexcept>
#include <unistd.h>
#include <vector>

volatile int pass;
int errors;
std::vector<std::vector<int>> rows(2);

struct Device {
	int level = 0;
	virtual ~Device()
	{
	}
	virtual void work(int n) = 0;
};

struct Pump : Device {
	int worked = 0;
	__attribute__((noinline)) void work(int n) override
	{
		worked++;
		level += n;
		if (level > 6 && n == 3)
			throw std::runtime_error("high");
		if (n == 4)
			level = 2;
		if (worked == 12) {
			level = 1;
			level = 9;
			puts("end");
			_exit(1);
		}
	}
};

static Pump pump;
Device *device = &pump;

int main()
{
	for (int i = 0;; i++) {
		pass = i;
		rows[i % 2].push_back(i);
		if (i == 7)
			rows[1].clear();
		rows[0][0] = i % 6;
		if (i == 5)
			rows.emplace_back();
		try {
			device->work(i % 5);
		} catch (const std::exception &e) {
			errors++;
		}
		if (i % 4 == 1)
			getppid();
	}
}
