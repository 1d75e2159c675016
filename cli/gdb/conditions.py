# SPDX-License-Identifier: MIT
"""conditions.py: conditions of watchpoints are evaluated by fred (daemon/visibility/watch_conditions.h), to which GDB itself sends none.
What is told here is about an object in memory, word by word; GDB evaluates the condition too, where fred stops, and all others alone.
GDB reads a condition's variables of a frame in the innermost frame of their function. So fred is told such a condition as it is
compiled in that function's code, and that it holds there only: elsewhere GDB has a look. fredctl puts this text into GDB, after
points.py.
"""
import collections
import functools
import operator
import re

import gdb

PLAIN = re.compile(r"\**[A-Za-z_]\w*(((\.|->)\w+)|(\[\d+\]))*$")
LARGEST = 2048  # the largest object in bytes; each word of it is watched
NAME = re.compile(r"(?<![\w.>$:])[A-Za-z_]\w*(?!\s*\()")
MOST_CODE = 8192  # the largest function, in bytes, that is examined
FRAME_BEGINS = re.compile(r"mov +%rsp,%rbp$")
FRAME_ENDS = re.compile(r"leave|pop +%rbp$")
SETS_RBP = re.compile(r"(?!push|cmp|test).*[ ,]%[re]?bpl?$|.*(xchg|xadd).*%[re]?bpl?,")
RBP, RIP = "6", "16"  # GDB's numbers
NOT_COMPILED = re.compile(r"[$\"'@{;]|(?<![=!<>])=(?!=)|\+\+|--")  # variables of GDB's, texts, what changes something


def object_of(expression):
    """(address, size) of what a watchpoint watches; None: it is not one object, or not known. Pointers on the way to it GDB watches, too:
    without a condition, so that it hears of their changes, and then watches another object."""
    try:
        if expression.startswith("-location "):
            pointer = gdb.parse_and_eval("&(%s)" % expression[len("-location "):])
            address, size = int(pointer), pointer.type.strip_typedefs().target().sizeof
        elif PLAIN.match(expression):
            value = gdb.parse_and_eval(expression)
            address, size = int(value.address), value.type.sizeof
        else:
            return None
    except (gdb.error, TypeError):
        return None
    return (address, size) if 0 < size <= LARGEST else None


def pieces_of(address, size):
    """[(address, size)]: as fred watches it (breaks_watch in daemon/visibility/breakpoints.c)."""
    words = []
    while size:
        n = 8
        while n > size or address % n:
            n //= 2
        words.append((address, n))
        address, size = address + n, size - n
    return words


def of_the_object(name, what):
    """Replaces a variable of a frame by its address if it is in the object; others stay."""
    symbol, is_member = gdb.lookup_symbol(name)
    if is_member:
        raise ValueError(name)
    if symbol is None or not symbol.needs_frame:
        return name
    value = gdb.selected_frame().read_var(symbol)
    if value.address is None or not what[0] <= int(value.address) < what[0] + what[1]:
        return name
    return "(*(%s *)0x%x)" % (value.type.unqualified(), int(value.address))


def block_of(names):
    """The innermost block of the variables of the selected frame among these names; None: there are none."""
    block = gdb.selected_frame().block()
    while block and not block.is_static and not block.is_global:
        if any(symbol.name in names and symbol.needs_frame for symbol in block):
            return block
        block = block.superblock
    return None


def moves(name):
    """Is it a variable that is in different places at different times?"""
    symbol = gdb.lookup_symbol(name)[0]
    return bool(symbol and symbol.needs_frame and "multi-location" in quietly("info address " + name))


def is_in(pc, block):
    inner = gdb.block_for_pc(pc)
    while inner and not inner.is_static and not inner.is_global:
        if (inner.start, inner.end, bool(inner.function)) == (block.start, block.end, bool(block.function)):
            return True
        inner = inner.superblock
    return False


def framed_code(block):
    """[(start, end)]: the block's code where rbp holds the frame of its function, which sets it once. Empty: that is not known."""
    function = block
    while function and not function.function:
        function = function.superblock
    if not function or function.end - function.start > MOST_CODE:
        return []
    spans, framed, begun = [], False, False
    for insn in gdb.selected_frame().architecture().disassemble(function.start, function.end - 1):
        pc, end, text = insn["addr"], insn["addr"] + insn["length"], insn["asm"]
        if framed and is_in(pc, block):
            if spans and spans[-1][1] == pc:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((pc, end))
        if FRAME_BEGINS.match(text):
            framed = begun = True
        elif FRAME_ENDS.match(text):
            framed = False
        elif text.startswith("ret"):
            framed = begun
        elif SETS_RBP.match(text):
            return []
    return spans


