#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which file uses which, from the object files of a build and from the includes.

File A uses file B when A's object file refers to a function or variable that B's defines, or when A includes B.
Files that use each other, directly or not, are a circle.

  scripts/arrows.py [--build DIR] circles [FOLDER...]     circles, with the arrows in them
  scripts/arrows.py [--build DIR] folders [FOLDER...]     arrows between folders, and which of them go both ways
  scripts/arrows.py [--build DIR] uses FILE               what a file uses, and who uses it
  scripts/arrows.py [--build DIR] only-tests              functions that only tests use

FOLDER and FILE are paths relative to the root. The build has to be whole and newer than the sources.
"""
import collections
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOPS = ("proto", "plugins", "daemon", "cli")
# Files that are linked with files of their own program only: the recorder defines malloc, read and the like.
APART = ("plugins/record/", "plugins/regset/", "cli/dap/", "cli/repl/")


def objects(build):
    """[(source, relative to the root; object file)] of all that the build compiles."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        for entry in json.load(f):
            source = os.path.relpath(os.path.normpath(os.path.join(entry["directory"], entry["file"])), ROOT)
            yield source, os.path.join(entry["directory"], entry["output"])


def symbols(build, tops=TOPS):
    """{source: (symbols it defines, symbols it refers to)}"""
    found = {}
    wanted = [(s, o) for s, o in objects(build) if s.startswith(tuple(t + "/" for t in tops)) and os.path.exists(o)]
    text = subprocess.run(["nm", "-A", "-P", "--"] + [o for _, o in wanted], capture_output=True, text=True).stdout
    source_of = {o: s for s, o in wanted}
    for line in text.splitlines():
        m = re.match(r"(.*): (\S+) (\w)", line)
        if not m or m.group(1) not in source_of:
            continue
        defined, used = found.setdefault(source_of[m.group(1)], (set(), set()))
        if m.group(3) in "TDBRVWC":
            defined.add(m.group(2))
        elif m.group(3) in "Uw":
            used.add(m.group(2))
    return found


def program_of(source):
    return next((a for a in APART if source.startswith(a)), "")


def header_paths():
    """{as it is written in an #include: path}"""
    names = {}
    for top in TOPS:
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in files:
                if name.endswith((".h", ".def")):
                    path = os.path.relpath(os.path.join(folder, name), ROOT)
                    for base in TOPS:
                        if path.startswith(base + "/"):
                            names[path[len(base) + 1:]] = path
    return names


def includes():
    """{path: {headers of the project}}"""
    names, found = header_paths(), {}
    for top in TOPS:
        for folder, _, files in os.walk(os.path.join(ROOT, top)):
            for name in files:
                if name.endswith((".c", ".h", ".S", ".def")):
                    path = os.path.relpath(os.path.join(folder, name), ROOT)
                    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                        text = f.read()
                    wanted = re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M)
                    own = os.path.dirname(path)
                    found[path] = {names.get(w) or os.path.join(own, w) for w in wanted}
    return found


def arrows(build):
    """{(user, used): set of the symbols and headers}"""
    found = collections.defaultdict(set)
    syms = symbols(build)
    owner = collections.defaultdict(dict)
    for source, (defined, _) in syms.items():
        for name in defined:
            owner[program_of(source)].setdefault(name, source)
    for source, (_, used) in syms.items():
        for name in used:
            program = program_of(source)
            at = owner[program].get(name) or (owner[""].get(name) if program.startswith("cli/") else None)
            if at and at != source:
                found[source, at].add(name)
    for path, headers in includes().items():
        for header in headers:
            found[path, header].add(os.path.basename(header))
    return found


def circles(edges):
    """Strongly connected components of more than one node (Tarjan)."""
    after = collections.defaultdict(set)
    for a, b in edges:
        after[a].add(b)
        after[b]
    index, low, on, stack, out = {}, {}, set(), [], []

    def visit(root):
        work = [(root, iter(sorted(after[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, rest = work[-1]
            for n in rest:
                if n not in index:
                    index[n] = low[n] = len(index)
                    stack.append(n)
                    on.add(n)
                    work.append((n, iter(sorted(after[n]))))
                    break
                if n in on:
                    low[node] = min(low[node], index[n])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = set()
                    while True:
                        n = stack.pop()
                        on.discard(n)
                        group.add(n)
                        if n == node:
                            break
                    if len(group) > 1:
                        out.append(sorted(group))

    for node in sorted(after):
        if node not in index:
            visit(node)
    return sorted(out, key=len, reverse=True)


def say_circles(found, folders):
    wanted = tuple(f.rstrip("/") + "/" for f in folders)
    for group in circles(found):
        if wanted and not any(n.startswith(wanted) for n in group):
            continue
        print("circle of %d: %s" % (len(group), " ".join(group)))
        members = set(group)
        for (a, b), names in sorted(found.items()):
            if a in members and b in members:
                print("  %s -> %s: %s" % (a, b, " ".join(sorted(names))))


def say_folders(found, folders):
    wanted = tuple(f.rstrip("/") for f in folders)
    between = collections.defaultdict(list)
    for (a, b), names in found.items():
        x, y = os.path.dirname(a), os.path.dirname(b)
        if x != y and (not wanted or x.startswith(wanted) and y.startswith(wanted)):
            between[x, y].append("%s -> %s: %s" % (a, b, " ".join(sorted(names))))
    for group in circles(between):
        print("circle of folders: " + " ".join(group))
    for (x, y), rows in sorted(between.items()):
        print("%s -> %s: %d%s" % (x, y, len(rows), "  BOTH WAYS" if (y, x) in between else ""))
        if (y, x) in between and len(rows) <= len(between[y, x]):
            print("".join("    %s\n" % r for r in sorted(rows)), end="")


def say_uses(found, path):
    for (a, b), names in sorted(found.items()):
        if a == path:
            print("  uses %s: %s" % (b, " ".join(sorted(names))))
    for (a, b), names in sorted(found.items()):
        if b == path:
            print("  used by %s: %s" % (a, " ".join(sorted(names))))


def only_tests(build):
    """Functions that the project defines, outside the recorder, and only tests refer to."""
    syms = symbols(build, TOPS + ("tests",))
    used, used_here = set(), set()
    for source, (_, refs) in syms.items():
        (used if not source.startswith("tests/") else used_here).update(refs)
    for source, (defined, _) in sorted(syms.items()):
        if source.startswith("tests/") or source.startswith(APART):
            continue
        for name in sorted(defined & used_here - used):
            text = open(os.path.join(ROOT, source), encoding="utf-8").read()
            if len(re.findall(r"\b%s\b" % re.escape(name), text)) < 2:
                yield source, name


def main(args):
    build = os.path.join(ROOT, "build")
    if args[:1] == ["--build"]:
        build, args = args[1], args[2:]
    if not args or args[0] not in ("circles", "folders", "uses", "only-tests"):
        sys.exit(__doc__)
    if args[0] == "only-tests":
        for source, name in only_tests(build):
            print("%s: %s" % (source, name))
        return
    found = arrows(build)
    if args[0] == "circles":
        say_circles(found, args[1:])
    elif args[0] == "folders":
        say_folders(found, args[1:])
    else:
        say_uses(found, args[1])


if __name__ == "__main__":
    main(sys.argv[1:])
