// SPDX-License-Identifier: MIT
/*
 * harness.h: a real server in a child process, and clients to it. Every wait has a deadline: sockets
 * time out, and alarm() ends both processes.
 */
#ifndef TEST_RPC_HARNESS_H
#define TEST_RPC_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <sys/types.h>

#include "replay/operation.h"
#include "wire/framing.h"

#define DEADLINE_S 60

extern const struct op_entry fake_ops[]; /* fake_ops.c */

struct harness {
	char dir[64];
	pid_t pid; /* of the server */
	int status; /* after harness_join */
};

struct peer {
	int fd;
	struct wire_frame in;
};

/* cmocka's fixtures; *state is the harness. */
int harness_setup(void **state);
int harness_setup_idle(void **state); /* ends after 10 ms without clients */
int harness_teardown(void **state); /* asks the server to stop, fails if it did not end well */
/* Waits for the server's end. */
void harness_join(struct harness *h);

void peer_open(struct peer *p, const struct harness *h);
void peer_close(struct peer *p);
void peer_send(struct peer *p, const char *data, size_t len);
void peer_send_str(struct peer *p, const char *line);
/* Sends a request for `replay` of this recording: what the fake operation does. */
void peer_replay(struct peer *p, int id, const char *what);
/* The next message; NULL at the end of the connection. New reference. */
json_t *peer_read(struct peer *p);
/* The next message that has this id, i.e. the answer; notifications are skipped and counted. */
json_t *peer_answer(struct peer *p, int id, unsigned *notifications);
/* Its error.code; 0: it is a result. Releases msg. */
int take_code(json_t *msg);
/* The PID of the n-th running operation's worker, or 0. */
pid_t peer_worker(struct peer *p);
/* Waits until the process, which need not be a child, has ended. 0, or -1: it did not. */
int wait_gone(int pidfd);

#endif