def by_frame(text, block):
    """As code_of, for a text with variables of that block."""
    frame, here = gdb.selected_frame(), gdb.selected_frame().pc()
    spans = framed_code(block) if frame == gdb.newest_frame() else []
    if not any(start <= here < end for start, end in spans):
        return None
    elsewhere = "&&".join("(unsigned long)$rip-0x%x>=0x%x" % (start, end - start) for start, end in spans)
    code = quietly("maint agent-eval (%s)||(%s)" % (elsewhere, text))
    registers = set(re.findall(r"^ *\d+ +reg (\d+)", code, re.M))
    return code if registers <= {RBP, RIP} else None


def code_of(condition, what):
    """GDB's listing of its bytecode; None: fred cannot evaluate it."""
    if NOT_COMPILED.search(condition):
        return None
    try:
        text = NAME.sub(lambda found: of_the_object(found.group(0), what), condition)
        names = set(NAME.findall(text))
        block = block_of(names)
        if block:
            return None if any(moves(name) for name in names) else by_frame(text, block)
        text = quietly("maint agent-eval " + text)
    except (gdb.error, ValueError, RuntimeError):
        return None
    return None if re.search(r"^ *\d+ +reg ", text, re.M) else text


class Changes(dict):
    """Calls changed(point) when a breakpoint is made, enabled, disabled, or gets another condition. GDB says of each hit, too, that it is
    modified, and the program may run on: no code of Python's looks at that, since it would swallow a Ctrl-C. It is found among these keys."""

    KEY = operator.attrgetter("number", "enabled", "condition")

    def __init__(self, changed):
        super().__init__()
        self.changed, self.keys_of = changed, {}
        for point in gdb.breakpoints():
            self.keep(point)
        modified = collections.deque()
        look_up = map(self.__getitem__, map(self.KEY, iter(modified.popleft, None)))
        gdb.events.breakpoint_created.connect(self.note)
        gdb.events.breakpoint_modified.connect(modified.append)
        gdb.events.breakpoint_modified.connect(functools.partial(next, look_up))

    def keep(self, point):
        key = self.KEY(point)
        self.pop(self.keys_of.get(point.number), None)
        self[key], self.keys_of[point.number] = True, key

    def note(self, point):
        self.keep(point)
        self.changed(point)

    def __missing__(self, key):
        for point in gdb.breakpoints():
            if point.number == key[0]:
                self.note(point)


class Conditions:
    """Sends the conditions to fred whenever a watchpoint is made, changed or deleted."""

    def __init__(self):
        self.objects, self.told = {}, ""
        self.changes = Changes(self.note)
        gdb.events.breakpoint_deleted.connect(self.note)

    def note(self, point):
        if point.type not in (gdb.BP_HARDWARE_WATCHPOINT, gdb.BP_ACCESS_WATCHPOINT, gdb.BP_READ_WATCHPOINT):
            return
        try:
            key = (point.enabled, point.condition) if point.is_valid() else None
            if self.objects.get(point.number, (None,))[0] != key:
                self.change(point, key)
        except (gdb.error, RuntimeError, AttributeError, OSError):
            pass  # GDB evaluates the conditions itself

    def change(self, point, key):
        if point.number not in self.objects:
            self.objects[point.number] = (key, object_of(point.expression), None)
        was, what, code = self.objects[point.number]
        if not was or not key or was[1] != key[1] or code is None:  # else only enabled or disabled: in another frame now
            code = code_of(key[1], what) if key and key[1] and what and point.type == gdb.BP_HARDWARE_WATCHPOINT else None
        self.objects[point.number] = (key, what, code)
        self.tell()

    def tell(self):
        live = {b.number for b in gdb.breakpoints()}
        enabled = [one for number, one in self.objects.items() if number in live and one[0] and one[0][0]]
        text = "" if any(one[1] is None for one in enabled) else " ".join(self.texts(enabled))
        if text != self.told:
            quietly("monitor watch-conditions " + text)
            self.told = text

    @staticmethod
    def texts(enabled):
        """The condition of each word, except words that another watchpoint watches in part, or without a condition that fred can evaluate."""
        words = [(word, code) for _, what, code in enabled for word in pieces_of(*what)]
        for word, code in words:
            others = [other for other in words if other[0][0] < word[0] + word[1] and word[0] < other[0][0] + other[0][1]]
            if all(other[1] and other[0] == word for other in others):
                yield "%x:%x:%s" % (*word, code.encode().hex())
