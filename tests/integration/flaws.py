# SPDX-License-Identifier: MIT
"""flaws.py: small programs with one memory error each, and the same without it, in the manner of NIST's Juliet suite: each kind of
error in several ways along which the pointer comes to the place of the error.

  python3 tests/integration/flaws.py FOLDER     writes all of them there, as KIND-WAY-bad.c and KIND-WAY-good.c
"""
import os
import sys

HEAD = """/* made by tests/integration/flaws.py */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int zero, sum;

static void note(int x)
{
	sum += x;
}
"""


class Kind:
    """bad, good: statements that use p, a pointer to `of`; source: sets it; after: what both do at the end. `finding`: what check memory
    calls it; where: "bad", or "source" for what is reported at the allocation. ends: the program may be ended there. tools: who finds it
    besides, of ASan and Valgrind; heap: is it an error of the heap?"""

    def __init__(self, name, finding, source, bad, good, after="free(p);", of="char", where="bad", ends=False):
        self.name, self.finding, self.source, self.bad, self.good, self.after = name, finding, source, bad, good, after
        self.of, self.where, self.ends = of, where, ends


TEN = "p = malloc(10); memset(p, 'x', 10);"
INTS = "p = malloc(10 * sizeof(*p)); for (int k = 0; k < 10; k++) p[k] = k;"
HALF = "p = malloc(16); memset(p, 'x', 8);"
KINDS = (
    Kind("write-behind", "outside", TEN, "p[10 + zero] = 1;", "p[9 + zero] = 1;"),
    Kind("read-behind", "outside", TEN, "note(p[10 + zero]);", "note(p[9 + zero]);"),
    Kind("write-before", "outside", TEN, "p[zero - 1] = 1;", "p[zero] = 1;"),
    Kind("write-loop", "outside", INTS, "for (int k = 0; k <= 10; k++) p[k] = zero;", "for (int k = 0; k < 10; k++) p[k] = zero;", of="int"),
    Kind("read-loop", "outside", INTS, "for (int k = 0; k <= 10; k++) note(p[k]);", "for (int k = 0; k < 10; k++) note(p[k]);", of="int"),
    Kind("write-calloc", "outside", "p = calloc(3, 7);", "p[21 + zero] = 1;", "p[20 + zero] = 1;"),
    Kind("write-shrunk", "outside", TEN + " p = realloc(p, 5);", "p[5 + zero] = 1;", "p[4 + zero] = 1;"),
    Kind("copy-behind", "outside", TEN, 'memcpy(p, "0123456789", 11 + zero);', 'memcpy(p, "0123456789", 10 + zero);'),
    Kind("string-behind", "outside", TEN, 'strcpy(p, "0123456789");', 'strcpy(p, "012345678");'),
    Kind("length-behind", "outside", TEN, "note((int)strlen(p));", "p[9] = 0; note((int)strlen(p));"),
    Kind("compare-behind", "outside", TEN, 'note(memcmp(p, "xxxxxxxxxxxx", 11 + zero));', 'note(memcmp(p, "xxxxxxxxxxxx", 10 + zero));'),
    Kind("freed-read", "use-after-free", TEN, "free(p); note(p[3]);", "note(p[3]); free(p);", ""),
    Kind("freed-write", "use-after-free", TEN, "free(p); p[3] = 1;", "p[3] = 1; free(p);", ""),
    Kind("freed-copy", "use-after-free", TEN, "char to[16]; free(p); memcpy(to, p, 10); note(to[0]);",
         "char to[16]; memcpy(to, p, 10); free(p); note(to[0]);", ""),
    Kind("freed-moved", "use-after-free", TEN, "char *q = realloc(p, 4000); note(p[0]); free(q);",
         "char *q = realloc(p, 4000); note(q[0]); free(q);", ""),
    Kind("double-free", "double-free", TEN, "free(p); free(p);", "free(p);", "", ends=True),
    Kind("inner-free", "invalid-free", TEN, "free(p + 4);", "free(p);", "", ends=True),
    Kind("overlap", "overlap", TEN, "memcpy(p + 1, p, 5 + zero);", "memmove(p + 1, p, 5 + zero);"),
    Kind("never-branch", "uninitialised", HALF, "if (p[8 + zero] == 3) note(1);", "if (p[7 + zero] == 3) note(1);"),
    Kind("never-index", "uninitialised", HALF, "static char t[256]; note(t[(unsigned char)p[9 + zero]]);",
         "static char t[256]; note(t[(unsigned char)p[3 + zero]]);"),
    Kind("never-string", "uninitialised", HALF, "note((int)strnlen(p, 12));", "note((int)strnlen(p, 8));"),
    Kind("never-compared", "uninitialised", HALF, 'note(strncmp(p, "xxxxxxxxyyyy", 9) == 0);', 'note(strncmp(p, "xxxxxxxxyyyy", 8) == 0);'),
    Kind("never-written-out", "uninitialised", HALF, "if (write(2, p, 9) < 9) note(1);", "if (write(2, p, 8) < 8) note(1);"),
    Kind("never-printed", "uninitialised", "p = malloc(8); p[0] = 1;", 'fprintf(stderr, "%d", p[1]);', 'fprintf(stderr, "%d", p[0]);', of="int"),
    Kind("leak", "leak", TEN, "p = NULL; note(p == NULL);", "note(*p); free(p);", "", where="source"),
)

