# SPDX-License-Identifier: MIT
"""explain.py: `explain` in a session: fredctl explain, about the process that is debugged. fredctl puts this text into GDB, behind
commands.py.
"""
import subprocess

import gdb

STEPS = re.compile(r"\(--at (\S+)\)")


class Explain(Command):
    """explain [--depth N]: from the failure back to its cause; each step has a position that `goto` takes."""

    def go(self, arg, from_tty):
        self.dont_repeat()
        recording = gdb.convenience_variable("_fred_recording")
        if recording is None:
            raise gdb.GdbError("explain: this program is being recorded: `kill` completes its recording (at a crash, with the crash), "
                               "then fredctl explain")
        gdb.write(self.ask([gdb.convenience_variable("_fredctl").string(), "-q", "explain", recording.string(),
                            "--process", proc("process")[0]] + gdb.string_to_argv(arg)))

    @staticmethod
    def ask(command):
        """Its progress goes to the terminal, and a Ctrl-C to it, too."""
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8", errors="replace") as child:
            text = child.communicate()[0]
        if child.returncode not in (0, 1):
            raise gdb.GdbError("explain: no answer")  # it has said why
        return STEPS.sub(r"(goto \1)", text)


def add_explain():
    for prefix in ("", "fred-"):
        Explain(prefix + "explain", gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE)
