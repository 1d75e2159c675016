/* SPDX-License-Identifier: MIT */
/*
 * cxx_random.cc: items come and go by the processor's own random numbers; nobody looks at the
 * bound.
 *
 * EXPECT-EXPR: items._M_impl._M_finish - items._M_impl._M_start <= 1000
 * EXPECT-LINE: BUG: no bound
 * EXPECT-EXIT: 134
 */
#include <vector>
#include <stdexcept>
#include <string>
#include <functional>
#include <cstdio>
#include <random>
struct Item {
	int id;
	std::string s;
};

static std::vector<Item> items;

struct Base {
	virtual ~Base() = default;
	virtual void apply(std::mt19937 &r) = 0;
};

struct Add : Base {
	void apply(std::mt19937 &r) override
	{
		items.push_back({(int)r(), "x"}); // BUG: no bound
	}
};

struct Del : Base {
	void apply(std::mt19937 &) override
	{
		if (items.empty())
			throw std::runtime_error("empty");
		items.pop_back();
	}
};

int main()
{
	std::random_device rd;
	std::mt19937 r(rd());
	Add a;
	Del d;
	int ex = 0;

	for (int i = 0; i < 200000; i++) {
		Base *b = r() % 100 < 53 ? (Base *)&a : (Base *)&d;
		try {
			b->apply(r);
		} catch (const std::exception &) {
			ex++;
		}
		if (items.size() > 1200) {
			std::fprintf(stderr, "%zu %d\n", items.size(), ex);
			std::abort();
		}
	}
	return 0;
}
