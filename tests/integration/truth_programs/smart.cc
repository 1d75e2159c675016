/* SPDX-License-Identifier: MIT */
/*
 * smart.cc: objects behind unique_ptr and shared_ptr, followed while the pointers change; plain pointers into them.
 *
 * EXPR: current->balance >= 0
 * EXPR: head->serial < 7
 * EXPR: current->owner->debts <= 2
 * EXPR: first == 0 || first->balance > 10
 */
#include <cstdio>
#include <memory>
#include <unistd.h>
#include <vector>

volatile int pass;

struct Owner {
	int debts = 0;
};

struct Account {
	int balance, serial;
	std::shared_ptr<Owner> held;
	Owner *owner;
	Account(int b, int s, std::shared_ptr<Owner> o) : balance(b), serial(s), held(o), owner(o.get())
	{
	}
};

Account *current, *head, *first;
static std::vector<std::unique_ptr<Account>> all;

__attribute__((noinline)) static void open_account(int i, const std::shared_ptr<Owner> &o)
{
	all.push_back(std::make_unique<Account>(i % 4 * 5, i, o));
	head = all.back().get();
}

__attribute__((noinline)) static void spend(Account *a, int n)
{
	a->balance -= n;
	if (a->balance < 0)
		a->owner->debts++;
}

int main()
{
	auto one = std::make_shared<Owner>(), two = std::make_shared<Owner>();

	for (int i = 0; i < 10; i++) {
		pass = i;
		open_account(i, i % 2 ? one : two);
		current = all[i / 2].get();
		spend(current, 4);
		if (i % 3 == 0)
			first = all[i % 2].get();
		if (i == 6)
			first = nullptr;
		if (i == 8)
			all[3]->balance = -1, current = all[3].get();
		if (i % 4 == 1)
			getppid();
	}
	first->balance = 20;
	first->balance = 1;
	puts("end");
	_exit(1);
}