# How p comes from the source to the sink: {n}: the name, {of}: the type
WAYS = {
    "direct": """static __attribute__((noinline)) void {n}(void)
{{
	{of} *p;

	{source}
	{sink}
	{after}
}}
""",
    "argument": """static __attribute__((noinline)) {of} *{n}_source(void)
{{
	{of} *p;

	{source}
	return p;
}}

static __attribute__((noinline)) void {n}_sink({of} *p)
{{
	{sink}
	{after}
}}

static void {n}(void)
{{
	{n}_sink({n}_source());
}}
""",
    "field": """struct {n}_box {{
	int number;
	{of} *p;
}};

static __attribute__((noinline)) void {n}_sink(const struct {n}_box *box)
{{
	{of} *p = box->p;

	{sink}
	{after}
}}

static __attribute__((noinline)) void {n}(void)
{{
	struct {n}_box box = {{1, NULL}};
	{of} *p;

	{source}
	box.p = p;
	p = NULL;
	{n}_sink(&box);
	box.p = NULL;
}}
""",
    "global": """static {of} *{n}_shared;

static __attribute__((noinline)) void {n}_sink(void)
{{
	{of} *p = {n}_shared;

	{n}_shared = NULL;
	{sink}
	{after}
}}

static void (*volatile {n}_by)(void) = {n}_sink;

static __attribute__((noinline)) void {n}(void)
{{
	{of} *p;

	{source}
	{n}_shared = p;
	p = NULL;
	{n}_by();
}}
""",
}


def function(kind, way, bad):
    """The text, and the function's name."""
    name = ("%s_%s" % (kind.name, way)).replace("-", "_")
    mark = " /* BAD: %s */" % kind.finding if bad else ""
    source, sink = kind.source + mark * (kind.where == "source"), (kind.bad if bad else kind.good) + mark * (kind.where == "bad")
    return WAYS[way].format(n=name, of=kind.of, source=source, sink=sink, after=kind.after), name


def program(parts, bad):
    """parts: [(kind, way)]"""
    made = [function(kind, way, bad) for kind, way in parts]
    calls = "".join("\t%s();\n" % name for _, name in made)
    # the stack of what has returned is written over: what is left there of a pointer is no leak's end
    wipe = "static __attribute__((noinline)) void wipe(void)\n{\n\tvolatile char old[4096];\n\n\tfor (unsigned k = 0; k < sizeof(old); k++)\n\t\told[k] = 0;\n}\n"
    return "\n".join([HEAD] + [text for text, _ in made] + [wipe, "int main(void)\n{\n%s\twipe();\n\treturn 0;\n}\n" % calls])


def everything():
    for kind in KINDS:
        for way in WAYS:
            for bad in (True, False):
                yield kind, way, bad


def write(folder):
    os.makedirs(folder, exist_ok=True)
    for kind, way, bad in everything():
        with open(os.path.join(folder, "%s-%s-%s.c" % (kind.name, way, "bad" if bad else "good")), "w") as f:
            f.write(program([(kind, way)], bad))


if __name__ == "__main__":
    write(sys.argv[1])
