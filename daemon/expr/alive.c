/* SPDX-License-Identifier: MIT */
/* alive.c: whether an expression has no value because its process was killed: see expr.h. */
#include <signal.h>
#include <sys/wait.h>

#include "base/maps.h"
#include "expr/expr.h"

/* Was this child killed? (A call into it that ended the process is another case.) */
static bool was_killed(pid_t pid)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT | __WALL))
		return false;
	if (info.si_pid)
		return info.si_code == CLD_KILLED && info.si_status == SIGKILL;
	/* as long as some of its threads are held, the kernel does not report its end */
	return maps_is_dead(pid) && WIFSIGNALED(maps_end_status(pid)) && WTERMSIG(maps_end_status(pid)) == SIGKILL;
}

int expr_check_alive(const struct expr_value *v, pid_t pid, struct err *e)
{
	return v->truth == SEARCH_ERROR && !v->ended && was_killed(pid)
		       ? err_set(e, ERR_KILLED, "process %d was killed", (int)pid)
		       : 0;
}
