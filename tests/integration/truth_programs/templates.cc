/* SPDX-License-Identifier: MIT */
/*
 * templates.cc: members of templates, namespaces, static members, operators.
 *
 * LEVELS: -O0 -O2 clang,-O1
 * EXPR: shop::stock<int>::total < 25
 * EXPR: shop::detail::open_orders <= 3
 * EXPR: shop::main_stock.held[2] >= 0
 * EXPR: hidden < 7
 */
#include <cstdio>
#include <unistd.h>

volatile int pass;

namespace shop
{
namespace detail
{
int open_orders;
}

template <class T> struct stock {
	static T total;
	T held[3] = {};

	stock &operator+=(T n)
	{
		held[n % 3] += n;
		total += n;
		return *this;
	}
	stock &operator-=(T n)
	{
		held[n % 3] -= 2 * n;
		total -= n;
		detail::open_orders++;
		return *this;
	}
};
template <class T> T stock<T>::total;
stock<int> main_stock;
stock<long> other_stock;
}

namespace
{
int hidden;
}

template <int N> __attribute__((noinline)) void work(int i)
{
	shop::main_stock += i;
	if (i % N == 1)
		shop::main_stock -= i / 2;
	shop::other_stock += i;
	hidden = (hidden + N) % 9;
	if (shop::detail::open_orders > 4)
		shop::detail::open_orders = 0;
}

int main()
{
	for (int i = 0; i < 12; i++) {
		pass = i;
		if (i & 1)
			work<3>(i);
		else
			work<4>(i);
		if (i == 8)
			shop::stock<int>::total = 5;
	}
	shop::main_stock.held[2] = -1;
	shop::detail::open_orders = 6;
	shop::stock<int>::total += 40;
	hidden = 8;
	puts("end");
	_exit(1);
}
