# SPDX-License-Identifier: MIT
"""settings.py: what the user of a session has set in GDB, after state.py: settings, what signals do, functions to skip and
commands of their own. Kept is what differs from what GDB's own files of commands have made of a new GDB.
"""
import os
import re

import gdb

# Settings of the terminal, or of the GDB process itself.
NOT_KEPT = re.compile(r"(width|height|annotate|args|cwd|prompt|editing|inferior-tty|interactive-mode|debug|history|logging|style|tui)( |$)")


def parameter(name):
    try:
        return gdb.parameter(name)
    except (gdb.error, RuntimeError):
        return None


def words_of(value):
    """The value in the form that `set` takes. Python has None for several words."""
    if isinstance(value, bool):
        return ["on" if value else "off"]
    return ["unlimited", "auto"] if value is None else [str(value)]


def parse_signals():
    rows = re.findall(r"^(\w+) +(Yes|No)\t+(Yes|No)\t+(Yes|No)\t", quietly("info signals"), re.M)
    return {name: [says == "Yes" for says in row] for name, *row in rows}


def parse_skips():
    """The words after `skip` that make each again, and whether it is enabled."""
    found = []
    for on, glob, file, regexp, function in re.findall(r"^\d+ +([yn]) +([yn]) (.*?) +([yn]) (.*)$", quietly("info skip"), re.M):
        of_file = "" if "<none>" in file else "-%s %s " % ("gfi" if glob == "y" else "fi", file.strip())
        of_function = "" if "<none>" in function else "-%s %s" % ("rfu" if regexp == "y" else "fu", function.strip())
        found.append([of_file + of_function, on == "y"])
    return found


def parse_commands():
    """The user's commands: {name: [body, help]}. GDB also lists those of `info` under its aliases, which are left out."""
    texts = re.split(r'^User command "(.*)":\n', quietly("show user"), flags=re.M)
    return {name: body.split("\n\nUser prefixcommand")[0].strip("\n") for name, body in zip(texts[1::2], texts[2::2])
            if not re.match(r"(i|inf) ", name)}


def parse_substitutes():
    return re.findall(r"^  `(.*)' -> `(.*)'\.$", quietly("show substitute-path"), re.M)


class Settings:
    """get() and put(): {parameters: {name: value}, signals: {name: [stop, print, pass]}, skips, commands, substitutes}"""

    def __init__(self, scratch):
        self.scratch = scratch
        names = re.findall(r"^([A-Za-z][^:\n]*):  ", quietly("info set"), re.M)
        values = {name: parameter(name) for name in names if not NOT_KEPT.match(name)}
        self.names = list(values)
        self.first = self.now()

    def now(self):
        return {"parameters": {name: parameter(name) for name in self.names}, "signals": parse_signals(), "commands": parse_commands(),
                "skips": parse_skips(), "substitutes": [list(pair) for pair in parse_substitutes()]}

    def get(self):
        now = self.now()
        changed = {kind: {k: v for k, v in now[kind].items() if k not in self.first[kind] or self.first[kind][k] != v}
                   for kind in ("parameters", "signals", "commands")}
        changed["commands"] = {name: [body, quietly("help " + name)] for name, body in changed["commands"].items()}
        for kind in ("skips", "substitutes"):
            changed[kind] = [one for one in now[kind] if one not in self.first[kind]]
        return changed

    def put(self, saved):
        for name, value in saved.get("parameters", {}).items():
            self.set(name, value)
        for name, acts in saved.get("signals", {}).items():
            words = ["" if yes else "no" for yes in acts]
            self.attempt("with confirm off -- handle %s %sstop %sprint %spass" % (name, *words))
        for words, enabled in saved.get("skips", []):
            self.attempt("skip " + words)
            if not enabled:
                self.attempt("skip disable " + re.findall(r"^(\d+) ", quietly("info skip"), re.M)[-1])
        for pair in saved.get("substitutes", []):
            self.attempt('set substitute-path "%s" "%s"' % tuple(re.sub(r'(["\\])', r"\\\1", path) for path in pair))
        for name, (body, text) in saved.get("commands", {}).items():
            self.define(name, body, text)

    @staticmethod
    def attempt(command):
        try:
            quietly(command)
        except gdb.error as why:
            say("'%s' cannot be done again: %s" % (command, why))

    def set(self, name, value):
        for words in words_of(value):
            try:
                quietly("set %s %s" % (name, words))
                return
            except gdb.error as why:
                said = why
        say("'set %s' cannot be done again: %s" % (name, said))

    def define(self, name, body, text):
        with open(self.scratch, "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write("define %s\n%s\nend\ndocument %s\n%s\nend\n" % (name, body, name, text.rstrip("\n")))
        try:
            self.attempt("with confirm off -- source " + self.scratch)
        finally:
            os.unlink(self.scratch)
