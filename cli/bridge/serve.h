/* SPDX-License-Identifier: MIT */
/* serve.h: a recording for debuggers that connect to a TCP port: GDB's remote protocol, on the loopback interface. */
#ifndef FRED_BRIDGE_SERVE_H
#define FRED_BRIDGE_SERVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "args/args.h"

/*
 * Listens on 127.0.0.1:port (0: any free port), says so on standard output, and serves debuggers until a signal ends
 * it, or the first of them goes (once). params: of the operation `debug`, stolen. 0 and the command's exit code, or -1.
 */
int serve_rsp(const struct cli *cli, uint64_t port, bool once, json_t *params, int *code, struct err *e);

#endif
