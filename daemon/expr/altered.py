# SPDX-License-Identifier: MIT
"""altered.py: functions that the compiler has given another way to be called than the source says (altered.h). For GDB as the daemon
uses it, and as fredctl's user does (cli/gdb/calls.py).
"""
import re

import gdb

AT_ENTRY = r"(?:multi-location:\s*(?:Base address \S+\s+)?Range 0x%x-\S+ )?"
IN_REGISTER = AT_ENTRY + r"a variable in .(r\w+|xmm\d+)"
BY_REFERENCE = AT_ENTRY + r"a complex DWARF expression:\s*0: DW_OP_breg\d+ 0 \[.(\w+)\]\s*(?:,|Range|\Z)"


def function_at(pc):
    """The block of the function whose own code is there: blocks in a function, and those of functions that were inlined into it, may
    begin where it begins."""
    block, outer = gdb.block_for_pc(pc), None
    while block and not block.is_static and not block.is_global and block.start <= pc < block.end:
        if block.function:
            outer = block
        block = block.superblock
    return outer


def is_own_code(pc, function):
    """Of no function that was inlined there."""
    block = gdb.block_for_pc(pc)
    while block and not block.function:
        block = block.superblock
    return block and (block.start, block.end, block.function.name) == (function.start, function.end, function.function.name)


def clone_at(entry):
    """gcc names it: "list_len.constprop.0.isra in section .text", "Stack::size() const [clone .isra.0] in section ..."."""
    symbol = gdb.execute("info symbol 0x%x" % entry, to_string=True)
    return symbol.split(" in section")[0].strip() if re.search(r"\.(isra|constprop|part)[. \]]", symbol) else None


def is_by_reference(t):
    """A class of C++ is passed by reference where a constructor that copies it, or its destructor, does anything. Which of those that it
    declares are the compiler's own, which do nothing, GDB does not say; it is supposed that none is."""
    if t.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return t.code == gdb.TYPE_CODE_ARRAY and is_by_reference(t.target().strip_typedefs())
    gdb.set_convenience_variable("fred_type", gdb.Value(0).cast(t.pointer()))
    text = re.sub(r"\[with .*\]", "", gdb.execute("ptype/M *$fred_type", to_string=True))
    name = re.escape(re.sub("<.*", "", t.name or "").split("::")[-1])
    if re.search(r"\bvirtual\b|<incomplete type>|<no data fields>", text) or (
            name and re.search(r"~%s\(|\b%s\((?:const )?(?:\S*::)?%s(?:<.*>)? &&?\)" % (name, name, name), text)):
        return True
    return any(is_by_reference(f.type.strip_typedefs()) for f in t.fields() if hasattr(f, "bitpos"))


