# SPDX-License-Identifier: MIT
"""altered.py: functions that the compiler has given another way to be called than the source says (altered.h). For GDB as the daemon
uses it, and as fredctl's user does (cli/gdb/calls.py).
"""
import collections
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
    if re.search(r"\bvirtual\b|<incomplete type>", text) or (
            name and re.search(r"~%s\(|\b%s\((?:const )?(?:\S*::)?%s(?:<.*>)? &&?\)" % (name, name, name), text)):
        return True
    return any(is_by_reference(f.type.strip_typedefs()) for f in t.fields() if hasattr(f, "bitpos"))


def is_vector(t):
    return t.code == gdb.TYPE_CODE_ARRAY and "vector_size" in str(t)


def class_of_float(t):
    """Of each eightbyte. A long double is the x87's, which passes nothing in registers; _Float128 is as a vector."""
    if t.sizeof <= 8:
        return ["SSE"]
    return ["SSE", "SSEUP"] if "128" in (t.name or "") or t.code == gdb.TYPE_CODE_DECFLOAT else ["X87", "X87UP"]


def classes_of_scalar(t):
    """Of each eightbyte. None: it is no scalar, or one that is passed in a way of its own."""
    if t.code in (gdb.TYPE_CODE_INT, gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_BOOL, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_REF,
                  gdb.TYPE_CODE_RVALUE_REF, gdb.TYPE_CODE_MEMBERPTR, gdb.TYPE_CODE_METHODPTR):
        return ["INTEGER"] * (-(-t.sizeof // 8))
    if t.code in (gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_DECFLOAT):
        return class_of_float(t)
    if is_vector(t) and t.sizeof in (8, 16):
        return ["SSE"] if t.sizeof == 8 else ["SSE", "SSEUP"]
    return None


def registers_of(eightbytes):
    """What is not the upper part of a register."""
    return [c for c in eightbytes if c in ("INTEGER", "SSE")] if "X87" not in eightbytes else []


def eightbytes_of(t):
    """The class of each eightbyte, None where nothing but padding is; []: it is passed in memory. ValueError: not known."""
    t = t.strip_typedefs()
    scalars = scalars_in(t)
    if any(at % align for at, _, align in scalars):
        return []
    merged = []
    for i in range(-(-t.sizeof // 8)):
        here = {c for at, classes, _ in scalars for k, c in enumerate(classes) if at // 8 + k == i}
        merged.append(next((c for c in ("X87", "X87UP", "INTEGER", "SSE", "SSEUP") if c in here), None))
    for i, c in enumerate(merged):
        if c == "SSEUP" and (not i or merged[i - 1] not in ("SSE", "SSEUP")):
            merged[i] = "SSE"
    return merged


def classes_of(t, by_reference=None):
    """How a value of the type is passed, by the System V ABI: an INTEGER or SSE register for each of its eightbytes that has one of its
    own; []: in memory, or nowhere, since there is nothing in it. None: that is not known; by_reference: whether it is, where that is
    known."""
    t = t.strip_typedefs()
    if t.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and (is_by_reference(t) if by_reference is None else by_reference):
        return ["INTEGER"]
    if t.sizeof > 16 and t.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_COMPLEX):
        return [] if t.sizeof > 64 or not has_wide_vector(t) else None
    try:
        return registers_of(eightbytes_of(t))
    except ValueError:
        return None


def is_in_memory(t):
    """Does a function return it at an address that its caller passes? None: that is not known."""
    t = t.strip_typedefs()
    if t.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_COMPLEX):
        return False
    if t.code != gdb.TYPE_CODE_COMPLEX and is_by_reference(t):
        return True
    if t.sizeof > 16 and has_wide_vector(t):
        return None
    try:
        eightbytes = eightbytes_of(t)
    except ValueError:
        return None
    in_x87 = t.code == gdb.TYPE_CODE_COMPLEX and "X87" in eightbytes
    return (t.sizeof > 16 and not in_x87) or (t.sizeof > 0 and not eightbytes)


def has_wide_vector(t):
    """Of more than 16 bytes: what has nothing else in it is in one register, where the processor has such."""
    t = t.strip_typedefs()
    if is_vector(t):
        return t.sizeof > 16
    if t.code == gdb.TYPE_CODE_ARRAY:
        return has_wide_vector(t.target())
    return t.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and any(has_wide_vector(f.type) for f in t.fields() if hasattr(f, "bitpos"))


def scalars_in(t, offset=0, outer=None):
    """[(offset, class of each eightbyte, alignment)] of what it consists of. ValueError: that is not known; clang 14 passes a structure
    with a _Float128 in memory."""
    t, found = t.strip_typedefs(), []
    classes = classes_of_scalar(t)
    if outer and t.code == gdb.TYPE_CODE_FLT and classes == ["SSE", "SSEUP"]:
        raise ValueError(str(outer))
    if classes:
        return [(offset, classes, t.alignof)]
    if t.code == gdb.TYPE_CODE_COMPLEX:
        return [part for i in range(2) for part in scalars_in(t.target(), offset + i * (t.sizeof // 2))]
    if t.code == gdb.TYPE_CODE_ARRAY and not is_vector(t):
        size = t.target().strip_typedefs().sizeof
        return [part for i in range(t.range()[1] + 1) for part in scalars_in(t.target(), offset + i * size, t)]
    if t.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        raise ValueError(str(t))
    for f in t.fields():
        if not hasattr(f, "bitpos"):
            continue
        if f.bitsize:
            first, last = (offset * 8 + f.bitpos) // 64, (offset * 8 + f.bitpos + f.bitsize - 1) // 64
            found += [(8 * i, ["INTEGER"], 1) for i in range(first, last + 1)]
        else:
            found += scalars_in(f.type, offset + f.bitpos // 8, t)
    return found


def take(left, classes):
    """The registers of an argument out of those that are left; []: it is on the stack."""
    if any(classes.count(c) > len(left[c]) for c in left):
        return []
    return [left[c].pop(0) for c in classes]


def moved_argument(entry):
    """The first argument of a function that comes in another register than it should, or has become a constant; clang leaves the name as
    it is, and at link time that of functions that are not static, too. What is in no register at the entry, as without optimisation, says
    nothing. `info scope` tells of the innermost function at an address, so it is asked at one that no inlined function has."""
    block = function_at(entry)
    function = block.function if block else None
    if not function:
        return None
    is_static = any(s.name == function.name for s in function.symtab.static_block())
    left = {"INTEGER": ["rdi", "rsi", "rdx", "rcx", "r8", "r9"], "SSE": ["xmm%d" % i for i in range(8)]}
    in_memory = is_in_memory(function.type.target())
    unknown = "its result" if in_memory is None else None
    take(left, ["INTEGER"] if in_memory else [])
    at = next((pc for pc in range(entry, min(block.end, entry + 65536)) if is_own_code(pc, block)), None)
    text = gdb.execute("info scope *%d" % at, to_string=True) if at else ""
    where = dict(re.findall(r"(?ms)^Symbol (\S+) is (.*?)(?=^Symbol |\Z)", text))
    for symbol in block:
        if not symbol.is_argument:
            continue
        if not at:
            return "all its code is of functions that were inlined into it" if is_static else None
        place = where.get(symbol.name, "")
        reference = re.match(BY_REFERENCE % entry, place)
        register = reference or re.match(IN_REGISTER % entry, place)
        in_pieces = re.match(AT_ENTRY % entry + r"a complex DWARF expression:[^,]*DW_OP_piece", place)
        classes = classes_of(symbol.type, True if reference else False if register or in_pieces else None)
        if place.startswith("a constant"):
            return "%s is %s" % (symbol.name, place.split(",")[0])
        if classes is None:
            unknown = unknown or symbol.name
        if unknown and register:
            return "how %s is passed is not known" % unknown
        should = take(left, classes or [])
        if register and should and register.group(1) != should[0]:
            return "%s comes in %s" % (symbol.name, register.group(1))
    return None


def has_unknown_to_gdb(t):
    """GDB 13 takes a vector for an array, and a _Float128 for a long double."""
    t = t.strip_typedefs()
    if is_vector(t) or t.code == gdb.TYPE_CODE_FLT:
        return is_vector(t) or class_of_float(t) == ["SSE", "SSEUP"]
    if t.code in (gdb.TYPE_CODE_ARRAY, gdb.TYPE_CODE_COMPLEX):
        return has_unknown_to_gdb(t.target())
    return t.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) and any(
        has_unknown_to_gdb(f.type) for f in t.fields() if hasattr(f, "bitpos") and not f.bitsize)


def passed_otherwise(entry):
    """The first type that GDB passes in another way than compilers do."""
    block = function_at(entry)
    if not block:
        return None
    for t in [block.function.type.target()] + [s.type for s in block if s.is_argument]:
        in_registers = t.strip_typedefs().sizeof <= 16 or has_wide_vector(t)
        if (in_registers or t.strip_typedefs().code == gdb.TYPE_CODE_COMPLEX) and has_unknown_to_gdb(t):
            return "GDB does not pass a value of type %s as it does" % t
    return None


def altered(entry):
    """What is known of it; None: it may be called. What goes wrong here is no leave to call it."""
    try:
        return clone_at(entry) or moved_argument(entry) or dropped_result(entry) or passed_otherwise(entry)
    except Exception as why:
        return "whether it has cannot be told: %s: %s" % (type(why).__name__, str(why).split("\n")[0])


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
        # Python is not asked while the program runs: it would swallow a Ctrl-C
        self.changes = collections.deque([], 1)
        gdb.events.inferior_call.connect(self.note)
        for event in (gdb.events.new_objfile, gdb.events.clear_objfiles):
            event.connect(self.changes.append)

    def note(self, event):
        if not isinstance(event, gdb.InferiorCallPreEvent):
            return
        if self.changes:
            self.changes.clear()
            self.known = {}
        if event.address not in self.known:
            self.known[event.address] = self.ask(event.address)
        self.refuse(self.known[event.address] or "")

    @staticmethod
    def ask(entry):
        block = function_at(entry)
        return why_not(entry, block.function.print_name if block else "0x%x" % entry)
