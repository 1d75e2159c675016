# SPDX-License-Identifier: MIT
"""loads: what the suites of real programs (servers, programs, tools) share. Each runs natively and recorded: what
it gave, what its clients saw and how it ended must be the same; then all of its processes are replayed, with every
event checked. TAP on standard output, and a line with the numbers.

  SUITE [CASE...]    CASE: as memcached, or memcached:serial; default: the short ones, in parallel mode

Environment: as in fredtest.py, and FULL=1 (all cases, long loads, both modes, RECORDINGS=2, REPEAT=10), LOAD (how
much more load than the least), RECORDINGS (of each case and mode), REPEAT (how many replays of each recording).
What is missing is installed by apt.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from fredtest import FREDCTL, Skip, Suite, check, descendants

FULL = os.environ.get("FULL") == "1"
LOAD = int(os.environ.get("LOAD", "20" if FULL else "1"))
RECORDINGS = int(os.environ.get("RECORDINGS", "2" if FULL else "1"))
REPEAT = int(os.environ.get("REPEAT", "10" if FULL else "1"))
SECONDS = 600 if FULL else 60
HERE = os.path.dirname(os.path.abspath(__file__))


def need(command, *packages):
    """Where the command is; its packages are installed when it is nowhere."""
    def find():
        return shutil.which(command, path="/usr/bin:/usr/sbin:" + os.environ["PATH"])

    if not find() and os.geteuid() == 0:
        subprocess.run(["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", "install", "-y",
                        "--no-install-recommends", *packages], capture_output=True, timeout=600,
                       env=dict(os.environ, DEBIAN_FRONTEND="noninteractive", RUNLEVEL="1"))
    if not find():
        raise Skip("%s (package %s)" % (command, packages[0]))
    return find()


def run(*cmd, **more):
    r = subprocess.run(cmd, capture_output=True, text=True, timeout=SECONDS, **more)
    check(r.returncode == 0, " ".join(cmd), r.stdout[-500:], r.stderr[-500:])
    return r.stdout


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def connect(port, deadline=20):
    """A connection, as soon as the server listens."""
    end = time.monotonic() + deadline
    while True:
        try:
            s = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
            s.settimeout(SECONDS)
            return s
        except ConnectionRefusedError:
            check(time.monotonic() < end, "nobody listens on port %d" % port)
            threading.Event().wait(0.02)


def together(*functions):
    """Runs them all at once; gives what they gave."""
    results = [None] * len(functions)

    def one(i):
        try:
            results[i] = functions[i]()
        except Exception as why:  # the thread's; raised below
            results[i] = why

    threads = [threading.Thread(target=one, args=(i,)) for i in range(len(functions))]
    for t in threads:
        t.start()
    for t in threads:
        t.join(SECONDS)
    for r in results:
        if isinstance(r, Exception):
            raise r
    return results


class Case:
    """A program that ends by itself. cmd: the command; env: more environment; prefix: in front of all;
    short: whether it is run without FULL=1; modes: how it is recorded with FULL=1; whole: nothing of it may go unrecorded."""
    short = True
    whole = False
    modes = ("parallel", "serial")
    env = {}
    prefix = ()

    def __init__(self, folder):
        self.folder = folder

    def results(self, p, recorded):
        """What the program, which runs below p or as p, gave: to be compared."""
        return self.status(p), self.output()

    def status(self, p):
        status = p.wait(SECONDS)
        return 128 - status if status < 0 else status

    def output(self, name="out"):
        with open(os.path.join(self.folder, name), errors="replace") as f:
            return f.read()


class Server(Case):
    """One that clients use, and that ends at a signal to its first process.
    load(): the clients' work, gives what they saw."""
    signal = signal.SIGTERM

    def pid(self, p, recorded):
        if not recorded:
            return p.pid
        end = time.monotonic() + SECONDS
        while p.poll() is None and time.monotonic() < end:
            found = descendants(p.pid)
            if found:
                return found[0]
        return 0

    def results(self, p, recorded):
        pid = 0
        try:
            pid = self.pid(p, recorded)
            seen = self.load()
            os.kill(self.pid(p, recorded), self.signal)
            return self.status(p), seen
        except Exception as why:
            if pid:
                os.kill(pid, self.signal)
            raise AssertionError("%s: %s" % (type(why).__name__, why)) from why


