# SPDX-License-Identifier: MIT
"""gdbtest: what the tests of debugging sessions share: a program with known lines, fredctl serve, and
sessions of `fredctl debug`."""
import re
import shutil
import subprocess

from fredtest import Skip, check

LOOP = r"""
#include <stdio.h>
#include <stdlib.h>

int total;
struct place { int x; char c; double d; unsigned low:3, high:5; } here = {3, 'q', 2.5, 5, 17};

int twice(int x)
{
	int y = x * 2; /* twice: first */
	total += y; /* twice: store */
	return y;
}

int deeper(int n)
{
	return n ? 1 + deeper(n - 1) : twice(n);
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < 5; i++) {
		sum += twice(i + 1); /* main: call */
		printf("%d %d\n", i, sum);
		fflush(stdout); /* main: flush */
	}
	sum += deeper(4);
	return sum == 0;
}
"""


def line_of(source, mark):
    for number, line in enumerate(source.splitlines(), 1):
        if mark in line:
            return number
    raise KeyError(mark)


def expect(text, *marks, more=""):
    """The marks stand in the text in this order. more: shown too if they do not, as what went to standard error."""
    at = 0
    for mark in marks:
        found = text.find(mark, at)
        check(found >= 0, "no '%s' behind '%s'; then comes:" % (mark, text[max(0, at - 40):at]), text[at:at + 800], "of:", text, more)
        at = found + len(mark)


def need_gdb():
    if not shutil.which("gdb"):
        raise Skip("gdb")


class Server:
    """fredctl serve, as a context: .port"""

    def __init__(self, s, rec, *args):
        self.proc = s.start("serve", "--rsp", "0", rec, *args)
        line = self.proc.stdout.readline()
        found = re.search(r":(\d+)$", line.strip())
        check(found, "fredctl serve says '%s' %s" % (line, self.proc.stderr.read() if not line else ""))
        self.port = int(found.group(1))

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.proc.terminate()
        self.proc.communicate(timeout=60)


def gdb(s, rec, exe, *commands):
    """What GDB prints in a session of these commands."""
    need_gdb()
    with Server(s, rec) as server:
        args = ["gdb", "-q", "-batch", "-ex", "set sysroot /", "-ex", "set width 0",
                "-ex", "target extended-remote 127.0.0.1:%d" % server.port]
        for c in commands:
            args += ["-ex", c]
        r = subprocess.run(args + [exe], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, env=s.env)
    return r.stdout + r.stderr


def debug(s, rec, *commands, options=()):
    """What GDB prints in a session of `fredctl debug`, and fred in it."""
    need_gdb()
    r = s.fred("debug", *options, rec, stdin="set confirm off\nset width 0\n%s\nquit\n" % "\n".join(commands))
    check(r.returncode == 0, r.stdout, r.stderr)
    return r.stdout, r.stderr


def position(text):
    """Of `when`'s lines, the positions."""
    return re.findall(r"^(?:\(gdb\) )*event \d+ of \d+, (\d+/0x[0-9a-f]+#\d+)", text, re.M)


def symbol(exe, name):
    """Where it is in a replay: position-independent programs are loaded at the same address each time."""
    out = subprocess.run(["nm", exe], capture_output=True, text=True, check=True).stdout
    addr = int(re.search(r"^([0-9a-f]+) . %s$" % name, out, re.M).group(1), 16)
    return addr if addr >= 0x400000 else addr + 0x555555554000
