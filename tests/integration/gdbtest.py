# SPDX-License-Identifier: MIT
"""gdbtest: what the tests of debugging sessions share: a program with known lines, and sessions of `fredctl debug`."""
import re
import shutil

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


def expect(text, *marks):
    """The marks stand in the text in this order."""
    at = 0
    for mark in marks:
        found = text.find(mark, at)
        check(found >= 0, "no '%s' behind '%s' in:" % (mark, text[max(0, at - 40):at]), text)
        at = found + len(mark)


def debug(s, rec, *commands):
    """What GDB prints in a session of `fredctl debug`, and fred in it."""
    if not shutil.which("gdb"):
        raise Skip("gdb")
    r = s.fred("debug", rec, stdin="set confirm off\nset width 0\n%s\nquit\n" % "\n".join(commands))
    check(r.returncode == 0, r.stdout, r.stderr)
    return r.stdout, r.stderr


def position(text):
    """Of `when`'s lines, the positions."""
    return re.findall(r"^(?:\(gdb\) )*event \d+ of \d+, (\d+/0x[0-9a-f]+#\d+)", text, re.M)
