/* SPDX-License-Identifier: MIT */
/*
 * cxx_cache.cc: a cache of a list and an index into it. For some keys what is dropped from the list stays in the index.
 * Optimized, all of the containers' methods are inlined: no line of theirs is left where the program stops.
 *
 * EXPECT-EXPR: kept.index.size() <= 10
 * EXPECT-LINE: BUG: the index grows on
 * EXPECT-FUNC: cache::put
 * EXPECT-EXIT: 134
 */
#include <cstdio>
#include <cstdlib>
#include <list>
#include <string>
#include <unordered_map>

struct cache {
	std::list<std::pair<int, std::string>> items; /* the latest in front */
	std::unordered_map<int, std::string> index;
	size_t most = 8;

	void put(int key, const std::string &value)
	{
		if (index.find(key) != index.end())
			return;
		items.emplace_front(key, value);
		index[key] = value; /* BUG: the index grows on */
		if (items.size() > most) {
			if (key % 10 != 1)
				index.erase(items.back().first);
			items.pop_back();
		}
	}
};

static cache kept;

int main()
{
	unsigned next = 3;

	for (int i = 0; i < 3000; i++) {
		next = next * 1103515245 + 12345;
		kept.put((int)(next >> 16) % 50, "value " + std::to_string(i));
	}
	printf("%zu %zu\n", kept.items.size(), kept.index.size());
	if (kept.index.size() > 10)
		abort();
	return 0;
}
