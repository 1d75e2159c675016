# SPDX-License-Identifier: MIT
"""fredtest: what the Python test suites share: TAP output, running fredctl, the daemon's socket, process trees.

Environment: FREDCTL (the fredctl to test), BUILD (its build folder), KEEP=1 (keep the scratch folder), ONLY (a glob: run the cases
whose name matches; if there is none, the suite fails).
"""
import fnmatch
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
FREDCTL = os.environ.get("FREDCTL", os.path.join(BUILD, "cli/fredctl"))
DEADLINE = 900 if os.environ.get("FULL") == "1" else 120


class Skip(Exception):
    """What is missing on this host."""


def check(ok, *why):
    if not ok:
        raise AssertionError("\n".join(str(w) for w in why))


class Rpc:
    """One connection to the daemon."""

    def __init__(self, home):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(os.path.join(home, "fredd.sock"))
        self.file = self.sock.makefile("rb")
        self.next_id = 0

    def send(self, method, **params):
        self.next_id += 1
        msg = {"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}
        self.sock.sendall(json.dumps(msg).encode() + b"\n")
        return self.next_id

    def read(self):
        line = self.file.readline()
        return json.loads(line) if line else None

    def call(self, method, **params):
        number = self.send(method, **params)
        while True:
            msg = self.read()
            check(msg is not None, "the daemon closed the connection")
            if msg.get("id") == number and "method" not in msg:
                return msg

    def wait_progress(self, text=""):
        """Until an operation says that it is at work; False when it ended instead."""
        while True:
            msg = self.read()
            if msg is None or "method" not in msg:
                return False
            if msg["method"] == "op.progress" and text in (msg["params"].get("text") or ""):
                return True

    def close(self):
        self.file.close()
        self.sock.close()


def descendants(pid):
    """All processes below pid, by PID in this namespace."""
    children = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, "rb") as f:
                ppid = int(f.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError):
            continue
        children.setdefault(ppid, []).append(int(name))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


class Watched:
    """Processes whose end can be waited for, whoever their parent is."""

    def __init__(self, pids):
        self.fds = {}
        for pid in pids:
            try:
                self.fds[pid] = os.pidfd_open(pid)
            except ProcessLookupError:
                pass

    def wait_gone(self, seconds=20):
        """The PIDs that still live after that time."""
        left = []
        for pid, fd in self.fds.items():
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            if not poll.poll(seconds * 1000):
                left.append(pid)
            os.close(fd)
        return left


