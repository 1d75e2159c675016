# SPDX-License-Identifier: MIT
"""denied: runs a command, and all that it starts, without the right to SCHED_FIFO or to perf_event_open(2), or in cells without
namespaces.

  tests/integration/denied.py fifo,perf COMMAND [ARG...]

SCHED_FIFO is refused for want of CAP_SYS_NICE. perf_event_open is refused by a seccomp filter, with which there are no checkpoints
by CRIU either (seccomp(2), PTRACE_SECCOMP_GET_FILTER). plain: see fredd(8), FRED_CELL.
"""
import ctypes
import errno
import os
import resource
import shutil
import struct
import subprocess
import sys

from fredtest import FREDCTL, check

COMBINATIONS = ("none", "fifo", "perf", "fifo,perf")
WITH_CELLS = COMBINATIONS + ("plain", "fifo,perf,plain")
PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, CAP_SYS_NICE = 22, 24, 38, 23
SYS_PERF_EVENT_OPEN = 298
BPF_LOAD, BPF_IF_EQUAL, BPF_RETURN = 0x20, 0x15, 0x06
RET_ERRNO, RET_ALLOW = 0x50000, 0x7FFF0000


def deny(what, command):
    """Never returns."""
    libc = ctypes.CDLL(None, use_errno=True)
    if "plain" in what:
        os.environ["FRED_CELL"] = "plain"
    if "fifo" in what:
        resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
        # an ordinary user has no capability to give up
        check(not libc.prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0) or os.geteuid(), "PR_CAPBSET_DROP")
    if "perf" in what:
        ops = [(BPF_LOAD, 0, 0, 0), (BPF_IF_EQUAL, 0, 1, SYS_PERF_EVENT_OPEN), (BPF_RETURN, 0, 0, RET_ERRNO | errno.EPERM),
               (BPF_RETURN, 0, 0, RET_ALLOW)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *op) for op in ops))
        program = ctypes.create_string_buffer(struct.pack("H6xQ", len(ops), ctypes.addressof(code)))
        if libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0):  # who has no CAP_SYS_ADMIN, as root in a container, promises this first
            check(not libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS")
            check(not libc.prctl(PR_SET_SECCOMP, 2, program, 0, 0), "PR_SET_SECCOMP")
    os.execvp(command[0], command)


def without(what):
    return (sys.executable, os.path.abspath(__file__), what) if what != "none" else ()


class Home:
    """A daemon of its own, as a context, that has not these rights, nor has what it starts. It leaves no checkpoints in the recordings."""

    def __init__(self, s, what, *recs):
        self.s, self.what, self.recs, self.path = s, what, recs, s.path("home-" + what)
        self.env = dict(s.env, FRED_HOME=self.path)

    def __enter__(self):
        os.makedirs(self.path, 0o700, exist_ok=True)
        return self

    def __exit__(self, *why):
        subprocess.run([FREDCTL, "shutdown"], env=self.env, capture_output=True, timeout=60)
        for rec in self.recs:
            shutil.rmtree(os.path.join(rec, "checkpoints"), ignore_errors=True)


if __name__ == "__main__":
    deny(sys.argv[1], sys.argv[2:])
