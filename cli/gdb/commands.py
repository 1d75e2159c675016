# SPDX-License-Identifier: MIT
"""commands.py: fred's commands in GDB that look at their expression before fred does. fredctl puts this text
into GDB, after state.py.
"""
import difflib
import os
import re
import signal
import sys

import gdb

QUOTED = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
VARIABLE = re.compile(QUOTED + r"|\$(\$\d*|\d+|[A-Za-z_]\w*|(?![\w$]))")


def literal(value):
    """The value as an expression that means the same in every frame."""
    t = value.type.strip_typedefs()
    if t.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM):
        return str(int(value)) if str(t) == "int" else "((%s)%d)" % (t.unqualified(), int(value))
    if t.code == gdb.TYPE_CODE_PTR:
        return "((%s)0x%x)" % (t.unqualified(), int(value))
    if t.code == gdb.TYPE_CODE_FLT:
        return "((%s)%r)" % (t.unqualified(), float(value))
    if value.address is not None:
        return "(*(%s *)0x%x)" % (t.unqualified(), int(value.address))
    raise gdb.GdbError("a %s is nothing that can be put into an expression" % t)


def substitute(expr):
    """Replaces convenience variables and values of the history by their present values; registers, functions and quoted texts stay."""
    def one(found):
        name = found.group(1)
        if name is None:
            return found.group(0)
        variable = gdb.convenience_variable(name) if re.match(r"[A-Za-z_]", name) else True
        if variable is None or variable is not True and variable.type.code == gdb.TYPE_CODE_INTERNAL_FUNCTION:
            return found.group(0)
        return literal(gdb.parse_and_eval(found.group(0)))
    return VARIABLE.sub(one, expr)


def where(pc):
    line = gdb.find_pc_line(pc)
    block = gdb.block_for_pc(pc)
    while block is not None and block.function is None:
        block = block.superblock
    name = block.function.name if block is not None else "0x%x" % pc
    return "%s at %s:%d" % (name, line.symtab.filename, line.line) if line.symtab else name


class Command(gdb.Command):
    """Shows an error of GDB's as GDB does, and not as an error of Python's."""

    def invoke(self, arg, from_tty):
        try:
            self.go(arg, from_tty)
        except gdb.error as why:
            raise gdb.GdbError(str(why))


class Arrive(Command):
    """The step by which GDB learns where a command has led. Forwards from a breakpoint, GDB 13 dies when another thread stops
    (finish_step_over): it steps over the breakpoint, of the thread that moved last. Backwards it does not, if that is selected."""

    @staticmethod
    def is_at_breakpoint():
        pc = gdb.newest_frame().pc()
        return any(at.address == pc for b in gdb.breakpoints() if b.enabled and hasattr(b, "locations") for at in b.locations)

    @staticmethod
    def select_mover():
        mover = quietly("monitor mover").strip()
        for thread in gdb.selected_inferior().threads():
            if str(thread.ptid[1]) == mover:
                thread.switch()

    def go(self, arg, from_tty):
        self.select_mover()
        gdb.execute("reverse-stepi" if self.is_at_breakpoint() else "stepi", from_tty)
        self.follow(from_tty)

    @staticmethod
    def read_libraries():
        """GDB learns of libraries that are opened only when it moves forwards itself. Returns whether it has read symbols."""
        try:
            return gdb.parameter("auto-solib-add") and "Reading symbols" in quietly("sharedlibrary")
        except gdb.error:
            return False

    @classmethod
    def follow(cls, from_tty):
        """If GDB has resumed only one thread, the stop is reported for that one, even if another one has moved."""
        before = gdb.selected_thread()
        cls.select_mover()
        if cls.read_libraries() or gdb.selected_thread() != before:
            gdb.execute("frame", from_tty)


class Live(Command):
    """Returns from the program's past to the running program (fredctl debug -- PROGRAM)."""

    def go(self, arg, from_tty):
        gdb.execute("monitor live", from_tty)
        gdb.execute("stepi", from_tty)
        Arrive.follow(from_tty)


class ReverseWatch(Command):
    """reverse-watch [--good POS] [--bad POS] [--insn] EXPR: goes back to the statement that gave EXPR its present value (good: the first checkpoint, else start)."""

    def go(self, arg, from_tty):
        gdb.execute("monitor later reverse-watch " + substitute(arg))
        gdb.execute("fred-arrive", from_tty)


