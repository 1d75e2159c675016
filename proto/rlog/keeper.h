/* SPDX-License-Identifier: MIT */
/*
 * keeper.h: how a recorded process that has given up rights (setuid, chroot) still gets at its recording:
 * `fredctl record` listens on an abstract socket (no path, no permissions) and opens files on its behalf.
 * One request a connection (SOCK_SEQPACKET); the answer is an int32_t, 0 or -errno, with a descriptor (SCM_RIGHTS)
 * for OPEN. Only descendants of the recording client are answered.
 */
#ifndef FRED_RLOG_KEEPER_H
#define FRED_RLOG_KEEPER_H

#include <stdint.h>

enum keeper_op { KEEPER_OPEN = 1, KEEPER_MKDIR = 2, KEEPER_RENAME = 3, KEEPER_UNLINK = 4, KEEPER_ACCESS = 5 };

struct keeper_req {
	uint32_t op; /* enum keeper_op */
	uint32_t flags; /* OPEN: as for open */
	uint32_t mode; /* OPEN, MKDIR */
	uint32_t pad;
	char path[160], to[160]; /* in the recording, relative; to: RENAME */
};

#define KEEPER_NAME_LEN 24

/* The socket's name in the abstract namespace, of a recording's directory: KEEPER_NAME_LEN bytes, the first is 0. */
static inline void keeper_name(char *out, const char *dir)
{
	uint64_t h = 14695981039346656037ull;
	const char *prefix = "\0fred-rec";

	for (const char *s = dir; *s; s++)
		h = (h ^ (uint8_t)*s) * 1099511628211ull;
	for (int i = 0; i < 8; i++)
		out[i] = prefix[i];
	for (int i = 0; i < 16; i++)
		out[8 + i] = "0123456789abcdef"[h >> (60 - 4 * i) & 15];
}

#endif
