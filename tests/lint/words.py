# SPDX-License-Identifier: MIT
"""Checks of words: docs/glossary.md against itself and the code, names of types, paths in the documents."""
import collections
import os
import re

GLOSSARY = "docs/glossary.md"
# Programs that are linked apart may each have a type of one name.
PROGRAMS = ("plugins/record/", "cli/dap/", "cli/repl/", "")


def rows(text):
    """[(term, words that it replaces)]"""
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and cells[0] not in ("term", "---"):
            words = [w.split()[-1] for w in re.split("[,;]", cells[3]) if w.strip()]
            yield cells[0], words


def glossary(paths, text_of):
    """A term has one row; words that it replaces are no names of files or types, and begin no function's name."""
    seen, refused = collections.Counter(), {}
    for term, words in rows(text_of(GLOSSARY)):
        for name in re.split(", *", term):
            seen[name] += 1
        refused.update({w: term for w in words})
    for name, count in sorted(seen.items()):
        if count > 1:
            yield "%s: '%s' has %d rows" % (GLOSSARY, name, count)
    for path in paths:
        stem = os.path.splitext(os.path.basename(path))[0]
        if stem in refused:
            yield "%s: its name is '%s'; the glossary's term is '%s'" % (path, stem, refused[stem])
        for m in re.finditer(r"^(?:struct|enum|union) (\w+) \{", text_of(path), re.M):
            if m.group(1) in refused:
                yield "%s: type '%s'; the glossary's term is '%s'" % (path, m.group(1), refused[m.group(1)])


def one_type_of_a_name(paths, text_of):
    """What a header defines, nothing else of the same program defines too."""
    found = collections.defaultdict(set)
    for path in paths:
        program = next(p for p in PROGRAMS if path.startswith(p))
        for m in re.finditer(r"^(?:static |const )*(?:struct|enum|union) (\w+) \{", text_of(path), re.M):
            found[program, m.group(1)].add(path)
    for (_, name), where in sorted(found.items()):
        if len(where) > 1 and any(p.endswith(".h") for p in where):
            yield "%s is defined in %s" % (name, ", ".join(sorted(where)))


def paths_in_documents(documents, text_of, root):
    """A file or folder that a document names exists."""
    tops = ("proto/", "plugins/", "daemon/", "cli/", "tests/", "scripts/", "docs/", "man/")
    for document in documents:
        for number, line in enumerate(text_of(document).splitlines(), 1):
            for name in re.findall(r"`([\w./-]+/[\w.-]*\.?\w+)`", line):
                bases = ("", "daemon/", "proto/", "plugins/", os.path.dirname(document) + "/")
                known = not re.search("NAME|NNNN|\\*", name) and name.startswith(tops) or re.search(r"\.[ch]$", name)
                if known and not any(os.path.exists(os.path.join(root, b + name)) for b in bases):
                    yield "%s:%d: there is no %s" % (document, number, name)


def paths_in_comments(paths, text_of, known):
    """A file that a comment names with its folder, such as rlog/replay.h, exists. known: the paths of all files."""
    folders = {part for path in known for part in path.split("/")[:-1]}
    for path in paths:
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if re.match(r"\s*#\s*include", line):
                continue
            for name in re.findall(r'(?<![\w/.<"-])((?:[\w-]+/)+[\w-]+\.(?:c|h|def|py|S))\b', line):
                if name.split("/")[0] in folders and not any(("/" + k).endswith("/" + name) for k in known):
                    yield "%s:%d: there is no %s" % (path, number, name)
