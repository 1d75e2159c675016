# SPDX-License-Identifier: MIT
"""conditions.py: conditions of watchpoints are evaluated by fred (daemon/visibility/watch_conditions.h), to which GDB itself sends none.
What is told here is about an object in memory, word by word, and a condition without registers; GDB evaluates it too, where fred
stops, and all others alone. fredctl puts this text into GDB, after points.py.
"""
import re

import gdb

PLAIN = re.compile(r"\**[A-Za-z_]\w*(((\.|->)\w+)|(\[\d+\]))*$")
LARGEST = 2048  # bytes; each word is watched for itself
NAME = re.compile(r"(?<![\w.>$:])[A-Za-z_]\w*(?!\s*\()")
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
    """A variable of a frame: by its address, if it is in the object; others are another frame's in another one."""
    symbol, is_member = gdb.lookup_symbol(name)
    if is_member:
        raise ValueError(name)
    if symbol is None or not symbol.needs_frame:
        return name
    value = gdb.selected_frame().read_var(symbol)
    if value.address is None or not what[0] <= int(value.address) < what[0] + what[1]:
        raise ValueError(name)
    return "(*(%s *)0x%x)" % (value.type.unqualified(), int(value.address))


def code_of(condition, what):
    """GDB's listing of its bytecode; None: it is not for fred to evaluate."""
    if NOT_COMPILED.search(condition):
        return None
    try:
        text = quietly("maint agent-eval " + NAME.sub(lambda found: of_the_object(found.group(0), what), condition))
    except (gdb.error, ValueError, RuntimeError):
        return None
    return None if re.search(r"^ *\d+ +reg ", text, re.M) else text


class Conditions:
    """Tells them whenever a watchpoint is made, changed or deleted."""

    def __init__(self):
        self.objects, self.told = {}, ""
        self.known = False
        for event in (gdb.events.breakpoint_created, gdb.events.breakpoint_modified, gdb.events.breakpoint_deleted):
            event.connect(self.note)

    def note(self, point):
        if point.type not in (gdb.BP_HARDWARE_WATCHPOINT, gdb.BP_ACCESS_WATCHPOINT, gdb.BP_READ_WATCHPOINT):
            return
        try:
            # not what only is hit: meanwhile the program may run
            key = (point.enabled, point.condition) if point.is_valid() else None
            if self.objects.get(point.number, (None,))[0] != key:
                self.change(point, key)
        except (gdb.error, RuntimeError, AttributeError, OSError):
            pass  # GDB's own conditions hold

    def change(self, point, key):
        if point.number not in self.objects:
            self.objects[point.number] = (key, object_of(point.expression), None)
        what = self.objects[point.number][1]
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
        """Of each word that nobody else watches in part, or without a condition that is told."""
        words = [(word, code) for _, what, code in enabled for word in pieces_of(*what)]
        for word, code in words:
            others = [other for other in words if other[0][0] < word[0] + word[1] and word[0] < other[0][0] + other[0][1]]
            if all(other[1] and other[0] == word for other in others):
                yield "%x:%x:%s" % (*word, code.encode().hex())