class Last(Command):
    """last EXPR: goes back to the last change, before here, of the object that EXPR is now; of an EXPR that is none in memory, of its value."""

    def go(self, arg, from_tty):
        gdb.execute(self.watch(substitute(arg)), from_tty)
        number = int(gdb.convenience_variable("bpnum"))
        try:
            gdb.execute("reverse-continue", from_tty)
        finally:
            if any(b.number == number for b in gdb.breakpoints()):
                gdb.execute("delete %d" % number)

    @staticmethod
    def watch(arg):
        """By its address: a local variable is watched in other calls and callers, too, and what a pointer leads to does not change with it."""
        if re.match(r"-l(ocation)?\s", arg):
            return "watch " + arg
        value = gdb.parse_and_eval(arg)
        in_memory = not value.is_optimized_out and value.address is not None
        return "watch %s%s" % ("-location " if in_memory else "", arg)


class History(Command):
    """history EXPR: lists all changes of a value in memory from the start up to here, with positions that `goto` takes."""

    def go(self, arg, from_tty):
        value = gdb.parse_and_eval(substitute(arg))
        if value.address is None:
            raise gdb.GdbError("history EXPR: '%s' is nothing in memory" % arg)
        gdb.execute("monitor later history 0x%x %d" % (int(value.address), value.type.sizeof))
        self.show(gdb.execute("fred-arrive", to_string=True), value.type)

    @staticmethod
    def show(text, t):
        changes = re.findall(r"^change (\S+) (\d+) ([0-9a-f]+) ([0-9a-f]*) ([0-9a-f]*)$", text, re.M)
        for number, (position, tid, pc, old, new) in enumerate(changes, 1):
            before, after = (gdb.Value(bytes.fromhex(b), t).format_string() if b else "<not mapped>" for b in (old, new))
            gdb.write("%-3d %-28s thread %s, %s: %s -> %s\n" % (number, position, tid, where(int(pc, 16)), before, after))
        notes = re.findall(r"^fred: .*$", text, re.M)
        for line in notes:
            gdb.write(line + "\n", gdb.STDERR)
        if not changes and not notes:
            gdb.write("fred: no change between the start and here\n")


LINES_TEXT = 12000  # the longest request; a function with more lines is stepped through
LINES_BYTES = 8000  # the largest function whose instructions are sent, too


def lines_here():
    """The lines of the function in the form of `monitor lines`: each piece of code that GDB takes for one line."""
    block = gdb.newest_frame().block()
    while block.function is None:
        block = block.superblock
    at, numbers, words = block.start, {}, ["%x" % block.start]
    machine = gdb.newest_frame().architecture() if block.end - block.start <= LINES_BYTES else None
    while at < block.end and len(words) < LINES_TEXT:
        line = gdb.find_pc_line(at)
        end = min(max(line.last or at, at) + 1, block.end)
        number = numbers.setdefault((line.symtab and line.symtab.filename, line.line), len(numbers))
        words.append("%x:%x" % (end - at, number))
        if machine:
            words[-1] += ":" + "".join("%x" % insn["length"] for insn in machine.disassemble(at, end - 1))
        at = end
    return " ".join(words)


def tell_lines():
    """Called before a step back by lines. Without it, the result is the same, but a loop of one line takes long."""
    try:
        text = lines_here()
        if len(text) < LINES_TEXT:
            gdb.execute("monitor lines " + text, False, True)
    except (gdb.error, RuntimeError, AttributeError):
        pass


def tell_over(yes):
    """Lets fred step over the calls of a `next` in a loop of one line by itself, without a report to GDB for each."""
    try:
        gdb.execute("monitor over " + yes, False, True)
    except (gdb.error, RuntimeError):
        pass  # the program is not a recorded one


class ReverseStep(Command):
    """reverse-step [N]; out of code without symbols, as a compiler at run time makes it: back to the line that called it."""

    @staticmethod
    def is_known():
        frame = gdb.selected_frame()
        return frame.name() is not None or frame.find_sal().symtab is not None

    def go(self, args, from_tty):
        if self.is_known():
            gdb.execute("reverse-step " + args, from_tty)
            return
        while not self.is_known():  # the recording begins in the dynamic linker, whose functions are
            gdb.execute("with suppress-cli-notifications on -- reverse-stepi", from_tty, True)
        gdb.execute("frame", from_tty)


# ---- threads: all that the program ever has are listed (daemon/visibility/thread_list.h); commands about all threads skip those that do not exist now ----

def absent_threads():
    """{TID in GDB: why the thread does not exist now, such as "has ended"}"""
    return {int(tid): why for tid, why in re.findall(r"^(\d+) (.+)$", quietly("monitor threads"), re.M)}


