/* SPDX-License-Identifier: MIT */
/*
 * objects.h: where the dynamic linker maps a program's libraries. The linker asks for no address, so the kernel
 * chooses. It aligns a file of 2 MiB or more to huge pages if the file system supports these (thp_get_unmapped_area:
 * ext4, xfs, btrfs ..., tmpfs with huge=), else not. So a copy on another file system gets other addresses.
 */
#ifndef FRED_LAUNCH_OBJECTS_H
#define FRED_LAUNCH_OBJECTS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "launch/files.h"

/* A file, by what stat(2) says, and where its mapping begins. */
struct launch_object {
	uint64_t dev, ino;
	uint64_t at;
};

/*
 * pid is traced by the caller and is in its exec stop. It runs until the dynamic linker has finished; each of these
 * files is mapped at its address if there is room, and all else where the kernel chooses. files: where the linker finds
 * what it opens (files.h); NULL: at the usual paths. 0: the process stands before the first system call that is not the
 * linker's; 1: it has ended and is reaped, *e says how; -1: it lives, but cannot be followed.
 */
int launch_place_objects(pid_t pid, const struct launch_object *v, unsigned n, const struct launch_files *files,
			 struct err *e);

#endif
