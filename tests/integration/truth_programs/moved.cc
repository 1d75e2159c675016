/* SPDX-License-Identifier: MIT */
/*
 * moved.cc: objects that move: vectors that grow, unique_ptr and shared_ptr handed on, swaps.
 *
 * LEVELS: -O0
 * EXPR: items.back().weight < 30
 * AS: (items._M_impl._M_finish - 1)->weight < 30
 * EXPR: owner->debt <= 4
 * AS: (*(Owner **)&owner)->debt <= 4
 * EXPR: shared->uses != 7
 * AS: shared._M_ptr->uses != 7
 * EXPR: items[0].weight != 11
 * AS: items._M_impl._M_start->weight != 11
 * EXPR: shared.use_count() < 4
 * AS: shared._M_refcount._M_pi->_M_use_count < 4
 */
#include <cstdio>
#include <memory>
#include <unistd.h>
#include <utility>
#include <vector>

volatile int pass;
struct Item {
	int weight, id;
};
struct Owner {
	int debt = 0, uses = 0;
};
std::vector<Item> items;
std::unique_ptr<Owner> owner = std::make_unique<Owner>(), spare;
std::shared_ptr<Owner> shared = std::make_shared<Owner>();
std::shared_ptr<Owner> more[3];

__attribute__((noinline)) static void turn(int i)
{
	items.push_back({i % 7 * 5, i});
	owner->debt = i % 6;
	if (i % 5 == 4) {
		spare = std::move(owner);
		owner = std::make_unique<Owner>();
		owner->debt = 1;
	}
	shared->uses = i;
	more[i % 3] = i % 4 ? shared : nullptr;
	if (i == 8)
		shared = std::make_shared<Owner>();
}

int main()
{
	for (int i = 0; i < 11; i++) {
		pass = i;
		turn(i);
	}
	items.back().weight = 31;
	std::swap(owner, spare);
	owner->debt = 6;
	shared->uses = 7;
	items[0].weight = 11;
	more[0] = more[1] = more[2] = shared;
	puts("end");
	_exit(1);
}
