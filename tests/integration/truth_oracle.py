# SPDX-License-Identifier: MIT
"""truth_oracle: runs in GDB, on a program that runs natively. Steps through every instruction of the program's own code, one
thread at a time, and evaluates expressions at each: no search, no recording, nothing of fred's. Used by tests/integration/truth.

  gdb -nx -batch -x truth_oracle.py PROGRAM

Environment: TRUTH_ASK (a file of JSON: watches [{expr, as, in}], witness, steps), TRUTH_TELL (the file of JSON that is written: one
row for each instruction: [thread, function, line, line of the inlined function, whether it is the program's own or called by it, witness, pc,
whether the line table says that a statement of this line begins there, [value of each watch]]). A value is its text, or null when
there is none: not readable, no such frame, before its declaration.

What is the program's own: functions with lines, but those of headers in /usr. Calls out of them run at full speed, to a breakpoint where they come back; every
function of the program has one at its entry, for callbacks and new threads.
"""
import json
import os
import re

import gdb

# These do not write to memory: what is read there is as before.
QUIET = re.compile(r"(j|nop|cmp|test|ucomis|endbr|lea|clt|cqt)|(?!push|call|rep|movs[bwlq] |stos|xchg|cmpxchg|xadd|lock).*%[a-z0-9]+$")
TURN = 200  # instructions that one thread makes before another one's turn comes


class NoValue(Exception):
    """The expression cannot be evaluated here."""


def number(expr):
    return int(gdb.parse_and_eval(expr))


def length(head, follow="next", limit=10000):
    """Of a linked list: how many nodes."""
    n, node = 0, gdb.parse_and_eval(head)
    while int(node):
        n, node = n + 1, node.dereference()[follow]
        if n > limit:
            raise NoValue
    return n


def nodes(tree):
    """Of a binary tree with left and right."""
    if not int(tree):
        return 0
    return 1 + nodes(tree.dereference()["left"]) + nodes(tree.dereference()["right"])


def each(head, follow="next", limit=10000):
    node = gdb.parse_and_eval(head)
    while int(node) and limit:
        yield node.dereference()
        node, limit = node.dereference()[follow], limit - 1


def sorted_tree(tree, lo, hi):
    if not int(tree):
        return True
    node = tree.dereference()
    key = int(node["key"])
    return lo <= key <= hi and sorted_tree(node["left"], lo, key) and sorted_tree(node["right"], key, hi)


def ring_size(ring):
    """Of a std::list: its nodes, counted."""
    ends = gdb.parse_and_eval("&%s._M_impl._M_node" % ring)
    n, node = 0, ends.dereference()["_M_next"]
    while int(node) != int(ends):
        n, node = n + 1, node.dereference()["_M_next"]
        if n > 10000 or not int(node):
            raise NoValue
    return n


# Where Linux puts a position-independent program without address randomisation, as recordings have it; a container's GDB cannot turn that off.
UNRANDOMIZED = 0x555555554000
HELPERS = {"sorted_tree": sorted_tree, "ring_size": ring_size, "n": number, "length": length, "nodes": nodes, "each": each, "v": gdb.parse_and_eval, "gdb": gdb}


def inlined(block):
    """Is it the block of a function that was inlined?"""
    outer = block.superblock
    while outer and not outer.is_static:
        if outer.function and outer.start <= block.start and block.end <= outer.end:
            return True
        outer = outer.superblock
    return False


