/* SPDX-License-Identifier: MIT */
/* commands.c: the list of commands, in the order of the help. */
#include "cmd/commands.h"

const struct cli_command *const commands[] = {
	&cmd_record, &cmd_replay, &cmd_reverse_watch, &cmd_explain,    &cmd_diff,	 &cmd_check,
	&cmd_why,    &cmd_slice,  &cmd_window,	      &cmd_trace,      &cmd_bisect,	 &cmd_report,
	&cmd_debug,  &cmd_repl,	  &cmd_sessions,      &cmd_checkpoint, &cmd_checkpoints, &cmd_restart,
	&cmd_mi,     &cmd_dap,	  &cmd_serve,	      &cmd_eval,       &cmd_backtrace,	 &cmd_events,
	&cmd_ps,     &cmd_ls,	  &cmd_info,	      &cmd_rm,	       &cmd_pack,	 &cmd_unpack,
	&cmd_doctor, &cmd_status, &cmd_shutdown,      &cmd_help,       &cmd_version,	 &cmd_completion,
	NULL,
};
