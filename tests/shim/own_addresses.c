/* SPDX-License-Identifier: MIT */
/*
 * own_addresses.c: a program that maps memory where a replay has its own: it gets other memory, or none.
 * NOTES: a mapping that is refused
 */
#include "check.h"

#include <stdint.h>
#include <sys/mman.h>

#define BYTES 65536u

static int works(unsigned char *p)
{
	int good = 1;

	for (unsigned i = 0; i < BYTES; i += 512)
		p[i] = (unsigned char)(i / 512);
	getppid();
	for (unsigned i = 0; i < BYTES; i += 512)
		good &= p[i] == (unsigned char)(i / 512);
	return good;
}

static void map_at(uintptr_t at, int flags, int error)
{
	unsigned char *p = mmap((void *)at, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED) {
		CHECK(error && errno == error);
		return;
	}
	CHECK(works(p));
	CHECK(munmap(p, BYTES) == 0);
}

int main(void)
{
	static const uintptr_t places[] = {0x1e0000000000, 0x1e1000000000, 0x10ffffff8000, 0x1e6000000000,
					   0x190000000000};
	static const uintptr_t free_ones[] = {0x40000000000, 0x80000000000,
					      0x100000000000, /* as Java's ZGC maps them */
					      0x1fffffff0000}; /* as CLISP does */

	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++) {
		map_at(places[i], 0, 0);
		map_at(places[i], MAP_FIXED_NOREPLACE, EEXIST);
		map_at(places[i], MAP_FIXED, ENOMEM);
	}
	step("places of a replay's own");
	for (unsigned i = 0; i < sizeof(free_ones) / sizeof(*free_ones); i++) {
		unsigned char *p =
			mmap((void *)free_ones[i], BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		NEED(p == (unsigned char *)free_ones[i]);
		CHECK(works(p));
	}
	step("places that are the program's");
	return check_status();
}
