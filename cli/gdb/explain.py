# SPDX-License-Identifier: MIT
"""explain.py: `explain` and `why` in a session: fredctl explain and fredctl why, about the process that is debugged. fredctl puts this text into GDB, after
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
            raise gdb.GdbError("%s: no answer" % command[2])  # it has said why
        return STEPS.sub(r"(goto \1)", text)


class Why(Command):
    """why [--depth N] EXPR: where the value of EXPR came from: the statement that made it, what that used, and so on, with positions that `goto` takes."""

    def go(self, arg, from_tty):
        self.dont_repeat()
        options, expr = re.match(r"\s*(--depth[ =]\S+\s+)?(.*)$", arg, re.S).groups()
        if not expr:
            raise gdb.GdbError("why [--depth N] EXPR: which expression?")
        recording = gdb.convenience_variable("_fred_recording")
        if recording is None:
            raise gdb.GdbError("why: this program is being recorded: `kill` completes its recording, then fredctl why")
        at = re.search(r"\d+/0x[0-9a-f]+#\d+", quietly("monitor when"))
        if at is None:
            raise gdb.GdbError("why: the program stands at no position of the recording")
        gdb.write(Explain.ask([gdb.convenience_variable("_fredctl").string(), "-q", "why", *(options or "").split(), "--at", at.group(0),
                               "--process", proc("process")[0], "--", recording.string(), self.expression(expr)]))

    @staticmethod
    def expression(text):
        """A variable of another frame than the innermost is told by its address."""
        text = substitute(text)
        if gdb.selected_frame() == gdb.newest_frame():
            return text
        value = gdb.parse_and_eval(text)
        return literal(value) if value.address is None else "(*(%s *)0x%x)" % (value.type.unqualified(), int(value.address))


def add_explain():
    for prefix in ("", "fred-"):
        Why(prefix + "why", gdb.COMMAND_RUNNING, gdb.COMPLETE_EXPRESSION)
        Explain(prefix + "explain", gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE)
