/* SPDX-License-Identifier: MIT */
/* commands.h: the commands. Each cmd_*.c defines those in its name: options, usage, and a function that parses and
 * calls. */
#ifndef FRED_CMD_COMMANDS_H
#define FRED_CMD_COMMANDS_H

#include "args/args.h"

extern const struct cli_command cmd_record, cmd_replay, cmd_reverse_watch, cmd_eval, cmd_backtrace, cmd_events, cmd_ls,
	cmd_info, cmd_rm, cmd_pack, cmd_unpack, cmd_doctor, cmd_status, cmd_shutdown, cmd_help, cmd_version,
	cmd_completion, cmd_debug, cmd_serve, cmd_mi, cmd_dap, cmd_sessions, cmd_repl, cmd_checkpoint, cmd_checkpoints,
	cmd_restart, cmd_ps, cmd_explain, cmd_diff, cmd_bisect, cmd_report, cmd_check, cmd_trace, cmd_why, cmd_slice,
	cmd_window;

/* All of them, in the order of the help, ended by NULL. */
extern const struct cli_command *const commands[];

#endif