def numbers_of_live():
    absent = absent_threads()
    return sorted(t.num for t in gdb.selected_inferior().threads() if t.ptid[1] not in absent)


class Threads(Command):
    """info threads [-gid] [ID...]: the threads that are there, or those that are named."""

    def go(self, args, from_tty):
        words = args.split()
        numbers = " ".join(word for word in words if word != "-gid") or " ".join(map(str, numbers_of_live()))
        if not numbers:
            gdb.write("No threads.\n")
            return
        self.show(self.rows(numbers, absent_threads()), "-gid" in words)

    @staticmethod
    def row(thread, absent):
        name = ' "%s"' % thread.name if thread.name else ""
        why = " (%s)" % absent[thread.ptid[1]] if thread.ptid[1] in absent else ""
        frame = "(running)" if thread.is_running() else quietly("with print frame-info location -- frame").strip()
        return thread.num, thread.global_num, "Thread %d%s%s" % (thread.ptid[1], name, why), re.sub(r"^#\d+ +", "", frame)

    def rows(self, numbers, absent):
        """GDB reads the list; in the selected thread, another frame may be selected."""
        global add_row
        selected, found = gdb.selected_thread(), {}
        first = selected and self.row(selected, absent)

        def add_row(thread):
            found[thread.num] = first if selected and thread.num == selected.num else self.row(thread, absent)
        try:
            gdb.execute("thread apply %s -q python add_row(gdb.selected_thread())" % numbers)
        except gdb.error as why:
            raise gdb.GdbError(re.sub(" -q python .*", "", str(why)))
        return [found[number] for number in sorted(found)]

    @staticmethod
    def show(rows, with_global):
        width = max((len(row[2]) for row in rows), default=0)
        selected = gdb.selected_thread()
        gdb.write("  %-4s %s%-*s Frame \n" % ("Id", "GId  " if with_global else "", width, "Target Id"))
        for number, overall, target, frame in rows:
            gdb.write("%s %-4d %s%-*s %s\n" % ("*" if selected and number == selected.num else " ", number,
                                               "%-4d " % overall if with_global else "", width, target, frame))


class ApplyAll(Command):
    """thread apply all [-ascending] [FLAG]... COMMAND: in each thread that is there."""

    def go(self, args, from_tty):
        numbers, flags = numbers_of_live(), re.match(r"(?:-\w+\s+)*", args).group(0).split()
        if "-ascending" not in flags:
            numbers.reverse()
        command = args[len(re.match(r"(?:-\w+\s+)*", args).group(0)):]
        flags = [flag for flag in flags if flag != "-ascending"]
        if not command:
            raise gdb.GdbError("Please specify a command at the end of 'thread apply all'")
        if numbers:
            gdb.execute("thread apply %s %s %s" % (" ".join(map(str, numbers)), " ".join(flags), command), from_tty)


class DidYouMean:
    """GDB says of a mistyped command that it is not defined: which of fred's may have been meant? Of what was typed at a terminal."""

    def __init__(self):
        self.seen = None
        gdb.events.before_prompt.connect(self.look)

    @staticmethod
    def is_unknown(word):
        try:
            quietly("help " + word)
        except gdb.error as why:
            return "Undefined" in str(why)
        return False

    def look(self):
        typed = re.findall(r"^ *(\d+)  (.*)$", quietly("show commands"), re.M)
        if not typed or typed[-1] == self.seen:
            return
        self.seen = typed[-1]
        word = re.match(r"\s*([A-Za-z][\w-]*)", self.seen[1])
        near = word and self.is_unknown(word.group(1)) and difflib.get_close_matches(word.group(1), fred_names, 1, 0.7)
        if near:
            gdb.write("fred: did you mean %s?\n" % near[0], gdb.STDERR)


class Record(Command):
    """record: everything is recorded already, and each command has its reverse one; `record goto begin` and `end` go there."""

    ENDS = {"begin": "start", "start": "start", "end": "end"}
    REFUSED = {"save": "the recording is on the disk already; `fredctl pack` makes one file of it",
               "instruction-history": "there is no list of instructions; `history EXPR` lists the changes of a value",
               "function-call-history": "there is no list of calls; `history EXPR` lists the changes of a value"}

    def go(self, arg, from_tty):
        what, _, rest = arg.strip().partition(" ")
        if what in self.REFUSED:
            raise gdb.GdbError("record %s: %s" % (what, self.REFUSED[what]))
        if what != "goto":
            gdb.write("fred: everything is recorded already: reverse commands need no `record`\n")
        elif rest.strip() in self.ENDS:
            gdb.execute("goto " + self.ENDS[rest.strip()], from_tty)
        else:
            raise gdb.GdbError("record goto: begin or end; `goto POS` goes to any position, as `when` says them")