class Oracle:
    def __init__(self, ask):
        self.ask = ask
        self.rows = []
        self.lines = {}
        self.ended = False
        gdb.events.exited.connect(self.on_exit)

    def on_exit(self, _):
        self.ended = True

    # ---- the program's code ----

    def prepare(self):
        gdb.execute("set confirm off")
        gdb.execute("set pagination off")
        gdb.execute("set width 0")
        gdb.execute("set breakpoint pending on")
        gdb.execute("set backtrace past-main on")
        gdb.execute("set displaced-stepping off")  # GDB 13 does not know AVX instructions with an address relative to rip
        gdb.execute("set print frame-info location")
        gdb.execute("starti", to_string=True)
        exe = gdb.current_progspace().filename
        self.own = []
        mappings = gdb.execute("info proc mappings", to_string=True)
        for line in mappings.splitlines():
            part = line.split()
            if len(part) >= 6 and part[-1] == exe and "x" in part[4]:
                self.own.append((int(part[0], 16), int(part[1], 16)))
        first = int(re.search(r"^ *(0x[0-9a-f]+).* %s$" % re.escape(exe), mappings, re.M).group(1), 16)
        self.slide = first - UNRANDOMIZED if first >= UNRANDOMIZED else 0
        self.quiet = set()
        self.spans = self.find_functions()
        self.points = set()
        for lo, hi in self.spans:
            self.add_points(lo, hi)
        for pc in sorted(self.points):
            gdb.execute("break *0x%x" % pc, to_string=True)

    def find_functions(self):
        functions, self.starts = {}, set()
        for line in gdb.execute("maint info line-table", to_string=True).splitlines():
            found = re.match(r"\d+ +(\d+) +(0x[0-9a-f]+)", line)
            pc = int(found.group(2), 16) if found else 0
            if not any(lo <= pc < hi for lo, hi in self.own):
                continue
            if re.search(r" Y\b", line):
                self.starts.add((pc, int(found.group(1))))
            block = gdb.block_for_pc(pc)
            while block and not (block.function and not inlined(block)):
                block = block.superblock
            if block and not block.function.symtab.filename.startswith("/usr/"):
                functions[block.start] = block.end
            sal = None if block else gdb.find_pc_line(pc)  # a thunk is of no function
            if sal and sal.symtab and sal.line and not sal.symtab.filename.startswith("/usr/"):
                functions[sal.pc] = sal.last + 1
        return sorted(functions.items())

    def add_points(self, lo, hi):
        """Its entry, and where its calls come back."""
        self.points.add(lo)
        arch = gdb.selected_frame().architecture()
        for insn in arch.disassemble(lo, hi - 1):
            back = insn["addr"] + insn["length"]
            if QUIET.match(insn["asm"]):
                self.quiet.add(insn["addr"])
            if insn["asm"].startswith("call") and back < hi:
                self.points.add(back)

    def is_own(self, pc):
        return any(lo <= pc < hi for lo, hi in self.spans)

    def place(self, pc):
        """Of an instruction: its function and line, those of the call in the user's code where it is of an inlined library function; the
        line itself."""
        if pc not in self.lines:
            sal = gdb.find_pc_line(pc)
            inner = "%s:%d" % (sal.symtab.filename if sal.symtab else "?", sal.line)
            frame = gdb.newest_frame()
            while frame and not self.is_users(frame):
                frame = frame.older()
            self.lines[pc] = (frame.name() if frame else None, frame.find_sal().line if frame else 0, inner)
        return self.lines[pc]

    def is_users(self, frame):
        sal = frame.find_sal()
        return self.is_own(frame.pc()) and sal.symtab and not sal.symtab.filename.startswith("/usr/")

    # ---- values ----

    def frame_of(self, function):
        """The innermost frame of that function in the selected thread; its depth from the outside, its CFA."""
        frame = gdb.newest_frame()
        while frame:
            block = frame.function()
            if block and block.name.split("(")[0] == function:
                return frame
            frame = frame.older()
        raise NoValue

    def declared(self, frame, text):
        """Is it past the declaration of each local variable in the text?"""
        pc = frame.pc() - (0 if frame == gdb.newest_frame() else 1)
        block = gdb.block_for_pc(pc)
        line = gdb.find_pc_line(pc).line
        first = frame.function().line
        for name in set(re.findall(r"(?<![.>\w])[A-Za-z_]\w*", text)):
            symbol = gdb.lookup_symbol(name, block)[0]
            if symbol is None or not symbol.needs_frame:
                continue
            if symbol.is_argument and line <= first or not symbol.is_argument and line <= symbol.line:
                raise NoValue

    def evaluate(self, watch):
        """[frame's identity, text]"""
        cfa = None
        try:
            if watch.get("in"):
                frame = self.frame_of(watch["in"])
                self.declared(frame, watch["expr"])
                cfa = int(frame.older().read_register("rsp"))
                frame.select()
            if watch.get("as", "").startswith("py:"):
                value = eval(watch["as"][3:], dict(HELPERS))
                value = int(value) if isinstance(value, bool) else value
            else:
                value = gdb.parse_and_eval(watch.get("as") or watch["expr"])
                if value.is_optimized_out:
                    raise NoValue
                if value.type.strip_typedefs().code == gdb.TYPE_CODE_BOOL:
                    value = int(value)
            return [cfa, str(value)]
        except (NoValue, gdb.error):
            return [cfa, None]
        finally:
            if watch.get("in"):
                gdb.newest_frame().select()

    def caller(self):
        """Where the program's own code has called what runs here; None: it has not."""
        frame = gdb.newest_frame()
        while frame and not self.is_own(frame.pc() - 1):
            frame = frame.older()
        return frame.pc() - 1 if frame else None

    def look(self):
        """Notes the state before the instruction at which the selected thread stands, or in what is called from it."""
        pc = self.pc() if self.is_own(self.pc()) else self.caller()
        if pc is None:
            return
        function, line, inner = self.place(pc)
        # what another thread's stack holds is as that thread left it, or is another watch's business
        quiet, self.last_quiet = self.last_quiet, pc in self.quiet
        values = [self.rows[-1][-1][i] if quiet and not w.get("in") else self.evaluate(w) for i, w in enumerate(self.ask["watches"])]
        number = gdb.selected_thread().num
        for i, watch in enumerate(self.ask["watches"]):
            if not watch.get("in"):
                continue
            if values[i][0] is None and self.owner.get(i, number) != number:
                values[i] = self.rows[-1][-1][i]
            elif values[i][0] is not None:
                self.owner[i] = number
        try:
            witness = str(gdb.parse_and_eval(self.ask["witness"]))
        except gdb.error:
            witness = None
        begins = (self.pc(), int(inner.rsplit(":", 1)[1])) in self.starts
        self.rows.append([number, function, line, inner, self.is_own(self.pc()), witness, pc - self.slide, begins, values])

    # ---- moving ----

    def pc(self):
        return gdb.newest_frame().pc()

    def other_own(self):
        """Switches to another thread that stands in the program's own code. False: there is none."""
        here = gdb.selected_thread()
        threads = gdb.selected_inferior().threads()
        if len(threads) < 2:
            return False
        threads = sorted(threads, key=lambda t: (t.num <= here.num, t.num))
        for t in threads:
            if t.num != here.num and t.is_valid():
                t.switch()
                if self.is_own(self.pc()):
                    return True
        here.switch()
        return False

    def go(self, command):
        gdb.execute(command, to_string=True)

    def run(self):
        self.owner, self.last_quiet = {}, False
        self.prepare()
        if self.ask.get("until"):
            self.until = [self.ask["until"], "__GI_" + self.ask["until"]]
            gdb.execute("set breakpoint pending on")
            gdb.Breakpoint(self.until[0])
        turn = 0
        while not self.ended and len(self.rows) < self.ask["steps"]:
            if gdb.selected_thread() is None:
                break
            if self.is_own(self.pc()):
                self.look()
                turn += 1
                if turn >= TURN and self.other_own():
                    turn = 0
                    continue
                several = len(gdb.selected_inferior().threads()) > 1
                self.go("set scheduler-locking %s" % ("on" if several else "off"))
                self.go("stepi")
                if not self.ended and not self.is_own(self.pc()):
                    self.look()
            elif not self.other_own():
                self.go("set scheduler-locking off")
                text = gdb.execute("continue", to_string=True)
                if self.ask.get("until") and gdb.selected_thread() and gdb.newest_frame().name() in self.until:
                    break
                fault = re.search(r"received signal SIG(SEGV|BUS|FPE|ILL|ABRT)", text)
                if fault:
                    self.look()
                    break


def main():
    with open(os.environ["TRUTH_ASK"]) as f:
        ask = json.load(f)
    oracle = Oracle(ask)
    oracle.run()
    with open(os.environ["TRUTH_TELL"], "w") as f:
        json.dump({"rows": oracle.rows, "ended": oracle.ended, "spans": oracle.spans}, f)


main()