def run_one(case, recording, sched):
    """Its results; without a recording: natively."""
    cmd = list(case.prefix)
    if recording:
        cmd += [FREDCTL, "record", "-q", "--sched", sched, "-o", recording, "--"]
    with open(os.path.join(case.folder, "out"), "wb") as out, open(os.path.join(case.folder, "err"), "wb") as err:
        p = subprocess.Popen(cmd + case.cmd, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=case.folder,
                             env=dict(os.environ, LC_ALL="C", **case.env))
    try:
        return case.results(p, bool(recording))
    except Exception as why:
        raise AssertionError("%s\n%s" % (why, case.output("err")[-1500:])) from why
    finally:
        for child in descendants(p.pid):
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if p.poll() is None:
            p.kill()
        p.wait()


def fresh(cls, folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    return cls(folder)


def verify(suite, recording):
    """Replays it REPEAT times: how often that was exact, and the first failure."""
    exact, why = 0, ""
    for _ in range(REPEAT):
        r = suite.fred("replay", recording, "--verify")
        exact += r.returncode == 0
        if r.returncode and not why:
            why = r.stdout + r.stderr
    return exact, why


def make_case(name, cls, sched):
    def fn(suite):
        # the same folder each time: programs name it in their output
        folder, exact, failures, events = suite.path("%s-%s" % (name, sched)), 0, [], []
        recordings = [suite.path("rec", "%s-%s-%d" % (name, sched, i)) for i in range(RECORDINGS)]
        native = run_one(fresh(cls, folder), None, sched)
        for recording in recordings:
            case = fresh(cls, folder)
            recorded = run_one(case, recording, sched)
            check(native == recorded, "natively:", str(native)[-1500:], "recorded:", str(recorded)[-1500:],
                  case.output("err")[-1500:])
            suite.wait_complete(recording)
            good, why = verify(suite, recording)
            exact += good
            failures += [why] if why else []
            info = suite.json("info", recording)
            events.append(str(info["counts"]["events"]))
        print("# %s %s: %d of %d replays exact (recordings of %s events)" % (
            name, sched, exact, RECORDINGS * REPEAT, ", ".join(events)))
        for note in info.get("notes") or []:
            print("#   note: %s" % re.sub(r"0x[0-9a-f]+", "0x...", str(note)))
            check(not cls.whole or not re.search("recording stopped|not recorded", str(note)), note)
        check(not failures, "%d of %d replays were exact" % (exact, RECORDINGS * REPEAT), *failures)
        if os.environ.get("KEEP") != "1":
            for path in recordings + [folder]:
                shutil.rmtree(path, ignore_errors=True)

    fn.__name__ = name + "_" + sched
    return fn


def main(suite_name, cases, args):
    """cases: {name: class}"""
    suite = Suite(suite_name)
    os.chmod(suite.scratch, 0o755)  # some give up root's rights, or have none
    os.mkdir(suite.path("rec"))
    os.chmod(suite.path("rec"), 0o1777)
    names = args or [n for n in sorted(cases) if FULL or cases[n].short]
    for arg in names:
        name, _, sched = arg.partition(":")
        if name not in cases:
            sys.exit("no such case: " + name)
        for s in [sched] if sched else cases[name].modes if FULL else cases[name].modes[:1]:
            suite.case(make_case(name, cases[name], s))
    suite.end()


def registry():
    """A table of cases, and the decorator that fills it."""
    cases = {}

    def case(cls):
        cases[cls.__name__.lower()] = cls
        return cls

    return cases, case
