/* SPDX-License-Identifier: MIT */
/*
 * sets.cc: map, set, unordered_map, deque and list: how many they hold.
 *
 * LEVELS: -O0 -O2
 * EXPR: by_name.size() < 5
 * AS: by_name._M_t._M_impl._M_node_count < 5
 * EXPR: seen.size() <= 4
 * AS: seen._M_h._M_element_count <= 4
 * EXPR: queue.size() < 4
 * AS: (queue._M_impl._M_finish._M_cur - queue._M_impl._M_start._M_cur) < 4
 * EXPR: ring.size() != 6
 * AS: ring._M_impl._M_node._M_size != 6
 * EXPR: ages.empty()
 * AS: ages._M_t._M_impl._M_node_count == 0
 */
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unistd.h>
#include <unordered_map>

volatile int pass;
std::map<int, int> by_name;
std::unordered_map<int, int> seen;
std::deque<int> queue;
std::list<int> ring;
std::set<int> ages;

int main()
{
	for (int i = 0; i < 10; i++) {
		pass = i;
		by_name[i % 4] += i;
		if (i % 3)
			seen[i % 5] = i;
		queue.push_back(i);
		if (queue.size() > 2 && i != 7)
			queue.pop_front();
		ring.push_back(i);
		if (i & 1)
			ring.pop_front();
		if (i == 4)
			ages.insert(3);
		if (i == 6)
			ages.erase(3);
	}
	by_name[9] = 1;
	by_name[11] = 2;
	seen[77] = 1;
	seen[78] = 1;
	queue.push_back(1);
	queue.push_back(1);
	ring.push_back(3);
	ages.insert(8);
	puts("end");
	_exit(1);
}
