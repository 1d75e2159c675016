/* SPDX-License-Identifier: MIT */
/*
 * boxes.cc: containers of many kinds, as globals.
 *
 * LEVELS: -O0 -O1 -O2
 * EXPR: queue.size() < 6
 * AS: py: ring_size("queue") < 6
 * EXPR: names.size() != 4
 * AS: names._M_h._M_element_count != 4
 * EXPR: lines[1].size() < 3
 * AS: lines._M_impl._M_start[1]._M_string_length < 3
 * EXPR: fixed[2] < 9
 * AS: fixed._M_elems[2] < 9
 * EXPR: range.first < range.second
 * EXPR: chosen.empty()
 * AS: chosen._M_t._M_impl._M_node_count == 0
 */
#include <array>
#include <cstdio>
#include <list>
#include <set>
#include <string>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

volatile int pass;
std::list<int> queue;
std::unordered_map<int, int> names;
std::vector<std::string> lines;
std::array<int, 4> fixed;
std::pair<int, int> range{0, 12};
std::set<int> chosen;

int main()
{
	lines.resize(3);
	for (int i = 0; i < 10; i++) {
		pass = i;
		queue.push_back(i);
		if (i % 3 == 2)
			queue.pop_front();
		names[i % 4] = i;
		if (i == 6)
			names.erase(1);
		lines[i % 3] += "x";
		fixed[i % 4] += i;
		range.first += 2;
		range.second += i == 3 ? -1 : 1;
		if (i % 4 == 1)
			chosen.insert(i);
		if (i == 6)
			chosen.clear();
	}
	fixed[2] = 0;
	fixed[2] = 12;
	puts("end");
	_exit(1);
}
