#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts test results.

  tap.py suite RESULTS SUITE STATUS LOG   adds the TAP in LOG, of tests/SUITE/run or of the program tests/SUITE
                                          (a name with a slash), that ended with STATUS
  tap.py meson RESULTS BUILDDIR STATUS    adds the results of `meson test -C BUILDDIR`
  tap.py total RESULTS                    prints skips, failures, and "N passed, M failed, K skipped"

RESULTS is a file of JSON lines: [result, name, rerun, text]. With FRED_CI set, a skip that no line of
scripts/skips.allow matches counts as a failure.
"""
import fnmatch
import json
import os
import re
import shlex
import sys

LINE = re.compile(r"^(not )?ok\b *\d* *(?:- *)?(.*?) *(?:# *(SKIP|TODO)\S* *(.*))?$", re.I)
PLAN = re.compile(r"^1\.\.(\d+) *(?:# *SKIP\S* *(.*))?$", re.I)


class Tap:
    """What a TAP text says: tests as (result, name, text), and what is wrong with the text itself."""

    def __init__(self, text):
        self.tests = []
        self.plan = None
        self.bail = ""
        self.last = ""
        for line in text.splitlines():
            self.read(line)

    def read(self, line):
        test, plan = LINE.match(line), PLAN.match(line)
        if plan:
            self.plan = int(plan.group(1))
            if not self.plan:
                self.tests.append(("skipped", "all", plan.group(2) or ""))
        elif test:
            bad, name, directive, why = test.groups()
            if directive:
                self.tests.append(("skipped", name or why, why or ""))
            else:
                self.tests.append(("failed" if bad else "passed", name, ""))
        elif line.startswith("Bail out!"):
            self.bail = line
        self.last = line or self.last

    def fault(self, status):
        """A suite says how many tests it has, runs them all, and fails only if one of them did."""
        if status in (124, 137):
            return "timed out after: " + self.last
        if self.bail:
            return self.bail
        if self.plan is None:
            return "no plan (1..N): it ended early, status %s" % status
        if self.plan and self.plan != len(self.tests):
            return "planned %d tests, ran %d" % (self.plan, len(self.tests))
        if self.plan == 0 and "ONLY" in os.environ:
            return ""  # other suites have the cases that are asked for, or print_total finds that none has
        if status and not any(t[0] == "failed" for t in self.tests):
            return "status %s, though no test failed" % status
        return ""


def skip_allowed(name):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "skips.allow")
    with open(path) as f:
        globs = [line.split("#")[0].strip() for line in f]
    return any(g and fnmatch.fnmatchcase(name, g) for g in globs)


class Results:
    def __init__(self, path):
        self.path = path

    def add(self, result, name, rerun, text=""):
        if result == "skipped" and os.environ.get("FRED_CI") and not skip_allowed(name):
            result, text = "failed", "an unexpected skip (scripts/skips.allow): " + text
        with open(self.path, "a") as f:
            f.write(json.dumps([result, name, rerun, text]) + "\n")

    def rows(self):
        with open(self.path) as f:
            return [json.loads(line) for line in f]


def add_suite(results, suite, status, log):
    rerun = "tests/%s" % suite if "/" in suite else "tests/%s/run" % suite
    with open(log, errors="replace") as f:
        tap = Tap(f.read())
    for result, name, text in tap.tests:
        again = "ONLY=%s %s" % (shlex.quote(name), rerun)
        results.add(result, "%s: %s" % (suite, name), again, text)
    if tap.fault(status):
        results.add("failed", suite, rerun, tap.fault(status))


def add_meson(results, build, status):
    """Each test program that prints TAP counts with its tests, any other as one test."""
    base = os.path.basename(build)
    rerun = "meson test -v -C %s" % base
    bad = False
    try:
        with open(os.path.join(build, "meson-logs/testlog.json")) as f:
            programs = [json.loads(line) for line in f]
    except OSError as error:
        programs = []
        results.add("failed", base, rerun, str(error))
    for p in programs:
        name = p["name"].split(" / ")[-1].split(":")[-1]
        bad |= add_program(results, base, name, "%s %s" % (rerun, shlex.quote(name)), p)
    if status and not bad:
        results.add("failed", base, rerun, "meson test ended with status %d" % status)


def add_program(results, base, name, rerun, p):
    title = "%s: %s" % (base, name)
    ok = p["result"] in ("OK", "EXPECTEDFAIL")
    tap = Tap(p.get("stdout") or "")
    if tap.plan is None:
        tests = [("passed" if ok else "skipped" if p["result"] == "SKIP" else "failed", "", "")]
    else:
        tests = tap.tests
        if not ok and p["result"] != "SKIP" and not any(t[0] == "failed" for t in tests):
            tests.append(("failed", "", ""))
    for result, test, text in tests:
        if result == "failed" and not text:
            err = (p.get("stderr") or "").strip().splitlines()
            text = " ".join([p["result"].lower()] + err[-1:])
        results.add(result, (title + " " + test).strip(), rerun, text)
    return any(t[0] == "failed" for t in tests)


def print_total(results):
    rows = results.rows()
    for result, name, _, text in rows:
        if result == "skipped":
            print("skipped: %s (%s)" % (name, text))
    for result, name, rerun, text in rows:
        if result == "failed":
            print("FAILED: %s%s" % (name, ": " + text if text else ""))
            print("  again: %s" % rerun)
    count = [sum(r[0] == kind for r in rows) for kind in ("passed", "failed", "skipped")]
    print("%d passed, %d failed, %d skipped" % tuple(count))
    return 1 if count[1] or not count[0] else 0


def main(argv):
    results = Results(argv[2])
    if argv[1] == "suite":
        add_suite(results, argv[3], int(argv[4]), argv[5])
    elif argv[1] == "meson":
        add_meson(results, argv[3], int(argv[4]))
    elif argv[1] == "total":
        return print_total(results)
    return 0


sys.exit(main(sys.argv))
