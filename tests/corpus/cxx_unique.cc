/* SPDX-License-Identifier: MIT */
/*
 * cxx_unique.cc: a name changed through an alias of its owner. The expression goes through a unique_ptr and
 * into a string.
 *
 * EXPECT-EXPR: owner->name[0] == 'a'
 * EXPECT-LINE: BUG: somebody else's name
 * EXPECT-WATCH: --good 20%
 */
#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>

struct person {
	int age;
	std::string name;
};

static std::unique_ptr<person> owner;

int main()
{
	owner = std::make_unique<person>(person{41, "alice, of the long names"});
	person *alias = owner.get();
	for (int i = 0; i < 60; i++) {
		getppid();
		if (i == 33)
			alias->name[0] = 'A'; // BUG: somebody else's name
	}
	printf("%s\n", owner->name.c_str());
	fflush(stdout);
	_exit(0);
}
