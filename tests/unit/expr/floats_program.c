/* SPDX-License-Identifier: MIT */
/* floats_program.c: floating-point numbers of each kind and place; then it blocks. */
#include <math.h>

extern long block_here(void);

struct body {
	double mass;
	float speed[3];
	struct body *next;
	unsigned char rings;
};

static struct body moon = {0.0123, {1.022f, -0.5f, 0.1f}, 0, 0}, earth = {1, {29.78f, 0, -3e30f}, &moon, 1};
static double half = 0.5, minus = -7.75, huge = 1e300, nothing, not_a_number, endless;
static float third = 1 / 3.0f, tenth = 0.1f;
static int three = 3;
static unsigned four = 4;
static long big = 9007199254740993;
static unsigned long biggest = ~0ul;
static signed char small = -5;

int main(void)
{
	double local = 2.5;
	volatile float wide = 16777216.0f;

	not_a_number = NAN;
	endless = huge * huge;
	__asm__ volatile("" : : "r"(&moon), "r"(&earth), "r"(&half), "r"(&minus), "r"(&huge), "r"(&nothing) : "memory");
	__asm__ volatile("" : : "r"(&third), "r"(&tenth), "r"(&three), "r"(&four), "r"(&big), "r"(&biggest) : "memory");
	__asm__ volatile("" : : "r"(&small), "r"(&local), "r"(&not_a_number), "r"(&endless) : "memory");
	return (int)block_here() + (wide > local);
}
