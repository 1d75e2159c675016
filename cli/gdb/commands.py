# SPDX-License-Identifier: MIT
"""commands.py: those of fred's commands in GDB that look at their expression before fred does. fredctl puts this text
into GDB, behind state.py.
"""
import re

import gdb

VARIABLE = re.compile(r"\$(\$\d*|\d+|[A-Za-z_]\w*|(?![\w$]))")


def literal(value):
    """The value as an expression that means the same everywhere."""
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
    """Convenience variables and values of the history by what they are now; registers stay."""
    def one(found):
        name = found.group(1)
        if re.match(r"[A-Za-z_]", name) and gdb.convenience_variable(name) is None:
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
    """What GDB refuses on the way is told as GDB tells it, not as an error of Python's."""

    def invoke(self, arg, from_tty):
        try:
            self.go(arg, from_tty)
        except gdb.error as why:
            raise gdb.GdbError(str(why))


class Arrive(Command):
    """The step by which GDB learns where a command has led. Forwards from a breakpoint, GDB 13 dies when another thread stops
    (finish_step_over): it steps over the breakpoint. Backwards it does not."""

    @staticmethod
    def is_at_breakpoint():
        pc = gdb.newest_frame().pc()
        return any(at.address == pc for b in gdb.breakpoints() if b.enabled and hasattr(b, "locations") for at in b.locations)

    def go(self, arg, from_tty):
        gdb.execute("reverse-stepi" if self.is_at_breakpoint() else "stepi", from_tty)


class ReverseWatch(Command):
    """reverse-watch [--good POS] EXPR: back to the statement that made EXPR what it is here (good: the first checkpoint, else start)."""

    def go(self, arg, from_tty):
        gdb.execute("monitor later reverse-watch " + substitute(arg))
        gdb.execute("fred-arrive", from_tty)


class Last(Command):
    """last EXPR: back to its last change before here."""

    def go(self, arg, from_tty):
        gdb.execute("watch " + substitute(arg), from_tty)
        number = int(gdb.convenience_variable("bpnum"))
        try:
            gdb.execute("reverse-continue", from_tty)
        finally:
            if any(b.number == number for b in gdb.breakpoints()):
                gdb.execute("delete %d" % number)


class History(Command):
    """history EXPR: all changes of a value in memory from the start up to here, with positions that `goto` takes."""

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
        for line in re.findall(r"^fred: .*$", text, re.M):
            gdb.write(line + "\n", gdb.STDERR)


LINES_TEXT = 4000  # of a request; a function with more lines than that is stepped through


def lines_here():
    """The lines of the function, as `monitor lines` has them; each piece of code that GDB takes for one line's."""
    block = gdb.newest_frame().block()
    while block.function is None:
        block = block.superblock
    at, numbers, words = block.start, {}, ["%x" % block.start]
    while at < block.end and len(words) < LINES_TEXT:
        line = gdb.find_pc_line(at)
        end = min(max(line.last or at, at) + 1, block.end)
        number = numbers.setdefault((line.symtab and line.symtab.filename, line.line), len(numbers))
        words.append("%x:%x" % (end - at, number))
        at = end
    return " ".join(words)


def tell_lines():
    """Before a step back by lines; without it everything is the same, but slow in a loop of one line."""
    try:
        text = lines_here()
        if len(text) < LINES_TEXT:
            gdb.execute("monitor lines " + text, False, True)
    except (gdb.error, RuntimeError, AttributeError):
        pass


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
    """info record: as `when`: where in the recording this is."""

    def go(self, arg, from_tty):
        gdb.execute("when", from_tty)


def add_commands():
    for name in ("record", "target record", "target record-full", "target record-btrace"):
        Record(name, gdb.COMMAND_RUNNING)
    InfoRecord("info record", gdb.COMMAND_STATUS)
    for name in ("reverse-step", "reverse-next"):
        gdb.execute("define hook-%s\npython tell_lines()\nend" % name)
    gdb.execute("define info hookpost-breakpoints\npython say_hits()\nend")
    Arrive("fred-arrive", gdb.COMMAND_RUNNING)
    ReverseStep("fred-reverse-step", gdb.COMMAND_RUNNING, gdb.COMPLETE_NONE)
    for name, made in (("reverse-watch", ReverseWatch), ("last", Last), ("history", History)):
        for prefix in ("", "fred-"):
            made(prefix + name, gdb.COMMAND_RUNNING, gdb.COMPLETE_EXPRESSION)
