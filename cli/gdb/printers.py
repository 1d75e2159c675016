# SPDX-License-Identifier: MIT
"""printers.py: GDB finds what prints a library's types by the library's path. Where it reads the recording's copies in their places, that
path is another one: what belongs to the library of that name on this host is taken. fredctl puts this text into GDB.
"""
import collections
import os
import re
import sys

import gdb

AUTO_LOAD = "/usr/share/gdb/auto-load"


def run_script(path):
    """libstdc++'s script finds its module by the place of the library, which is another one here."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    sys.path += re.findall(r"^pythondir = '(.*)'$", text, re.M)
    exec(compile(text, path, "exec"), {"__name__": "__main__", "__file__": path})


def take_printers(objfile):
    sysroot, name = gdb.parameter("sysroot"), objfile.username or ""
    if len(sysroot) < 2 or not name.startswith(sysroot + "/"):
        return
    script = AUTO_LOAD + os.path.realpath(name[len(sysroot):]) + "-gdb.py"
    try:
        if os.path.exists(script):
            run_script(script)
    except Exception:  # in a program from elsewhere, types are printed without it
        pass


# Python is not asked while the program runs: it would swallow a Ctrl-C
loaded = collections.deque()


def at_stop(_=None):
    while loaded:
        objfile = loaded.popleft().new_objfile
        if objfile.is_valid():
            take_printers(objfile)


gdb.events.new_objfile.connect(loaded.append)
gdb.events.stop.connect(at_stop)
gdb.events.before_prompt.connect(at_stop)
