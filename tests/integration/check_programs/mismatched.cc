/* SPDX-License-Identifier: MIT */
/* mismatched.cc: blocks are freed by what does not belong to the function that has allocated them; and by what does. */
#include <cstdlib>
#include <new>
#include <string>

struct alignas(64) wide {
	char bytes[64];
};

static void wrong()
{
	char *block = static_cast<char *>(std::malloc(10)); /* ALLOC */
	int *one = new int; /* ALLOC */
	int *many = new int[5]; /* ALLOC */
	int *other = new int; /* ALLOC */

	operator delete(block); /* BAD: mismatched-free */
	std::free(one); /* BAD: mismatched-free */
	delete many; /* BAD: mismatched-free */
	delete[] other; /* BAD: mismatched-free */
}

static std::size_t right()
{
	std::string text(100, 'x'), more = text + text;
	void *block = NULL;

	delete new wide;
	delete[] new wide[3];
	delete new (std::nothrow) int;
	delete[] new (std::nothrow) int[3];
	std::free(std::realloc(std::malloc(4), 4000));
	if (!posix_memalign(&block, 64, 100))
		std::free(block);
	try {
		throw more + text;
	} catch (const std::string &thrown) {
		return thrown.size();
	}
}

int main()
{
	wrong();
	return right() != 300;
}
