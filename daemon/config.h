/* SPDX-License-Identifier: MIT */
/* config.h: fredd's command line. */
#ifndef FRED_DAEMON_CONFIG_H
#define FRED_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct config {
	bool foreground; /* stay, log to standard error */
	bool help, version, print_criu, check_criu, check_checkpoint; /* print this and end */
	int ready_fd; /* "ok" or an error goes there, once; -1: none */
	uint64_t idle_s; /* 0: never end without a request */
};

/* ERR_USAGE when the arguments are wrong. */
int config_parse(struct config *c, int argc, char **argv, struct err *e);
const char *config_help(void);

#endif
