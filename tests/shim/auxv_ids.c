/* SPDX-License-Identifier: MIT */
/*
 * auxv_ids.c: the IDs in the auxiliary vector are those that the process had when it was recorded, whoever replays it:
 * root has it started again by a group that is not the replay's.
 */
#include "check.h"

#include <sys/auxv.h>
#include <unistd.h>

#define GROUP 5

int main(int argc, char **argv)
{
	if (argc == 1 && getuid() == 0) {
		NEED(setresgid(GROUP, GROUP, GROUP) == 0);
		execl("/proc/self/exe", argv[0], "again", (char *)0);
		NEED(!"started again");
	}
	CHECK(getauxval(AT_UID) == getuid());
	CHECK(getauxval(AT_EUID) == geteuid());
	CHECK(getauxval(AT_GID) == getgid());
	CHECK(getauxval(AT_EGID) == getegid());
	printf("%lu %lu %lu %lu\n", getauxval(AT_UID), getauxval(AT_EUID), getauxval(AT_GID), getauxval(AT_EGID));
	return check_status();
}
