# SPDX-License-Identifier: MIT
"""tmux: a terminal for tests, of a tmux server of its own: keys go in, what is written is waited for."""
import os
import re
import select
import shutil
import subprocess
import time

from fredtest import DEADLINE, Skip, check

ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>()][A-Z0-9]?|\x1b\][^\x07]*\x07|\r")


def need_tmux():
    if not shutil.which("tmux"):
        subprocess.run(["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "--no-install-recommends", "tmux"],
                       capture_output=True, timeout=600)
    if not shutil.which("tmux"):
        raise Skip("tmux")


class Terminal:
    """A context: one command in a terminal of 100 columns and 30 lines."""

    def __init__(self, s, *command, **env):
        need_tmux()
        self.socket = s.path("tmux%d" % time.monotonic_ns())
        self.seen = b""
        fifo = self.socket + ".out"
        os.mkfifo(fifo)
        self.out = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        words = ["%s=%s" % v for v in dict({"FRED_HOME": s.home, "LC_ALL": "C", "NO_COLOR": "1"}, **env).items()]
        # the pipe is there before the command writes
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "cat")
        self.tmux("set-option", "-g", "remain-on-exit", "on")
        self.tmux("pipe-pane", "cat >" + fifo)
        self.tmux("respawn-pane", "-k", "env", *words, *command)

    def tmux(self, *args):
        r = subprocess.run(["tmux", "-S", self.socket] + list(args), capture_output=True, text=True, timeout=DEADLINE)
        check(r.returncode == 0, "tmux %s" % " ".join(args), r.stdout, r.stderr)
        return r.stdout

    def pid(self):
        return int(self.tmux("display-message", "-p", "#{pane_pid}"))

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, line):
        self.tmux("send-keys", "-l", "--", line)
        self.tmux("send-keys", "Enter")

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def wait(self, mark, seconds=60):
        """Until the mark, a regular expression, is written behind what was waited for before; all up to there."""
        end = time.monotonic() + seconds
        while True:
            text = ESCAPES.sub(b"", self.seen).decode("utf-8", "replace")
            found = re.search(mark, text, re.M)
            if found:
                self.seen = text[found.end():].encode()
                return text[:found.end()]
            ready = select.select([self.out], [], [], max(0, end - time.monotonic()))[0]
            check(ready, "no '%s' on the terminal:" % mark, text, "the screen:", self.screen())
            data = os.read(self.out, 65536)
            check(data, "the terminal has ended; no '%s':" % mark, text)
            self.seen += data

    def prompt(self, line=None):
        """Types a line; what is written up to the next prompt."""
        if line is not None:
            self.type(line)
        return self.wait(r"\((gdb|fred)\) $")

    def __enter__(self):
        return self

    def __exit__(self, *why):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=DEADLINE)
        os.close(self.out)
