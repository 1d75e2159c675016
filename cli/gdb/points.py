# SPDX-License-Identifier: MIT
"""points.py: the breakpoints, watchpoints and catchpoints of a session, after state.py. What `save breakpoints` writes of each is kept,
with what that leaves out: `enable once` and its like, what a catchpoint matches, the address, frame and thread that were meant
where GDB writes a text that means another one later, and how often it was hit.
"""
import collections
import errno
import os
import re

import gdb

WATCHES = ("watch", "rwatch", "awatch")


class Row:
    """A row of `info breakpoints`."""

    def __init__(self, text):
        def find(pattern, otherwise=None):
            found = re.search(pattern, text, re.M)
            return found.group(1) if found else otherwise

        self.number = int(find(r"^(\d+)"))
        self.disposition = find(r"^\d+ +\S.*? +(keep|del|dis|dstp) +[yn]\b", "keep")
        self.address = find(r"^\d+ .* (0x[0-9a-f]+) ")
        self.hits = int(find(r"^\t\w+ already hit (\d+) time", 0))
        self.enable_count = int(find(r"disable after (?:next|additional) (\d+) hits", 0))
        self.matching = find(r"^\tmatching: (.*)$")

    @staticmethod
    def all():
        return [Row(text) for text in re.split(r"^(?=\d+ )", quietly("info breakpoints"), flags=re.M) if text[:1].isdigit()]


def frame_base(frame):
    """Where its caller's stack ends: the same as long as the frame exists."""
    outer = frame.older()
    return int(outer.read_register("rsp")) if outer else None


def meant(expression):
    """For a watchpoint that is being made: its frame, and with -location the object."""
    place = {"frame": frame_base(gdb.selected_frame())}
    if expression.startswith("-location "):
        pointer = gdb.parse_and_eval("&(%s)" % expression[len("-location "):])
        place["location"] = "*(%s) 0x%x" % (pointer.type.unqualified(), int(pointer))
    return place


def location(expression, wanted):
    """The user's text, if it still means the same."""
    try:
        same = meant(expression)["location"] == wanted
    except gdb.error:
        same = False
    return expression if same else "-location " + wanted


def thread_ids():
    return {t.global_num: t.ptid[1] for t in gdb.selected_inferior().threads()}


class Breakpoints:
    """get() and put(): [{number, text, hits, and where the text alone means another one: tid, frame, location}]"""

    def __init__(self, scratch):
        self.scratch = scratch
        # Python is not asked while the program runs: it would swallow a Ctrl-C
        self.changes = collections.deque([True], 1)
        self.known = []
        self.told = False
        self.meant = {}
        self.before = {}  # hits in earlier GDBs of this session
        self.seen = {}  # hits in this one
        for event in (gdb.events.breakpoint_created, gdb.events.breakpoint_modified, gdb.events.breakpoint_deleted):
            event.connect(self.changes.append)
        gdb.events.breakpoint_created.connect(self.note_new)

    def note_new(self, point):
        try:
            if point.expression:
                self.meant[point.number] = meant(point.expression)
        except (gdb.error, RuntimeError, AttributeError):
            pass  # only its text is known

    def get(self):
        if self.changes:
            self.known = self.read()
            self.changes.clear()
        return self.known

    def has_calls(self):
        """GDB 13 dies when it saves a catchpoint of system calls."""
        found = re.search(r"^\d+ +catchpoint .* (?:syscalls? |<any syscall>)", quietly("info breakpoints"), re.M)
        if found and not self.told:
            say("as long as there is a catchpoint of system calls, breakpoints are not kept for `fredctl debug --resume`")
        self.told = found is not None
        return self.told

    def read(self):
        if self.has_calls():
            return self.known
        rows = Row.all()
        if not rows:
            return []
        quietly("save breakpoints " + self.scratch)
        with open(self.scratch, encoding="utf-8", errors="surrogateescape") as f:
            texts = re.findall(r"^(?!disable \$bpnum)\S.*\n(?:[ \t].*\n|disable \$bpnum.*\n)*", f.read(), re.M)
        os.unlink(self.scratch)
        if len(texts) != len(rows) and not os.statvfs(os.path.dirname(self.scratch)).f_bavail:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.scratch)  # GDB does not tell
        if len(texts) != len(rows):
            raise ValueError("%d breakpoints are saved as %d" % (len(rows), len(texts)))
        ids = thread_ids()
        return [self.describe(row, text, ids) for row, text in zip(rows, texts)]

    def describe(self, row, text, ids):
        first, rest = text.split("\n", 1)
        if row.matching:
            first += " " + row.matching
        if row.address and re.search(r" \*.*\$", first):  # as *$pc
            first = re.sub(r" \*.*?(?= thread \d+$|$)", " *" + row.address, first)
        if row.disposition == "dis":  # in front of a `disable`, which it undoes
            rest = ("enable count %d $bpnum\n" % row.enable_count if row.enable_count > 1 else "enable once $bpnum\n") + rest
        one = {"number": row.number, "text": first + "\n" + rest, "hits": self.hits(row), **self.meant.get(row.number, {})}
        thread = re.search(r" thread (\d+)$", first)
        if thread and int(thread.group(1)) in ids:
            one["tid"] = ids[int(thread.group(1))]
        return one

    def hits(self, row):
        if row.hits < self.seen.get(row.number, 0):  # `run` begins to count again
            self.before.pop(row.number, None)
        self.seen[row.number] = row.hits
        return row.hits + self.before.get(row.number, 0)

    def put(self, saved):
        at = 1
        for one in saved:
            at = self.skip_to(at, one["number"])
            try:
                at += self.make(one)
                self.before[at - 1] = one.get("hits", 0)
            except gdb.error as why:
                say("breakpoint %d (%s) cannot be set again: %s" % (one["number"], one["text"].splitlines()[0], why))

    @staticmethod
    def skip_to(at, number):
        """Uses up numbers that are no longer in use, by breakpoints without a place."""
        while at < number:
            quietly("tbreak *0")
            quietly("delete $bpnum")
            at += 1
        return at

    @staticmethod
    def text_now(one):
        """With this GDB's number of the thread, and a location that names what it meant."""
        text = one["text"]
        if "tid" in one:
            number = [n for n, tid in thread_ids().items() if tid == one["tid"]]
            if not number:
                raise gdb.error("its thread, %d, is no more" % one["tid"])
            text = re.sub(r" thread \d+$", " thread %d" % number[0], text, count=1, flags=re.M)
        if "location" in one:
            text = re.sub(r" (-location .*?)(?= thread \d+$|$)", lambda found: " " + location(found.group(1), one["location"]), text,
                          count=1, flags=re.M)
        return text

    def make(self, one):
        before = int(gdb.convenience_variable("bpnum") or 0)
        with open(self.scratch, "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(self.text_now(one))
        try:
            in_some_frame(lambda: quietly("source " + self.scratch), one["text"].startswith(WATCHES), one.get("frame"))
        finally:
            os.unlink(self.scratch)
        return int(gdb.convenience_variable("bpnum")) - before

    def say_hits(self):
        """Prints the hits with the earlier ones: GDB counts from 0, and its count cannot be set."""
        for row in Row.all():
            hits = self.hits(row)
            if hits != row.hits:
                gdb.write("%d: hit %d time%s with those before the session was resumed\n" % (row.number, hits, "s" if hits > 1 else ""))
