# SPDX-License-Identifier: MIT
"""mi: a small client of GDB/MI, as editors have one, for tests of `fredctl mi`."""
import re
import select
import subprocess
import time

DEADLINE = 120


class Mi:
    """A program that speaks GDB/MI, as a context."""

    def __init__(self, argv, **more):
        self.proc = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     **more)
        self.data = b""
        self.lines = []  # all that it said
        self.token = 0

    def __enter__(self):
        return self

    def __exit__(self, *why):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.communicate()

    def line(self):
        """The next line; None at the end."""
        until = time.monotonic() + DEADLINE
        while b"\n" not in self.data:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.proc.stdout], [], [], left)[0]:
                raise TimeoutError("GDB says nothing more behind:\n" + "".join(self.lines[-20:]))
            more = self.proc.stdout.read1(65536)
            if not more:
                return None
            self.data += more
        text, self.data = self.data.split(b"\n", 1)
        self.lines.append(text.decode("utf-8", "replace") + "\n")
        return self.lines[-1].rstrip()

    def ready(self, seconds):
        """Has it stopped by then?"""
        while b"*stopped" not in self.data:
            if not select.select([self.proc.stdout], [], [], seconds)[0]:
                return False
            self.data += self.proc.stdout.read1(65536)
        return True

    def until(self, pattern):
        while True:
            text = self.line()
            if text is None:
                raise EOFError("GDB has ended: %s %s" % ("".join(self.lines[-20:]), self.proc.stderr.read()))
            if re.match(pattern, text):
                return text

    def send(self, command):
        self.token += 1
        self.proc.stdin.write(b"%d%s\n" % (self.token, command.encode()))
        self.proc.stdin.flush()

    def ask(self, command):
        """The result record."""
        self.send(command)
        return self.until(r"%d\^" % self.token)

    def move(self, command):
        """The record of the stop."""
        result = self.ask(command)
        if "^error" in result:
            raise AssertionError("%s: %s" % (command, result))
        return self.until(r"\*stopped")

    def value(self, expr):
        return re.search(r'value="(.*)"$', self.ask("-data-evaluate-expression %s" % expr)).group(1)

    def quit(self):
        """Its exit status."""
        self.send("-gdb-exit")
        while self.line() is not None:
            pass
        return self.proc.wait(DEADLINE)
