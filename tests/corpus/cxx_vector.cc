/* SPDX-License-Identifier: MIT */
/*
 * cxx_vector.cc: a backlog that is to hold ten jobs. The expression calls a method that the compiler may have left
 * no code of.
 *
 * EXPECT-EXPR: backlog.size() <= 10
 * EXPECT-LINE: BUG: the eleventh
 * EXPECT-FUNC: submit
 */
#include <cstdio>
#include <unistd.h>
#include <vector>

static std::vector<int> backlog;

__attribute__((noinline)) static void submit(int job)
{
	if (backlog.size() >= 10 && job % 41 != 40)
		backlog.erase(backlog.begin());
	backlog.push_back(job); // BUG: the eleventh
}

int main()
{
	for (int i = 0; i < 60; i++) {
		getppid();
		submit(i);
	}
	printf("%zu jobs\n", backlog.size());
	return 0;
}