def classes_of(t, by_reference=None):
    """How a value of the type is passed, by the System V ABI: an INTEGER or SSE register for each of its eightbytes; []: in memory. None:
    that is not known; by_reference: whether it is, where that is known."""
    t = t.strip_typedefs()
    if t.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF,
                  gdb.TYPE_CODE_RVALUE_REF):
        return ["INTEGER"] * (-(-t.sizeof // 8))
    if t.code == gdb.TYPE_CODE_FLT:
        return ["SSE"] if t.sizeof <= 8 else []
    if t.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return None
    if is_by_reference(t) if by_reference is None else by_reference:
        return ["INTEGER"]
    if t.sizeof > 16:
        return []
    return eightbytes_of(t)


def classes_of_result(t):
    """[]: at an address that the caller passes."""
    t = t.strip_typedefs()
    return [] if t.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and is_by_reference(t) else classes_of(t)


def scalars_in(t, offset=0):
    """[(offset, class)] of the members; None: they are not known."""
    t, found = t.strip_typedefs(), []
    if t.code == gdb.TYPE_CODE_ARRAY:
        parts = [(i * t.target().sizeof, t.target()) for i in range(t.range()[1] + 1)]
    elif t.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        parts = [(f.bitpos // 8, f.type) for f in t.fields() if hasattr(f, "bitpos")]
    else:
        classes = classes_of(t)
        return [(offset + 8 * i, c) for i, c in enumerate(classes)] if classes else None
    for at, part in parts:
        inner = scalars_in(part, offset + at)
        if inner is None:
            return None
        found += inner
    return found


def eightbytes_of(t):
    scalars = scalars_in(t)
    if not scalars:
        return None
    return ["INTEGER" if any(at // 8 == i and c == "INTEGER" for at, c in scalars) else "SSE" for i in range(-(-t.sizeof // 8))]


def take(left, classes):
    """The registers of an argument out of those that are left; []: it is on the stack."""
    if any(classes.count(c) > len(left[c]) for c in left):
        return []
    return [left[c].pop(0) for c in classes]


def moved_argument(entry):
    """The first argument of a static function that comes in another register than it should, or has become a constant; clang leaves the
    name as it is. What is in no register at the entry, as without optimisation, says nothing. `info scope` tells of the innermost function
    at an address, so it is asked at one that no inlined function has."""
    block = function_at(entry)
    function = block.function if block else None
    if not function or not any(s.name == function.name for s in function.symtab.static_block()):
        return None
    left = {"INTEGER": ["rdi", "rsi", "rdx", "rcx", "r8", "r9"], "SSE": ["xmm%d" % i for i in range(8)]}
    result = function.type.target().strip_typedefs()
    if result.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        classes = classes_of_result(result)
        if classes is None:
            return None
        take(left, ["INTEGER"] if not classes else [])
    at = next((pc for pc in range(entry, min(block.end, entry + 65536)) if is_own_code(pc, block)), None)
    text = gdb.execute("info scope *%d" % at, to_string=True) if at else ""
    where = dict(re.findall(r"(?ms)^Symbol (\S+) is (.*?)(?=^Symbol |\Z)", text))
    for symbol in block:
        if not symbol.is_argument:
            continue
        if not at:
            return "all its code is of functions that were inlined into it"
        place = where.get(symbol.name, "")
        reference = re.match(BY_REFERENCE % entry, place)
        register = reference or re.match(IN_REGISTER % entry, place)
        in_pieces = re.match(AT_ENTRY % entry + r"a complex DWARF expression:[^,]*DW_OP_piece", place)
        classes = classes_of(symbol.type, True if reference else False if register or in_pieces else None)
        if classes is None:
            return None
        if place.startswith("a constant"):
            return "%s is %s" % (symbol.name, place.split(",")[0])
        should = take(left, classes)
        if register and should and register.group(1) != should[0]:
            return "%s comes in %s" % (symbol.name, register.group(1))
    return None


def altered(entry):
    """What is known of it; None: it may be called."""
    return clone_at(entry) or moved_argument(entry) or dropped_result(entry)


def why_not(entry, name):
    """Why a function may not be called; None: it may be."""
    how = altered(entry)
    return how and "%s cannot be called: the compiler has changed which arguments it takes or what it returns (%s)" % (name, how)


def entries(location, name):
    """Of the functions that a name can mean, with any scope in front of it; where one of them was inlined into another function, there is
    nothing to call."""
    for pc in set(sal.pc for sal in gdb.decode_line(location)[1] or ()):
        block = function_at(pc)
        full = "::" + block.function.print_name + "(" if block else ""
        if any("::" + name + "(" in text for text in (full, re.sub("<.*>", "", full))):
            yield int(block.function.value().address)


class Calls:
    """All calls that GDB makes, whatever its expression calls them by: an operator's, a conversion's."""

    def __init__(self, refuse):
        self.refuse, self.known = refuse, {}
        gdb.events.inferior_call.connect(self.note)
        for event in (gdb.events.new_objfile, gdb.events.clear_objfiles):
            event.connect(self.forget)

    def forget(self, _):
        self.known = {}

    def note(self, event):
        if not isinstance(event, gdb.InferiorCallPreEvent):
            return
        if event.address not in self.known:
            self.known[event.address] = self.ask(event.address)
        self.refuse(self.known[event.address] or "")

    @staticmethod
    def ask(entry):
        try:
            block = function_at(entry)
            return why_not(entry, block.function.print_name if block else "0x%x" % entry)
        except (gdb.error, RuntimeError, AttributeError):
            return None
