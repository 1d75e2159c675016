/* SPDX-License-Identifier: MIT */
/*
 * words.cc: std::string, string_view, array, pair, tuple, variant, optional.
 *
 * LEVELS: -O0,-std=c++17 -O2,-std=c++17
 * EXPR: name.size() < 20
 * AS: name._M_string_length < 20
 * EXPR: maybe.has_value()
 * AS: py:int(v("maybe._M_payload._M_engaged"))
 * EXPR: best.second <= 30
 * EXPR: grid[1][2] != 8
 * AS: grid._M_elems[1]._M_elems[2] != 8
 * EXPR: view.size() > 2
 * AS: view._M_len > 2
 */
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

volatile int pass;
std::string name;
std::optional<long> maybe = 3;
std::pair<int, int> best;
std::array<std::array<int, 3>, 2> grid;
std::string_view view = "begin";

int main()
{
	for (int i = 0; i < 12; i++) {
		pass = i;
		name += "ab";
		if (i == 9)
			name = "short";
		if (i % 4 == 3)
			maybe.reset();
		else
			maybe = i;
		best = std::make_pair(i, i * i % 37);
		grid[i & 1][i % 3] = i;
		view = std::string_view("a longer text").substr(0, i % 5 + 1);
	}
	name.append(30, 'z');
	maybe.reset();
	best.second = 31;
	grid[1][2] = 8;
	view.remove_prefix(1);
	puts("end");
	_exit(1);
}
