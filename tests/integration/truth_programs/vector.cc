/* SPDX-License-Identifier: MIT */
/*
 * vector.cc: containers that grow and move.
 *
 * LEVELS: -O0 -O2
 * EXPR: numbers.size() < 10
 * AS: (numbers._M_impl._M_finish - numbers._M_impl._M_start) < 10
 * EXPR: text.size() < 20
 * AS: text._M_string_length < 20
 * EXPR: ages.size() <= 4
 * AS: ages._M_t._M_impl._M_node_count <= 4
 */
#include <cstdio>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

volatile int pass;
std::vector<int> numbers;
std::string text;
std::map<int, int> ages;

int main()
{
	for (int i = 0; i < 14; i++) {
		pass = i;
		numbers.push_back(i);
		text += "ab";
		ages[i % 6] = i;
		if (i == 11)
			numbers.pop_back();
		if (i % 4 == 0)
			getppid();
	}
	puts("end");
	_exit(1);
}
