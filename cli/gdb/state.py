# SPDX-License-Identifier: MIT
"""state.py: GDB's part of a debugging session: at each prompt its own state (breakpoints: points.py; settings: settings.py; displays,
convenience variables, value history, what is selected) is saved to a file, from which another GDB takes it over. fredctl puts
these texts into GDB, all into one namespace; GDB 13 and newer. Nothing here may fail loudly: a prompt must come, whatever happens.
"""
import json
import os
import re
import struct

import gdb

VERSION = 1
BYTES_MAX = 1 << 20
# Set by GDB itself (those that begin with _ are too).
NOT_THE_USERS = {"bpnum", "tpnum", "trace_frame", "trace_line", "trace_func", "trace_file", "cdir", "cwd"}


def quietly(command):
    return gdb.execute(command, from_tty=False, to_string=True)


def path_in(variable):
    """A path that fredctl has put there: its bytes, whatever the locale and the program's character set; None: there is none."""
    value = gdb.convenience_variable(variable)
    return None if value is None else os.fsdecode(value.string("latin-1").encode("latin-1"))


def by_folder(path):
    """A name of the file that every GDB command accepts, whatever its folder is called."""
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    return "/proc/self/fd/%d/%s" % (folder, os.path.basename(path))


def say(text):
    gdb.write("fred: %s\n" % text, gdb.STDERR)


# ---- values: a type that can be named again, and bytes ----

def type_tree(t):
    t = t.unqualified()
    if t.code == gdb.TYPE_CODE_ARRAY:
        low, high = t.range()
        return {"array": type_tree(t.target()), "length": high - low + 1, "vector": False}
    if t.code == gdb.TYPE_CODE_PTR and t.target().strip_typedefs().code not in (gdb.TYPE_CODE_FUNC, gdb.TYPE_CODE_METHOD):
        return {"pointer": type_tree(t.target())}
    if "{...}" in str(t):
        raise ValueError("a type without a name")
    return {"name": str(t)}


def type_of_tree(tree):
    if "array" in tree:
        return type_of_tree(tree["array"]).array(tree["length"] - 1)
    if "pointer" in tree:
        return type_of_tree(tree["pointer"]).pointer()
    if tree["name"].endswith(")"):
        return gdb.parse_and_eval("(%s)0" % tree["name"]).type
    return gdb.parse_and_eval("(%s *)0" % tree["name"]).type.target()


def bits_of(value, size):
    return int(value) & ((1 << 8 * size) - 1)


def struct_bytes(value, t):
    number = 0
    for field in t.fields():
        if not hasattr(field, "bitpos") or field.artificial:
            continue
        part = value_bytes(value[field])
        bits = int.from_bytes(part, "little")
        if field.bitsize:
            bits &= (1 << field.bitsize) - 1
        number |= bits << field.bitpos
    return number.to_bytes(t.sizeof, "little")


def value_bytes(value):
    if hasattr(value, "bytes"):  # GDB 15
        return bytes(value.bytes)
    t = value.type.strip_typedefs()
    if t.sizeof > BYTES_MAX:
        raise ValueError("too large")
    if t.code == gdb.TYPE_CODE_FLT:
        return struct.pack({4: "<f", 8: "<d"}[t.sizeof], float(value))
    if t.code == gdb.TYPE_CODE_ARRAY:
        low, high = t.range()
        return b"".join(value_bytes(value[i]) for i in range(low, high + 1))
    if t.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION):
        return struct_bytes(value, t)
    return bits_of(value, t.sizeof).to_bytes(t.sizeof, "little")


def encode(value):
    """What cannot be kept as a value is kept as its text."""
    try:
        if value.type.code == gdb.TYPE_CODE_VOID:
            return {"void": True}
        return {"type": type_tree(value.type), "bytes": value_bytes(value).hex()}
    except (gdb.error, ValueError, KeyError, OverflowError, AttributeError):
        try:
            return {"text": value.format_string()}
        except gdb.error as why:
            return {"text": "<%s>" % why}


def decode(tree):
    if "text" in tree:
        return gdb.Value(tree["text"])
    if "void" in tree:
        return gdb.parse_and_eval("(void)0")
    return gdb.Value(bytes.fromhex(tree["bytes"]), type_of_tree(tree["type"]))


# ---- the parts of GDB's state ----

def frame_at(base):
    """The innermost frame with this base (frame_base), or None."""
    frame = gdb.newest_frame()
    while frame is not None and frame_base(frame) != base:
        frame = frame.older()
    return frame


def in_some_frame(action, any_frame, base=None):
    """Runs the action in the frame with this base, if it exists, else in the selected one; with any_frame, further out until its names
    have a meaning."""
    was = gdb.selected_frame()
    frame = base and frame_at(base) or was
    try:
        while True:
            try:
                frame.select()
                return action()
            except gdb.error:
                frame = frame.older() if any_frame else None
                if frame is None:
                    raise
    finally:
        was.select()


class Displays:
    def __init__(self):
        self.waiting = []  # displays whose names have no meaning at the present place

    def get(self):
        rows = re.findall(r"^(\d+):\s+([yn])\s+(?:(/\S+) )?(.*)$", quietly("info display"), re.M)
        shown = [{"number": int(n), "enabled": e == "y", "format": f, "expr": re.sub(r"\ncannot be.*", "", x).strip()}
                 for n, e, f, x in rows]
        for one in shown:
            one["expr"] = re.sub(r"\s*cannot be evaluated in the current context$", "", one["expr"])
        return sorted(shown + self.waiting, key=lambda d: d["number"])

    def put(self, saved):
        at = 1
        for one in saved:
            while at < one["number"]:
                quietly("display 0")
                quietly("undisplay %d" % at)
                at += 1
            if not self.make(one):
                self.waiting.append(one)
                say("display %d (%s) comes back where its names mean something" % (one["number"], one["expr"]))
                continue
            at += 1

    def retry(self):
        self.waiting = [one for one in self.waiting if not self.make(one)]

    @staticmethod
    def make(one):
        try:
            in_some_frame(lambda: quietly("display%s %s" % (one["format"], one["expr"])), True)
        except gdb.error:
            return False
        if not one["enabled"]:
            number = re.findall(r"^(\d+):", quietly("info display"), re.M)[-1]
            quietly("disable display " + number)
        return True


