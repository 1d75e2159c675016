/* SPDX-License-Identifier: MIT */
/* A sensible number becomes an index that leads out of the table. KIND: segfault */
static int one(int x)
{
	return x;
}

static int (*const table[2])(int) = {one, one};
static int opcode;

int main(int argc, char **argv)
{
	(void)argv;
	opcode = argc * 100000000; /* BUG */
	return table[opcode](1);
}
