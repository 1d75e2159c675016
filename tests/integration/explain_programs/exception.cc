/* SPDX-License-Identifier: MIT */
/* An exception that nobody catches, behind one that somebody did. KIND: exception */
#include <cstdio>
#include <stdexcept>
#include <string>

static __attribute__((noinline)) int parse(const std::string &s)
{
	if (s.size() > 3)
		throw std::runtime_error("too long: " + s); /* BUG */
	return (int)s.size();
}

int main()
{
	std::printf("%d\n", parse("abc"));
	try {
		parse("zzzzz");
	} catch (const std::exception &e) {
		std::puts(e.what());
	}
	std::printf("%d\n", parse("abcd"));
}
