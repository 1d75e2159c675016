/* SPDX-License-Identifier: MIT */
/*
 * filed.c: structs in a file that is mapped, grown with mremap, synced, mapped privately.
 *
 * LEVELS: -O0 -O2
 * EXPR: db->rows < 7
 * EXPR: db->row[2].balance >= 0
 * EXPR: own == 0 || own->row[1].balance < 9
 * EXPR: db->row[db->rows - 1].id != 4
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

volatile int pass;
struct db {
	int rows;
	struct {
		int id, balance;
	} row[500];
};
struct db *db, *own;

int main(void)
{
	char name[] = "/tmp/filedXXXXXX";
	int fd = mkstemp(name);

	unlink(name);
	if (ftruncate(fd, 3 * 4096))
		return 2;
	db = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int i = 0; i < 9; i++) {
		pass = i;
		db->row[db->rows].id = i % 5;
		db->row[db->rows].balance = 5 - i;
		db->rows++;
		if (i == 4)
			db = mremap(db, 4096, 8192, MREMAP_MAYMOVE);
		if (i == 6) {
			own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
			own->row[1].balance = 9;
			db->rows -= 4;
		}
		if (i == 7)
			db->row[2].balance -= 9, own->row[1].balance = 1;
		if (i == 8)
			db->row[2].balance += 3;
	}
	own->row[1].balance += 20;
	db->row[2].balance = -1;
	db->rows = 7;
	db->row[6].id = 4;
	puts("end");
	_exit(1);
}
