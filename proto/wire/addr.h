/* SPDX-License-Identifier: MIT */
/*
 * addr.h: where the daemon listens. $FRED_HOME/fredd.sock if that fits a sockaddr_un; else a name
 * derived from the path, in a private directory: $XDG_RUNTIME_DIR or /tmp/fred-UID,
 * with the UID that the user has outside of the caller's user namespace.
 */
#ifndef FRED_WIRE_ADDR_H
#define FRED_WIRE_ADDR_H

#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"

struct wire_addr {
	struct sockaddr_un sa;
	socklen_t len;
};

/*
 * home: $FRED_HOME, which exists. Fails (ERR_HOST) if the directory is not ours alone. The daemon calls it before it
 * enters a user namespace of its own, so that both ends ask in the same one.
 */
int wire_addr_init(struct wire_addr *a, const char *home, struct err *e);
/*
 * Binds and listens, mode 0600, non-blocking, close-on-exec; replaces a stale socket, so call it with the
 * daemon's lock held. Returns the descriptor or -1.
 */
int wire_listen(const struct wire_addr *a, struct err *e);
/*
 * Connects (blocking, close-on-exec). Returns the descriptor; -2 when nobody listens there (no error is
 * set); -1 on failure, also when the other end is another user's.
 */
int wire_connect(const struct wire_addr *a, struct err *e);
/* Does the peer of a connected socket run as our user? 0, or -1 with ERR_HOST. */
int wire_peer_check(int fd, struct err *e);

#endif
