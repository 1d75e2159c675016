/* SPDX-License-Identifier: MIT */
/*
 * holders.cc: containers that are local variables, and references to them.
 *
 * LEVELS: -O0
 * EXPR: v.size() < 5
 * IN: work
 * AS: (v._M_impl._M_finish - v._M_impl._M_start) < 5
 * EXPR: s.size() != 7
 * IN: work
 * AS: s._M_string_length != 7
 * EXPR: m.size() < 4
 * IN: work
 * AS: m._M_t._M_impl._M_node_count < 4
 */
#include <cstdio>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

volatile int pass;
int most;

__attribute__((noinline)) static void add(std::vector<int> &out, int i)
{
	out.push_back(i);
	out[i % 2] += i / 2;
	if (out[0] > most)
		most = out[0];
}

__attribute__((noinline)) static void work(int n)
{
	std::vector<int> v;
	std::string s;
	std::map<int, int> m;

	for (int i = 0; i < n; i++) {
		pass = i;
		add(v, i);
		s += 'a' + i;
		if (i % 3 == 1)
			s = "x";
		m[i % 5] = i;
		if (i == 4)
			m.erase(2), v.pop_back(), v.pop_back();
		if (i % 3 == 2)
			getppid();
	}
	s = "seven77";
	add(v, 3);
	puts("end");
	_exit((int)v.size() + (int)m.size() + (int)s.size() != 1);
}

int main()
{
	work(8);
}