class InfoRecord(Command):
    """info record: prints the current position, as `when` does."""

    def go(self, arg, from_tty):
        gdb.execute("when", from_tty)


# ---- for a live program ----

def tell_args():
    """Sends the arguments as they were typed, for the shell: GDB itself splits those of a remote program into words."""
    quietly("monitor typed-args " + (gdb.parameter("args") if gdb.parameter("startup-with-shell") else ""))


class Run(Command):
    """run [ARGS]: starts the program, and its recording. ARGS may include "*", or "[...]"; they are expanded by the shell that will start
the program (`set startup-with-shell`). Input and output redirection with ">", "<", or ">>" are also allowed.

With no arguments, uses the arguments that were given to the last `run` or `set args`."""

    def go(self, arg, from_tty):
        background = arg.endswith("&")
        arg = arg[:-1] if background else arg
        self.dont_repeat()
        if arg.strip():
            gdb.execute("set args " + arg.strip())
        if gdb.selected_inferior().pid and from_tty:
            gdb.execute("kill", from_tty)  # this asks the user
        # its own `run` cannot be had any more: this is the same, in two parts
        gdb.write(self.silently("starti", from_tty))
        gdb.execute("continue &" if background else "continue")


    @staticmethod
    def silently(command, from_tty):
        """Returns what the command prints. GDB's report of the stop does not go through Python, so standard output is dropped meanwhile."""
        sys.stdout.flush()
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # a Ctrl-C must not come in between
        stdout, null = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        try:
            return gdb.execute("with suppress-cli-notifications on -- " + command, from_tty, True)
        finally:
            sys.stdout.flush()
            os.dup2(stdout, 1)
            os.close(stdout)
            os.close(null)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def add_run():
    gdb.execute("define hook-starti\npython tell_args()\nend")
    gdb.execute("define hook-start\npython tell_args()\nend")
    Run("run", gdb.COMMAND_RUNNING, gdb.COMPLETE_FILENAME)


class Catch(Command):
    """Of a recording: the calls of the kernel by which the program does that."""

    CALLS = {"fork": "fork", "vfork": "vfork", "exec": "execve"}

    def __init__(self, what):
        self.what = what
        super().__init__("catch " + what, gdb.COMMAND_BREAKPOINTS)

    def go(self, arg, from_tty):
        if arg.strip():
            raise gdb.GdbError("catch %s: a condition is given by `condition N EXPR`" % self.what)
        gdb.execute("catch syscall " + self.CALLS[self.what], from_tty)


def add_catches():
    for what in Catch.CALLS:
        Catch(what)


class Attach(Command):
    """attach PID: not in a session, which is about one program from its beginning on. fredctl debug -p PID shows what a process that is being recorded
has done so far."""

    def go(self, arg, from_tty):
        self.dont_repeat()
        pid = arg.strip() if re.match(r"\s*\d+\s*$", arg) else "PID"
        raise gdb.GdbError("fred cannot attach: it knows the past of what it records from the beginning on. fredctl debug -- PROGRAM starts a program; "
                           "fredctl debug -p %s, in a shell, shows one that is being recorded" % pid)


def add_over():
    """Steps by MI commands have no hooks, so this is not done for them."""
    for name, yes in (("next", "1"), ("step", "")):
        gdb.execute("define hook-%s\npython tell_over('%s')\nend" % (name, yes))


def add_commands():
    DidYouMean()
    Attach("attach", gdb.COMMAND_RUNNING)
    for name in ("record", "target record", "target record-full", "target record-btrace"):
        Record(name, gdb.COMMAND_RUNNING)
    InfoRecord("info record", gdb.COMMAND_STATUS)
    for name in ("reverse-step", "reverse-next"):
        gdb.execute("define hook-%s\npython tell_lines()\nend" % name)
    gdb.execute("define info hookpost-breakpoints\npython say_hits()\nend")
    Threads("info threads", gdb.COMMAND_STATUS)
    ApplyAll("thread apply all", gdb.COMMAND_RUNNING)
    Arrive("fred-arrive", gdb.COMMAND_RUNNING)
    for name in ("live", "fred-live"):
        Live(name, gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE)
    ReverseStep("fred-reverse-step", gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE)
    for name, made in (("reverse-watch", ReverseWatch), ("last", Last), ("history", History)):
        for prefix in ("", "fred-"):
            made(prefix + name, gdb.COMMAND_RUNNING, gdb.COMPLETE_EXPRESSION)
