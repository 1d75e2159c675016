/* SPDX-License-Identifier: MIT */
/* handshake.c: see handshake.h. */
#include "cell/handshake.h"

#include <linux/keyctl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

void handshake_default_signals(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int sig = 1; sig <= SIGRTMAX; sig++)
		sigaction(sig, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int handshake_arm(int sock, struct err *e)
{
	char answer;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (send(sock, "a", 1, MSG_NOSIGNAL) != 1 || recv(sock, &answer, 1, 0) != 1)
		return err_set(e, ERR_INTERNAL, "the process that started the cell has ended");
	handshake_default_signals();
	/*
	 * Processes of the cell get no access to the user's keys (keyrings(7)). If this call is refused (by a
	 * container's filter), any use of keys is, too.
	 */
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	return 0;
}

_Noreturn void handshake_run(int sock, int failed, const struct err *e, int (*init)(void *arg), void *arg)
{
	ssize_t sent = send(sock, e, sizeof(*e), MSG_NOSIGNAL);

	close(sock);
	_exit(failed || sent != (ssize_t)sizeof(*e) ? 127 : init(arg));
}

int handshake_wait(int sock, struct err *e)
{
	struct err theirs;
	char armed;

	if (recv(sock, &armed, 1, 0) == 1 && send(sock, "g", 1, MSG_NOSIGNAL) == 1 &&
	    recv(sock, &theirs, sizeof(theirs), 0) == (ssize_t)sizeof(theirs)) {
		if (theirs.kind == ERR_NONE)
			return 0;
		theirs.text[sizeof(theirs.text) - 1] = 0;
		return err_set(e, theirs.kind, "%s", theirs.text);
	}
	return 1;
}

int handshake_died(int status, struct err *e)
{
	if (WIFSIGNALED(status))
		return err_set(e, ERR_INTERNAL, "its first process was killed by SIG%s",
			       sigabbrev_np(WTERMSIG(status)));
	return err_set(e, ERR_INTERNAL, "its first process ended with status %d", WEXITSTATUS(status));
}
