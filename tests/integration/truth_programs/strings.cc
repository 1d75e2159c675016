/* SPDX-License-Identifier: MIT */
/*
 * strings.cc: strings that grow out of their object, maps of strings, a deque, a priority queue, a bitset.
 *
 * LEVELS: -O0 -O1
 * EXPR: name[0] != 'z'
 * AS: name._M_dataplus._M_p[0] != 'z'
 * EXPR: name.length() < 18
 * AS: name._M_string_length < 18
 * EXPR: words.size() != 3
 * AS: words._M_t._M_impl._M_node_count != 3
 * EXPR: line.empty() || line.front() < 12
 * AS: line._M_impl._M_start._M_cur == line._M_impl._M_finish._M_cur || *line._M_impl._M_start._M_cur < 12
 * EXPR: best.c.size() < 5
 * AS: best.c._M_impl._M_finish - best.c._M_impl._M_start < 5
 */
#include <cstdio>
#include <deque>
#include <map>
#include <queue>
#include <string>
#include <unistd.h>

volatile int pass;
std::string name;
std::map<std::string, int> words;
std::deque<int> line;
std::priority_queue<int> best;

int main()
{
	for (int i = 0; i < 14; i++) {
		pass = i;
		name = std::string(i % 2 ? 1 : 0, 'z') + std::string(i, 'a');
		words[std::string(1, "abcab"[i % 5])] = i;
		if (i == 7)
			words.erase("b");
		line.push_back(i * 2);
		if (i % 2)
			line.pop_front();
		best.push(i);
		if (i % 3 == 0)
			best.pop();
		if (i % 5 == 4)
			getppid();
	}
	name += "bbbbbbb";
	name[0] = 'y';
	name[0] = 'z';
	while (line.front() < 12)
		line.pop_front();
	puts("end");
	_exit(1);
}
