# SPDX-License-Identifier: MIT
"""results.py: functions that no longer return what their source says (altered.h). clang drops the result of a static function where no caller
uses it, or where all callers know it, and says so neither in the name nor in DWARF. So the code is asked: what the function leaves in the
result's registers, and what its callers do with them. In front of altered.py.
"""
import array
import re

import gdb

CODE_MAX = 16 << 20
WIDTHS = {"rax": r"%(?:[re]?ax|al|ah)\b", "rdx": r"%(?:[re]?dx|dl|dh)\b", "xmm0": r"%[xyz]mm0\b", "xmm1": r"%[xyz]mm1\b"}
NO_WRITE = re.compile(r"cmp|test|u?comis|vu?comis|ptest|vptest|bt[lqw ]|push|nop|prefetch|j|call")
WHOLE = re.compile(r"v?mov(?!s[sd]\b)|lea|cvtt?s[sd]2si|cvtsi2|set|v?sqrt|pop|v?pshuf")  # no part of the old value remains
TRUSTED = re.compile(r"v?(mov|lea|cvt|set|cmov|sqrt|pshuf|unpck|(add|sub|mul|div|and|or|xor|shuf|max|min)[ps][sd])|"
                     r"(add|sub|imul|sh[lr]|sar|and|or|xor|neg|not|inc|dec|pxor|vpxor|vxorps|vxorpd|rol|ror|bswap|popcnt|lzcnt|tzcnt)")
SETS_FLAGS = re.compile(r"(add|sub|imul|sh[lr]|sar|and|or|xor|neg|inc|dec)[bwlq]?\b")
READS_FLAGS = re.compile(r"j(?!mp)|set|cmov|adc|sbb|rc[lr]")
# operation: what it reads and writes besides its operands
IMPLICIT = {"cltq": ("rax", "rax"), "cwtl": ("rax", "rax"), "cltd": ("rax", "rdx"), "cqto": ("rax", "rdx"), "cwtd": ("rax", "rdx"),
            "syscall": ("rax rdx", "rax"), "cpuid": ("rax", "rax rdx"), "rdtsc": ("", "rax rdx"), "lahf": ("", "rax"), "sahf": ("rax", "")}


class Insn:
    """What one does to a register of the result."""

    def __init__(self, insn, reg):
        text = re.sub(r"\s*[#<].*", "", insn["asm"])
        text = re.sub(r"^(?:(?:rep\w*|lock|bnd|notrack|data16|cs)\s+)+", "", text)
        self.at, self.end = insn["addr"], insn["addr"] + insn["length"]
        self.op, _, rest = text.partition(" ")
        operands = [o.strip() for o in re.split(r",(?![^(]*\))", rest) if o.strip()]
        mentioned = [bool(re.search(WIDTHS[reg], o)) for o in operands]
        self.is_call, self.is_jump, self.is_ret = self.op.startswith("call"), self.op.startswith("j"), self.op.startswith("ret")
        target = re.fullmatch(r"0x([0-9a-f]+)", operands[0]) if operands else None
        self.target = int(target.group(1), 16) if target else None
        last = bool(operands) and mentioned[-1] and operands[-1].startswith("%")
        self.writes = last and not NO_WRITE.match(self.op)
        zero = self.writes and re.match(r"xor|sub|v?pxor|v?xorp", self.op) and len(set(operands)) == 1
        load = self.op in ("movss", "movsd", "vmovss", "vmovsd") and len(operands) == 2 and not operands[0].startswith("%")
        self.reads = any(mentioned[:-1]) or (bool(operands) and mentioned[-1] and not last) or (
            last and not (self.writes and (load or WHOLE.match(self.op) or (self.op.startswith("v") and len(operands) > 2) or
                                           (self.op.startswith("imul") and len(operands) > 2))))
        if zero:
            self.reads = False
        if self.op.startswith("push") and last:
            self.reads = False  # clang's way to align the stack
        volatile = re.match(r"v?mov", self.op) and operands and "(" in operands[0]  # a load that is done for nothing
        self.trusted = self.writes and not volatile and bool(TRUSTED.match(self.op))
        reads, writes = IMPLICIT.get(self.op, ("", ""))
        if re.match(r"i?(mul|div)[bwlq]?$", self.op) and len(operands) == 1:
            reads, writes = ("rax rdx" if "div" in self.op else "rax"), "rax rdx"
        elif re.match(r"cmpxchg|stos|lods|xlat", self.op):
            reads, writes = "rax rdx", "rax"
        elif re.match(r"xchg|xadd", self.op) and any(mentioned):
            reads, writes = reg, reg
        self.reads |= reg in reads.split()
        if reg in writes.split():
            self.writes, self.trusted = True, False


def instructions_of(block, reg):
    arch = gdb.selected_inferior().architecture()
    return {i["addr"]: Insn(i, reg) for i in arch.disassemble(block.start, block.end - 1)}


def successors(insn, code):
    """Of those in the function."""
    if insn.is_ret or insn.op.startswith(("ud2", "hlt")):
        return []
    after = [insn.target] if insn.is_jump and insn.target else []
    if insn.op != "jmp" and insn.op != "jmpq":
        after.append(insn.end)
    return [a for a in after if a in code]


