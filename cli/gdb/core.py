# SPDX-License-Identifier: MIT
"""core.py: what GDB asks the kernel of a process, of a recorded one: info proc, generate-core-file. fredctl puts this text into GDB,
after commands.py. elf(5), core(5).
"""
import struct

import gdb

PT_LOAD, PT_NOTE, ET_CORE, EM_X86_64 = 1, 4, 4, 62
NT_PRSTATUS, NT_PRPSINFO, NT_AUXV = 1, 3, 6
PAGE, CHUNK = 4096, 1 << 20
# struct user_regs_struct
GENERAL = "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs".split()


def proc(what):
    """The lines that fred has about the recorded process."""
    return quietly("monitor proc " + what).splitlines()


def regions():
    """[(first, end, "rwxp", offset, name)]: without the recorder's own."""
    found = []
    for line in proc("maps"):
        words = line.split(None, 5)
        first, end = (int(address, 16) for address in words[0].split("-"))
        found.append((first, end, words[1], int(words[2], 16), words[5] if len(words) > 5 else ""))
    return found


class InfoProc(Command):
    """info proc [mappings|exe|cmdline|cwd|all]: of the recorded process."""

    PARTS = ("exe", "cmdline", "cwd", "mappings")

    def go(self, arg, from_tty):
        words = arg.split()
        wanted = self.PARTS if words == ["all"] else words or self.PARTS[:3]
        if not set(wanted) <= set(self.PARTS):
            raise gdb.GdbError("info proc: a recording knows %s and all, of this process" % ", ".join(self.PARTS))
        gdb.write("process %s\n" % proc("pid")[0])
        for part in wanted:
            if part == "mappings":
                self.mappings()
            else:
                gdb.write("%s = '%s'\n" % (part, proc(part)[0]))

    @staticmethod
    def mappings():
        gdb.write("Mapped address spaces:\n\n  %18s %18s %10s %10s  %-6s %s\n" % ("Start Addr", "End Addr", "Size", "Offset", "Perms", "objfile"))
        for first, end, perms, offset, name in regions():
            gdb.write("  %18s %18s %10s %10s  %-6s %s\n" % (hex(first), hex(end), hex(end - first), hex(offset), perms, name))


def note(kind, data):
    name = b"CORE\0\0\0\0"
    return struct.pack("<3I", 5, len(data), kind) + name + data + b"\0" * (-len(data) % 4)


def registers():
    """The registers of the selected thread, as elf_gregset_t."""
    frame, values = gdb.newest_frame(), []
    for name in GENERAL:
        try:
            values.append(int(frame.read_register(name)) & (1 << 64) - 1)
        except (gdb.error, ValueError):
            values.append(0)
    return struct.pack("<27Q", *values)


def status_of(tid, pid):
    """struct elf_prstatus"""
    return struct.pack("<3IHxxQQ4I8Q", 0, 0, 0, 0, 0, 0, tid, 0, pid, pid, *[0] * 8) + registers() + struct.pack("<II", 0, 0)


def process_note(pid):
    """struct elf_prpsinfo"""
    name, args = proc("exe")[0].rsplit("/", 1)[-1].encode(), proc("cmdline")[0].encode()
    return struct.pack("<4bxxxxQ2I4I16s80s", 0, ord("R"), 0, 0, 0, 0, 0, pid, 0, pid, pid, name[:15], args[:79])


def thread_notes(pid):
    """The threads, the selected one first: a debugger of the core file begins there."""
    was, frame = gdb.selected_thread(), gdb.selected_frame()
    threads = {t.num: t for t in gdb.selected_inferior().threads()}
    notes = b""
    try:
        for number in sorted(numbers_of_live(), key=lambda n: (n != was.num, n)):
            threads[number].switch()
            notes += note(NT_PRSTATUS, status_of(threads[number].ptid[1], pid))
    finally:
        was.switch()
        frame.select()
    return notes


class Core(Command):
    """generate-core-file [FILE]: a core file of the recorded process where it stands; core.PID without FILE."""

    def go(self, arg, from_tty):
        pid = int(proc("pid")[0])
        path = arg.strip() or "core.%d" % pid
        memory = [r for r in regions() if r[2][0] == "r" and not r[4].startswith(("[vsyscall", "[vvar"))]
        auxv = bytes.fromhex("".join(proc("auxv")))
        notes = note(NT_PRPSINFO, process_note(pid)) + thread_notes(pid) + note(NT_AUXV, auxv)
        try:
            with open(path, "wb") as f:
                self.write(f, memory, notes)
        except OSError as why:
            raise gdb.GdbError("generate-core-file: %s: %s" % (path, why.strerror))
        gdb.write("Saved corefile %s\n" % path)

    @staticmethod
    def write(f, memory, notes):
        count, at = len(memory) + 1, 64 + 56 * (len(memory) + 1)
        f.write(b"\x7fELF" + bytes([2, 1, 1] + [0] * 9) + struct.pack("<HHIQQQIHHHHHH", ET_CORE, EM_X86_64, 1, 0, 64, 0, 0, 64, 56, count, 0, 0, 0))
        f.write(struct.pack("<IIQQQQQQ", PT_NOTE, 0, at, 0, 0, len(notes), 0, 4))
        place = -(-(at + len(notes)) // PAGE) * PAGE
        for first, end, perms, _, _ in memory:
            flags = sum(bit for bit, letter in ((4, "r"), (2, "w"), (1, "x")) if letter in perms)
            f.write(struct.pack("<IIQQQQQQ", PT_LOAD, flags, place, first, 0, end - first, end - first, PAGE))
            place += end - first
        f.write(notes)
        f.seek(-(-(at + len(notes)) // PAGE) * PAGE)
        inferior = gdb.selected_inferior()
        for first, end, _, _, _ in memory:
            for address in range(first, end, CHUNK):
                size = min(CHUNK, end - address)
                try:
                    data = bytes(inferior.read_memory(address, size))
                except gdb.error:
                    data = b""
                if data.strip(b"\0"):
                    f.write(data)
                else:
                    f.seek(size, 1)  # a hole
        f.truncate(place)


def add_core_commands():
    InfoProc("info proc", gdb.COMMAND_STATUS)
    for name in ("generate-core-file", "gcore"):
        Core(name, gdb.COMMAND_FILES, gdb.COMPLETE_FILENAME)
