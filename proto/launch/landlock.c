/* SPDX-License-Identifier: MIT */
/* landlock.c: see landlock.h, and landlock(7). The header of an older kernel does not have all that a newer one knows.
 */
#include "launch/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NET_ALL 3ull
#define SCOPE_ALL 3ull /* abstract UNIX sockets, signals */

struct ruleset {
	uint64_t fs, net, scoped;
};

int landlock_version(void)
{
	long r = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	const char *most = getenv(LANDLOCK_MOST);

	if (r <= 0)
		return 0;
	return most && most[0] >= '1' && most[0] - '0' < r ? most[0] - '0' : (int)r;
}

/* What each version has added: 13 rights, REFER, TRUNCATE, IOCTL_DEV; TCP; scopes. */
static struct ruleset all_of(int version)
{
	unsigned bits = version >= 5 ? 16 : version >= 3 ? 15 : version >= 2 ? 14 : 13;

	return (struct ruleset){(1ull << bits) - 1, version >= 4 ? NET_ALL : 0,
				version >= LANDLOCK_SIGNALS ? SCOPE_ALL : 0};
}

static int allow(int rules, const char *path, uint64_t fs)
{
	struct landlock_path_beneath_attr b = {.allowed_access = fs};
	struct stat st;
	int r;

	b.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (b.parent_fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -1;
	r = fstat(b.parent_fd, &st);
	if (!r && S_ISDIR(st.st_mode))
		b.allowed_access |= fs & LANDLOCK_ACCESS_FS_READ_FILE ? LANDLOCK_ACCESS_FS_READ_DIR : 0;
	if (!r)
		r = (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &b, 0);
	close(b.parent_fd);
	return r;
}

static int allow_all(int rules, char *const *paths, uint64_t fs)
{
	for (; *paths; paths++)
		if (allow(rules, *paths, fs))
			return -1;
	return 0;
}

int landlock_self(const struct landlock_paths *p)
{
	const uint64_t execute = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
	int version = landlock_version(), rules, r;
	struct ruleset all = all_of(version);
	const uint64_t written = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;

	rules = (int)syscall(SYS_landlock_create_ruleset, &all,
			     version >= LANDLOCK_SIGNALS ? sizeof(all)
			     : version >= 4		 ? 2 * sizeof(uint64_t)
							 : sizeof(uint64_t),
			     0);
	if (rules < 0)
		return -1;
	r = allow(rules, "/proc", LANDLOCK_ACCESS_FS_READ_FILE) || allow_all(rules, p->read, execute) ||
			    allow_all(rules, p->write, written) || syscall(SYS_landlock_restrict_self, rules, 0)
		    ? -1
		    : 0;
	close(rules);
	return r;
}