def leaves_result(block, reg):
    """True: the code writes the register for nothing but the result. False: it can return without ever writing it. None: neither."""
    code = instructions_of(block, reg)
    indirect = any(i.is_jump and not i.target for i in code.values())
    work, seen, read, at_ret = [(block.start, 0, False)], set(), set(), set()
    while work:
        state = work.pop()
        if state in seen or len(seen) > 100000:
            continue
        seen.add(state)
        at, written, flags = state  # the last instruction that wrote it; 0: none has, -1: a call
        insn = code[at]
        if insn.is_ret:
            at_ret.add(written)
        if insn.reads or insn.is_call or (flags and READS_FLAGS.match(insn.op)):
            read.add(written)
        if insn.is_call or (insn.is_jump and insn.target not in code):
            written = -1
        elif insn.writes:
            written = insn.at if insn.trusted else -1
            flags = bool(SETS_FLAGS.match(insn.op))
        elif SETS_FLAGS.match(insn.op) or re.match("cmp|test", insn.op):
            flags = False
        work += [(a, written, flags) for a in successors(insn, code)]
    if at_ret - read - {0, -1}:
        return True
    return False if 0 in at_ret and not indirect else None


def words(data, size):
    """Each of that many bytes, with where it begins."""
    for shift in range(size):
        kept = data[shift:len(data) - (len(data) - shift) % size]
        yield shift, array.array("i" if size == 4 else "q", kept)


def references(block):
    """Where the code of the file refers to the function: [address of a call or jump]. None: its address is used in another way, so that
    the compiler does not know its callers, or that cannot be told."""
    unit, entry = block.global_block, block.start
    if unit.end - unit.start > CODE_MAX:
        return None
    inferior, found = gdb.selected_inferior(), []
    code = bytes(inferior.read_memory(unit.start, unit.end - unit.start))
    for shift, values in words(code, 4):
        base = entry - unit.start - shift - 4
        for i in [i for i, v in enumerate(values) if v + 4 * i == base or v == entry]:
            at = shift + 4 * i
            if values[i] == entry or (code[at - 2] == 0x8d and code[at - 1] & 0xc7 == 5):  # an immediate operand; lea
                return None
            if code[at - 1] in (0xe8, 0xe9):
                found.append(unit.start + at - 1)
            elif code[at - 2] == 0x0f and code[at - 1] & 0xf0 == 0x80:
                found.append(unit.start + at - 2)
    objfile = re.escape(block.function.symtab.objfile.filename) if block.function else ""
    for start, end, name in re.findall(r"(0x\w+) - (0x\w+) is (\S+)(?: in \S+)?\n", gdb.execute("info files", to_string=True)):
        lo, hi = int(start, 16), int(end, 16)
        if objfile and name in (".data", ".data.rel.ro", ".rodata", ".init_array", ".fini_array") and hi - lo <= CODE_MAX:
            try:
                if entry.to_bytes(8, "little") in bytes(inferior.read_memory(lo, hi - lo)):
                    return None
            except gdb.error:
                pass
    return sorted(found)


def result_used(at, reg, seen):
    """Whether the caller reads what the call at the address has left in the register."""
    caller = function_at(at)
    if not caller:
        return True
    code = instructions_of(caller, reg)
    if at not in code:
        return True
    work, known = [code[at].end] if code[at].is_call else [], set()
    passed = not code[at].is_call
    while work:
        pc = work.pop()
        if pc in known or pc not in code:
            continue
        known.add(pc)
        insn = code[pc]
        if insn.is_ret:
            passed = True
        elif insn.reads:
            return True
        elif insn.is_call or (insn.is_jump and insn.target not in code):
            if reg.startswith("xmm") and takes_double(insn.target):
                return True
        elif not insn.writes:
            work += successors(insn, code)
    return passed and reg in (result_registers(caller.function) or []) and not dropped_from(caller, reg, seen)


def takes_double(entry):
    block = entry and function_at(entry)
    if not block:
        return False
    return any(s.is_argument and "SSE" in (classes_of(s.type) or []) for s in block)


def result_registers(function):
    """None: it is not known; []: none, or the caller says where."""
    result = function.type.target().strip_typedefs()
    if result.code == gdb.TYPE_CODE_VOID:
        return []
    in_memory = is_in_memory(result)
    classes = [] if in_memory else classes_of(result)
    return None if in_memory is None or classes is None else take({"INTEGER": ["rax", "rdx"], "SSE": ["xmm0", "xmm1"]}, classes)


def is_optimized(block):
    """Without optimisation, clang keeps all variables in the frame, and has a frame pointer."""
    text = gdb.execute("info scope *%d" % block.start, to_string=True)
    if re.search(r"is a variable at frame base reg .rbp", text):
        return False
    if re.search(r"a variable in .\w|is optimized out|is a constant", text):
        return True
    return bytes(gdb.selected_inferior().read_memory(block.start, 4)) != b"\x55\x48\x89\xe5"


def is_of_clang(symtab):
    text = gdb.execute("maint info symtabs " + re.escape(symtab.filename), to_string=True)
    return re.search(r"producer .*clang", text)


def dropped_from(block, reg, seen):
    """The function no longer returns what belongs in the register."""
    key = (block.start, reg)
    if key in seen:
        return True  # a recursive call alone uses nothing
    seen = seen | {key}
    kept = leaves_result(block, reg)
    if not any(s.name == block.function.name for s in block.function.symtab.static_block()):
        return kept is False and reg in ("rax", "rdx") and is_optimized(block)  # at link time
    if kept or (kept is None and not is_optimized(block)):
        return False
    calls = references(block)
    if calls is None:
        return False
    if kept is False and reg in ("rax", "rdx"):
        return True
    return not any(result_used(at, reg, seen) for at in calls)


def dropped_result(entry):
    """Why the function's result is not to be trusted; None: it is."""
    block = function_at(entry)
    if not block or block.start != entry or not is_of_clang(block.function.symtab):
        return None
    for reg in result_registers(block.function) or []:
        if dropped_from(block, reg, frozenset()):
            return "no caller uses what it returns in %s" % reg
    return None