class Values:
    """The value history, which only grows."""

    def __init__(self):
        self.known = []

    def get(self):
        for i in range(len(self.known) + 1, gdb.history_count() + 1):
            self.known.append(encode(gdb.history(i)))
        return self.known

    def put(self, saved):
        for one in saved:
            try:
                gdb.add_history(decode(one))
            except (gdb.error, RuntimeError) as why:
                say("$%d is lost: %s" % (gdb.history_count() + 1, why))
                gdb.add_history(gdb.Value("<lost>"))
        self.known = list(saved)


def variables():
    found = {}
    for name in re.findall(r"^\$([A-Za-z]\w*) = ", quietly("show convenience"), re.M):
        value = None if name in NOT_THE_USERS else gdb.convenience_variable(name)
        if value is not None and value.type.code != gdb.TYPE_CODE_INTERNAL_FUNCTION:
            found[name] = encode(value)
    return found


def put_variables(saved):
    for name, tree in saved.items():
        try:
            gdb.set_convenience_variable(name, decode(tree))
        except gdb.error as why:
            say("$%s is lost: %s" % (name, why))


def selected_thread():
    """None: there is none, or it has ended."""
    try:
        return gdb.selected_thread()
    except SystemError:  # GDB 13, of one that has ended
        return None


def selection():
    try:
        return {"tid": selected_thread().ptid[1], "frame": gdb.selected_frame().level()}
    except (gdb.error, AttributeError):
        return None


def select(saved):
    if not saved:
        return
    try:
        for thread in gdb.selected_inferior().threads():
            if thread.ptid[1] == saved["tid"]:
                thread.switch()
        quietly("frame level %d" % saved["frame"])
    except gdb.error as why:
        say("frame %d cannot be selected: %s" % (saved["frame"], why))


class Session:
    """path: the file; None: nothing is kept."""

    def __init__(self, path):
        self.path = path
        self.written = None
        scratch = path and by_folder(path + ".script")
        self.settings = Settings(scratch)
        self.breakpoints = Breakpoints(scratch)
        self.displays = Displays()
        self.values = Values()

    def state(self):
        return {"version": VERSION, "breakpoints": self.breakpoints.get(), "displays": self.displays.get(),
                "variables": variables(), "values": self.values.get(), "selected": selection(), "settings": self.settings.get()}

    def restore(self):
        if not self.path or not os.path.exists(self.path):
            return
        with open(self.path, encoding="utf-8", errors="surrogateescape") as f:
            saved = json.load(f)
        if saved["version"] != VERSION:
            say("GDB's state is of another version of fred (%s): left out" % saved["version"])
            return
        self.settings.put(saved.get("settings", {}))
        select(saved["selected"])
        self.values.put(saved["values"])
        put_variables(saved["variables"])
        self.breakpoints.put(saved["breakpoints"])
        self.displays.put(saved["displays"])

    def save(self):
        text = json.dumps(self.state())
        if text == self.written:
            return
        temporary = self.path + ".new"
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        os.replace(temporary, self.path)
        self.written = text

    def at_prompt(self):
        """Before the user may type: what follows must not be lost."""
        try:
            if not gdb.selected_inferior().pid:
                return
            thread = selected_thread()  # the packet `bs` does not say which thread is to go back
            text = quietly("monitor prompt %d" % (thread.ptid[1] if thread else 0))
            if text:
                gdb.write(text, gdb.STDERR)
            self.displays.retry()
            if self.path:
                self.save()
        except (gdb.error, OSError, ValueError) as why:
            say("this state is not saved: %s" % why)
        except KeyboardInterrupt:
            pass  # the next prompt saves it


def at_prompt():
    """For a prompt that is not GDB's own, such as fred-repl's: what `monitor` prints goes only to GDB's first user interface."""
    gdb.write(quietly("monitor said"))
    if the_session:
        the_session.at_prompt()


the_session = None
the_conditions = []


def say_hits():
    if the_session:
        the_session.breakpoints.say_hits()


def begin_in_program():
    """A recording begins in the loader. Until the user has moved, `list` and `break LINE` are to be about the program nevertheless."""
    here = gdb.selected_frame().find_sal().symtab
    if here and here.objfile.filename == gdb.current_progspace().filename:
        return
    main = gdb.decode_line("main")[1][0]
    before = max(main.line - 6, 1)  # what is listed next is around it
    quietly("list '%s':%d,%d" % (main.symtab.filename, before, before))


def begin_session(path):
    global the_session
    the_conditions.append(Conditions())
    the_session = session = Session(path)
    try:
        session.restore()
    except (gdb.error, OSError, ValueError, KeyError) as why:
        say("GDB's state cannot be taken over: %s: %s" % (path, why))
    if "currently enabled" in quietly("show remote catch-syscalls-packet"):  # a live program has none
        add_catches()
    try:
        begin_in_program()
    except (gdb.error, TypeError, AttributeError):
        pass  # the program has no line information
    gdb.events.before_prompt.connect(session.at_prompt)


gdb.set_convenience_variable("_fred_python", 1)
