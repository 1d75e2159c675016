# SPDX-License-Identifier: MIT
"""explain.py: `explain`, `why`, `check` and `trace` in a session: the commands of fredctl with these names, about the process that is debugged.
fredctl puts this text into GDB, after commands.py.
"""
import subprocess

import gdb

STEPS = re.compile(r"\(--at (\S+)\)")
POSITION = re.compile(r"\d+/0x[0-9a-f]+#\d+")


def recording_for(name):
    recording = path_in("_fred_recording")
    if recording is None:
        raise gdb.GdbError("%s: this program is being recorded: `kill` completes its recording, then fredctl %s" % (name, name))
    return recording


class Options(Command):
    """A command whose words are known, for completion."""

    WORDS = ()

    def complete(self, text, word):
        """GDB's word begins after the last `-` of what is being typed."""
        typed = re.search(r"\S*$", text).group(0)
        return [w[len(typed) - len(word):] for w in self.WORDS if w.startswith(typed) and w not in text.split()]


class Explain(Command):
    """explain [--depth N]: goes from the failure back to its cause; each step has a position that `goto` takes."""

    def go(self, arg, from_tty):
        self.dont_repeat()
        recording = path_in("_fred_recording")
        if recording is None:
            raise gdb.GdbError("explain: this program is being recorded: `kill` completes its recording (at a crash, with the crash), "
                               "then fredctl explain")
        gdb.write(self.ask([path_in("_fredctl"), "-q", "explain", recording,
                            "--process", proc("process")[0]] + gdb.string_to_argv(arg)))

    @staticmethod
    def ask(command):
        """Runs fredctl, which shows its progress on the terminal, and gets a Ctrl-C."""
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, encoding="utf-8", errors="replace") as child:
            text = child.communicate()[0]
        if child.returncode not in (0, 1):
            raise gdb.GdbError("%s: no answer" % command[2])  # it has printed the reason
        return STEPS.sub(r"(goto \1)", text)


class Why(Command):
    """why [--depth N] EXPR: shows where the value of EXPR came from: the statement that made it, what that used, and so on, with positions that `goto` takes."""

    def go(self, arg, from_tty):
        self.dont_repeat()
        options, expr = re.match(r"\s*(--depth[ =]\S+\s+)?(.*)$", arg, re.S).groups()
        if not expr:
            raise gdb.GdbError("why [--depth N] EXPR: which expression?")
        recording = recording_for("why")
        at = POSITION.search(quietly("monitor when"))
        if at is None:
            raise gdb.GdbError("why: the program stands at no position of the recording")
        gdb.write(Explain.ask([path_in("_fredctl"), "-q", "why", *(options or "").split(), "--at", at.group(0),
                               "--process", proc("process")[0], "--", recording, self.expression(expr)]))

    @staticmethod
    def expression(text):
        """Replaces variables of another frame than the innermost by their addresses."""
        text = substitute(text)
        if gdb.selected_frame() == gdb.newest_frame():
            return text
        value = gdb.parse_and_eval(text)
        return literal(value) if value.address is None else "(*(%s *)0x%x)" % (value.type.unqualified(), int(value.address))


class Check(Options):
    """check memory|races [--uninitialised]: lists errors of the whole recording; each has positions that `goto` takes, and a number for `check N`, which goes there."""

    WORDS = ("memory", "races", "--uninitialised", "--suppressions")
    found = []

    def go(self, arg, from_tty):
        self.dont_repeat()
        if re.fullmatch(r"\s*\d+\s*", arg):
            return self.visit(int(arg), from_tty)
        text = Explain.ask([path_in("_fredctl"), "-q", "check", *self.what(gdb.string_to_argv(arg)),
                            "--process", proc("process")[0]])
        # of a race, its later access is told last
        Check.found = [re.findall(r"thread \d+, event .*\(goto (\S+)\)", one)[-1:] for one in re.split(r"(?m)^(?=\d+\. )", text)[1:]]
        gdb.write(text)

    def what(self, words):
        names = [w for w in words if w in ("memory", "races")]
        if len(names) != 1:
            raise gdb.GdbError("check memory|races [--uninitialised]: what is to be checked?")
        words.remove(names[0])
        return names + [recording_for("check")] + words

    @staticmethod
    def visit(number, from_tty):
        if not 1 <= number <= len(Check.found) or not Check.found[number - 1]:
            raise gdb.GdbError("check %d: there is no such finding: `check memory` and `check races` number them" % number)
        gdb.execute("goto " + Check.found[number - 1][0], from_tty)


class Trace(Options):
    """trace --calls|--lines|--insn|--memory [--from POS] [--to POS] [--all]: lists what was executed from POS (start) up to POS (here)."""

    WORDS = ("--calls", "--lines", "--insn", "--memory", "--from", "--to", "--all")

    def go(self, arg, from_tty):
        self.dont_repeat()
        words = gdb.string_to_argv(arg)
        if not any(w == "--to" or w.startswith("--to=") for w in words):
            words += ["--to", self.here()]
        gdb.write(Explain.ask([path_in("_fredctl"), "-q", "trace", recording_for("trace"), *words,
                               "--process", proc("process")[0]]))

    @staticmethod
    def here():
        said = quietly("monitor when")
        at = POSITION.search(said) or re.search(r"event (\d+)", said)
        if at is None:
            raise gdb.GdbError("trace: the program stands at no position of the recording: name one with --to")
        return at.group(at.lastindex or 0)


def add_explain():
    for prefix in ("", "fred-"):
        Check(prefix + "check", gdb.COMMAND_RUNNING)
        Trace(prefix + "trace", gdb.COMMAND_RUNNING)
        Why(prefix + "why", gdb.COMMAND_RUNNING, gdb.COMPLETE_EXPRESSION)
        Explain(prefix + "explain", gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE)