class Suite:
    def __init__(self, name):
        self.scratch = tempfile.mkdtemp(prefix="fred-%s." % name, dir="/tmp")
        self.home = os.path.join(self.scratch, "home")
        os.mkdir(self.home, 0o700)
        self.env = dict(os.environ, FRED_HOME=self.home, LC_ALL="C", XDG_CONFIG_HOME=self.gdb_settings())
        self.count = self.failed = 0
        if not os.access(FREDCTL, os.X_OK):
            print("Bail out! no %s: run scripts/setup, or set FREDCTL" % FREDCTL)
            sys.exit(1)

    def path(self, *names):
        return os.path.join(self.scratch, *names)

    def gdb_settings(self):
        """GDB indexes libc's debug file once for all sessions of the suite: that is a quarter of their start."""
        os.makedirs(self.path("config", "gdb"))
        with open(self.path("config", "gdb", "gdbinit"), "w") as f:
            f.write("set index-cache directory %s\nset index-cache enabled on\n" % self.path("index"))
        return self.path("config")

    def fred(self, *args, status=None, text=None, env=None, cwd=None, prefix=(), stdin=""):
        """Runs fredctl; checks its exit status, and that standard error contains text."""
        cmd = list(prefix) + [FREDCTL] + list(args)
        r = subprocess.run(cmd, input=stdin, capture_output=True, text=True, timeout=DEADLINE, cwd=cwd,
                           env=dict(self.env, **(env or {})), errors="replace")
        about = "%s\nstatus %d\n%s%s" % (" ".join(cmd), r.returncode, r.stdout[-600:], r.stderr[-600:])
        check(status is None or r.returncode == status, "status %s expected" % status, about)
        check(text is None or text in r.stderr, "no '%s' in the message" % text, about)
        check(not r.stderr or "fred: " in r.stderr or status is None, "not fred's message", about)
        return r

    def json(self, *args, status=0, **more):
        r = self.fred("--json", *args, status=status, **more)
        return json.loads(r.stdout.splitlines()[-1])

    def start(self, *args, **more):
        return subprocess.Popen([FREDCTL] + list(args), env=dict(self.env, **more.pop("env", {})),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)

    def compile(self, name, source, *options, compiler="cc"):
        with open(self.path(name + ".c"), "w") as f:
            f.write(source)
        subprocess.run([compiler, "-g", *(options or ("-O1",)), "-pthread", "-o", self.path(name), self.path(name + ".c")],
                       check=True, timeout=60)
        return self.path(name)

    def wait_complete(self, recording):
        """Processes in the background go on being recorded after the end of the first one."""
        end = time.monotonic() + DEADLINE
        while not self.json("info", recording)["complete"]:
            check(time.monotonic() < end, "the recording is not complete")

    def rpc(self):
        """A connection to the daemon, which is started if need be."""
        self.fred("status", status=0)
        if not os.path.exists(os.path.join(self.home, "fredd.sock")) or not self.json("status")["running"]:
            self.fred("eval", "nosuch", "--at", "1", "1", status=2)
            self.fred("replay", self.good, "--until", "1", status=0)
        return Rpc(self.home)

    def case(self, fn):
        name = fn.__name__.replace("_", "-")
        if not fnmatch.fnmatch(name, os.environ.get("ONLY", "*")):
            return
        self.count += 1
        begin = time.monotonic()
        try:
            fn(self)
            print("ok %d - %s" % (self.count, name), flush=True)
        except Skip as missing:
            print("ok %d - %s # SKIP %s" % (self.count, name, missing), flush=True)
        except Exception as why:  # a test point must not take the others with it
            self.failed += 1
            print("not ok %d - %s" % (self.count, name))
            text = str(why) if isinstance(why, AssertionError) else traceback.format_exc()
            print("\n".join("#   " + line for line in text.splitlines()), flush=True)
        print("# %.1f s" % (time.monotonic() - begin), flush=True)

    def end(self):
        subprocess.run([FREDCTL, "shutdown"], env=self.env, capture_output=True, timeout=DEADLINE)
        if not self.count and "ONLY" in os.environ:
            shutil.rmtree(self.scratch, ignore_errors=True)
            print("1..0 # SKIP no case matches ONLY=%s" % os.environ["ONLY"])
            sys.exit(1)
        if self.failed or os.environ.get("KEEP") == "1":
            print("# kept: %s" % self.scratch)
        else:
            shutil.rmtree(self.scratch, ignore_errors=True)
        print("1..%d" % self.count)
        sys.exit(1 if self.failed else 0)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def canonical(value):
    """As jansson writes it, compact and with sorted keys."""
    if isinstance(value, dict):
        return "{" + ",".join(canonical(k) + ":" + canonical(value[k]) for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(v) for v in value) + "]"
    if isinstance(value, float):
        text = re.sub(r"e([-+])0*", lambda m: "e" + m.group(1).strip("+"), "%.17g" % value)
        return text if set(text) & set(".e") else text + ".0"
    return json.dumps(value, ensure_ascii=False)


def sealed(meta):
    """The text of a meta.json with a checksum that fits."""
    rest = {k: v for k, v in meta.items() if k != "crc32c"}
    return json.dumps(dict(rest, crc32c="%08x" % crc32c(canonical(rest).encode())))


def need_root():
    if os.geteuid() != 0:
        raise Skip("root")


def unshare(*options):
    """A command that runs another one in namespaces of its own, as unshare(1) with these options: an ordinary user has them in a user
    namespace."""
    for command in (("unshare", *options), ("unshare", "-Ur", *options)):
        if subprocess.run([*command, "true"], capture_output=True, timeout=60).returncode == 0:
            return command
    raise Skip("namespaces")


def has_namespaces():
    try:
        return os.environ.get("FRED_CELL") != "plain" and bool(unshare("-Ur"))
    except Skip:
        return False


def need_images(s, home):
    """Checkpoints on disk, and what is made of them."""
    line = next(c for c in s.json("doctor", status=None, env={"FRED_HOME": home})["checks"] if c["name"] == "checkpoint")
    if line["status"] != "ok":
        raise Skip("checkpoints on disk: namespaces")


def kill(pid, signo=signal.SIGKILL):
    os.kill(pid, signo)
