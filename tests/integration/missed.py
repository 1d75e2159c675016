# SPDX-License-Identifier: MIT
"""missed: a daemon whose workers miss one hit of a debug register each, as a virtual processor does now and then."""
import os
import subprocess

from fredtest import BUILD, FREDCTL, check

DROP = r"""
/*
 * Preloaded into fredd: in each worker, one hit of a debug register on data, or on code, is lost. $DROP_HIT is a file with the hit's
 * number, from 1; or -N: each Nth is. $DROP_HIT.seen gets a byte for each hit up to it, 'd' for what is lost.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT_STEP (1 << 14) /* of DR6 */

static long number(void)
{
	const char *path = getenv("DROP_HIT");
	FILE *f = path ? fopen(path, "r") : NULL;
	long n = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%ld", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static void note(int lost)
{
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s.seen", getenv("DROP_HIT"));
	fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, lost ? "d" : "x", 1) != 1)
		_exit(99);
	close(fd);
}

/* $DROP_CODE: of a breakpoint, not of data */
static int is_kind(int data)
{
	return !getenv("DROP_CODE") == data;
}

static int is_hit(pid_t tid)
{
	long dr6, dr7;
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) || info.si_code != TRAP_HWBKPT)
		return 0;
	errno = 0;
	dr6 = ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, u_debugreg[6]), 0);
	dr7 = ptrace(PTRACE_PEEKUSER, tid, offsetof(struct user, u_debugreg[7]), 0);
	if (errno || dr6 & BIT_STEP)
		return 0;
	for (int i = 0; i < 4; i++)
		if (dr6 & 1 << i && is_kind(dr7 >> (16 + 4 * i) & 1))
			return 1;
	return 0;
}

/* Is it the one? Then the thread goes on. */
static int drop(pid_t tid, int status)
{
	static long seen;
	static pid_t self;
	int lost;
	long n = WIFSTOPPED(status) && status >> 8 == SIGTRAP ? number() : 0;

	if (!n || !is_hit(tid))
		return 0;
	if (self != getpid())
		seen = 0;
	self = getpid();
	if (++seen > n && n > 0)
		return 0;
	lost = n > 0 ? seen == n : seen % -n == 0;
	note(lost);
	if (!lost)
		return 0;
	ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, u_debugreg[6]), 0);
	return !ptrace(PTRACE_CONT, tid, 0, 0);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	pid_t (*real)(pid_t, int *, int) = (pid_t(*)(pid_t, int *, int))dlsym(RTLD_NEXT, "waitpid");
	int s = 0;
	pid_t r;

	do
		r = real(pid, &s, options);
	while (r > 0 && drop(r, s));
	if (r > 0 && status)
		*status = s;
	return r;
}
"""


class Missing:
    """Such a daemon, as a context. Commands with the environment `env` use it."""

    def __init__(self, s, code=False):
        """code: of breakpoints, not of data"""
        self.home, self.file, lib = s.path("home-missing"), s.path("drop_hit"), s.path("drop.so")
        with open(s.path("drop.c"), "w") as f:
            f.write(DROP)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", lib, s.path("drop.c")], check=True, timeout=60)
        os.makedirs(self.home, 0o700, exist_ok=True)
        self.env = dict(s.env, FRED_HOME=self.home)
        self.preload = dict(self.env, LD_PRELOAD=lib, DROP_HIT=self.file, **{"DROP_CODE": "1"} if code else {})

    def __enter__(self):
        ready, tell = os.pipe()
        subprocess.run([os.path.join(BUILD, "daemon/fredd"), "--ready-fd", str(tell)], env=self.preload, stdin=subprocess.DEVNULL,
                       pass_fds=(tell,), check=True, timeout=60)
        os.close(tell)
        with os.fdopen(ready, "rb") as f:
            check(f.read(1), "fredd is not ready")
        return self

    def __exit__(self, *why):
        subprocess.run([FREDCTL, "shutdown"], env=self.env, capture_output=True, timeout=60)

    def run(self, n, command):
        """Runs command() while the worker misses hit n, from 1. What it returned, how many hits there were up to that one, and how many were missed."""
        seen = self.file + ".seen"
        if os.path.exists(seen):
            os.unlink(seen)
        with open(self.file, "w") as f:
            f.write(str(n))
        r, hits = command(), b""
        if os.path.exists(seen):
            with open(seen, "rb") as f:
                hits = f.read()
        return r, len(hits), hits.count(b"d")

    def each(self, command, most):
        """command() must return the same whichever hit is missed: all of them, or `most`, at equal distances. It has some.
        There are not as many each time."""
        right, hits, _ = self.run(1 << 40, command)
        check(hits, "no hits", right)
        for i in range(min(hits, most)):
            n = hits - i * hits // min(hits, most)
            missed = 0
            while n and not missed:
                got, seen, missed = self.run(n, command)
                check(got == right, "without hit %d of %d" % (n, hits), got, right)
                n = min(n - 1, seen)
            check(missed, "no hit was missed", hits)
