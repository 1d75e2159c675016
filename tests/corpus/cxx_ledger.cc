/* SPDX-License-Identifier: MIT */
/*
 * cxx_ledger.cc: a total that is kept beside a map, and forgotten when some entries are removed.
 * The expression calls a method.
 *
 * EXPECT-EXPR: ledger->total_ <= ledger->sum()
 * EXPECT-LINE: BUG: the total stays
 * EXPECT-EXIT: 134
 */
#include <map>
#include <string>
#include <cstdlib>
#include <cassert>
class Ledger {
public:
	void add(const std::string &k, long v)
	{
		m_[k] += v;
		__asm__ volatile("" ::: "memory"); // the sum first
		total_ += v;
	}

	void remove(const std::string &k)
	{
		auto it = m_.find(k);
		if (it == m_.end()) return;
		if (it->second % 17 != 0)
			total_ -= it->second;
		__asm__ volatile("" ::: "memory");
		m_.erase(it); // BUG: the total stays
	}
	__attribute__((noinline)) long sum() const { long s = 0; for (auto &e : m_) s += e.second; return s; }
	void check() const { assert(total_ == sum()); }
	std::map<std::string, long> m_;
	long total_ = 0;
};
static Ledger *ledger;
int main()
{
	ledger = new Ledger;
	// all of one, then all of the other: an addition to a wrong ledger would make it right for a moment
	for (int i = 1; i < 400; i++)
		ledger->add("k" + std::to_string(i % 50), i);
	for (int i = 1; i < 50; i++)
		ledger->remove("k" + std::to_string(i * 7 % 50));
	ledger->check();
	return 0;
}
