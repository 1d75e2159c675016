/* SPDX-License-Identifier: MIT */
/*
 * keeper.h: how a recorded process that has given up rights (setuid, chroot, a read-only or other root, limits) still
 * reaches its recording: `fredctl record` listens on an abstract socket (no path, no permissions) and does there what
 * the process may not. One request a connection (SOCK_SEQPACKET); the answer is a struct keeper_answer, with a
 * descriptor (SCM_RIGHTS) for OPEN. Only processes that record into it, and descendants of the recording client, are
 * answered.
 *
 * An abstract name is known in one network namespace. A process that enters another one connects before it does, binds
 * the name there, and sends the listening socket over that connection (LISTEN).
 */
#ifndef FRED_RLOG_KEEPER_H
#define FRED_RLOG_KEEPER_H

#include <stdint.h>

enum keeper_op {
	KEEPER_OPEN = 1,
	KEEPER_MKDIR = 2,
	KEEPER_RENAME = 3,
	KEEPER_UNLINK = 4,
	KEEPER_ACCESS = 5,
	KEEPER_GROW = 6, /* writes zeros to [off, end), also beyond the process's RLIMIT_FSIZE */
	KEEPER_WRITE = 7, /* writes the bytes after the request at off */
	KEEPER_APPEND = 8, /* the same at the end of a file, which is made if it is missing */
	/*
	 * copies [off, end) of the file whose descriptor came with it to the same place of a file, which is made if it
	 * is missing
	 */
	KEEPER_COPY = 9,
	KEEPER_LISTEN = 10, /* a listening socket came with it */
};

struct keeper_req {
	uint32_t op; /* enum keeper_op */
	uint32_t flags; /* OPEN: as for open */
	uint32_t mode; /* OPEN, MKDIR */
	uint32_t pad;
	uint64_t off, end;
	char path[160], to[160]; /* relative to the recording; to: only RENAME */
};
#define KEEPER_DATA 4096 /* the most bytes after a request */

struct keeper_answer {
	int32_t ret; /* 0 or -errno */
	uint32_t pad;
	uint64_t secret[2]; /* as in the control page */
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
