/* SPDX-License-Identifier: MIT */
/*
 * owners.cc: objects with owners, and calls of their virtual methods.
 *
 * LEVELS: -O0
 * EXPR: sp->id() < 4
 * AS: sp._M_ptr->n < 4
 * EXPR: up->n != 8
 * AS: py: gdb.parse_and_eval("*(Base **)&up")["n"] != 8
 * EXPR: all.back()->id() < 9
 * AS: all._M_impl._M_finish[-1]._M_ptr->n < 9
 * EXPR: all[0]->id() < 3
 * AS: all._M_impl._M_start[0]._M_ptr->n < 3
 */
#include <memory>
#include <unistd.h>
#include <vector>

volatile int pass;
struct Base {
	int n;
	explicit Base(int i) : n(i)
	{
	}
	virtual int id() const;
	virtual ~Base() = default;
};
int Base::id() const
{
	return n;
}
struct Other : Base {
	using Base::Base;
	int id() const override;
};
int Other::id() const
{
	return n;
}
std::shared_ptr<Base> sp;
std::unique_ptr<Base> up;
std::vector<std::shared_ptr<Base>> all;

static void __attribute__((noinline)) step(int i)
{
	if (i % 3 == 0)
		sp = std::make_shared<Other>(i);
	all.push_back(sp);
	up.reset(new Other(i % 9));
	if (i == 7)
		all[0]->n = 5;
	if (i == 10)
		all[0]->n = 2;
}

int main()
{
	for (int i = 0; i < 13; i++) {
		pass = i;
		step(i);
		if (i % 4 == 0)
			getppid();
	}
	all[0]->n = 7;
	sp->n = 12;
	up->n = 8;
	getppid();
	_exit(1);
}
