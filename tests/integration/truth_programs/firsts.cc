/* SPDX-License-Identifier: MIT */
/*
 * firsts.cc: the first and the last of a map and of a set.
 *
 * LEVELS: -O0
 * EXPR: m.begin()->second < 11
 * AS: *(int *)((char *)m._M_t._M_impl._M_header._M_left + 36) < 11
 * EXPR: m.rbegin()->second < 30
 * AS: *(int *)((char *)m._M_t._M_impl._M_header._M_right + 36) < 30
 * EXPR: s.size() < 6 || *s.begin() > 2
 * AS: s._M_t._M_impl._M_node_count < 6 || *(int *)((char *)s._M_t._M_impl._M_header._M_left + 32) > 2
 */
#include <map>
#include <set>
#include <unistd.h>

volatile int pass;
std::map<int, int> m;
std::set<int> s;

static void __attribute__((noinline)) step(int i)
{
	m[i % 6] = i;
	s.insert(20 - i);
	if (i == 9)
		m[7] = 1;
	if (i == 11)
		m.erase(7);
	if (i > 8 && i % 2)
		s.erase(20 - i);
}

int main()
{
	for (int i = 0; i < 16; i++) {
		pass = i;
		step(i);
		if (i % 4 == 0)
			getppid();
	}
	m[7] = 44;
	s.insert(1);
	getppid();
	_exit(1);
}
