/* SPDX-License-Identifier: MIT */
/*
 * cxx_reserve.cc: C++. An exception leaves a method in the middle, the reservation it had counted is not
 * taken back, and some thousand orders later more is reserved than there is.
 *
 * EXPECT-EXPR: shop->m_reserved <= shop->m_capacity
 * EXPECT-LINE: BUG: not taken back when
 * EXPECT-EXIT: 2
 */
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct out_of_stock : std::runtime_error {
	using std::runtime_error::runtime_error;
};

class Shop {
public:
	Shop(long capacity, int kinds) : m_capacity(capacity), m_reserved(0)
	{
		for (int i = 0; i < kinds; i++)
			m_stock["item-" + std::to_string(i)] = 40;
	}
	void order(const std::string &name, int n);
	void deliver();
	long m_capacity, m_reserved;

private:
	struct line {
		std::string name;
		int n;
	};
	std::map<std::string, int> m_stock;
	std::vector<line> m_open;
};

static Shop *shop;

__attribute__((noinline)) void Shop::order(const std::string &name, int n)
{
	m_reserved += n; /* BUG: not taken back when the next line throws */
	if (m_stock.at(name) < n)
		throw out_of_stock(name);
	m_stock[name] -= n;
	m_open.push_back({name, n});
}

__attribute__((noinline)) void Shop::deliver()
{
	for (const line &l : m_open) {
		m_reserved -= l.n;
		m_stock[l.name] += l.n;
	}
	m_open.clear();
}

int main()
{
	unsigned seed = 5, failed = 0;

	shop = std::make_unique<Shop>(1000, 10).release();
	for (int i = 0; i < 20000; i++) {
		seed = seed * 1664525 + 1013904223;
		try {
			shop->order("item-" + std::to_string(seed >> 20 & 15), (seed >> 8 & 1) + 1);
		} catch (const out_of_stock &e) {
			failed++;
		} catch (const std::out_of_range &e) {
			if (seed >> 29)
				shop->m_reserved -= (seed >> 8 & 1) + 1;
		}
		if (i % 100 == 99) {
			shop->deliver();
			std::printf("%d orders, %ld reserved\n", i + 1, shop->m_reserved);
		}
	}
	return shop->m_reserved > shop->m_capacity ? 2 : 0;
}
