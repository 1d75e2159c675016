#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tiers.py: runs a command with the rights of a tier: in PID and mount namespaces of its own, with a /tmp of its own and a copy of the checkout.

  tests/tiers.py TIER COMMAND [ARG...]

TIER: root (namespaces), user (an ordinary user with user namespaces), plain (root, no namespaces), container, container-user (in Docker's
default sandbox, tests/sandbox.py, as root and as a user). COMMAND begins in the checkout, /tmp/tree.

As root. Environment: BUILD (the build folder to test), KEEP=1 (keep the /tmp). FRED_* and what TMPDIR and HOME say is not passed on.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
TREE = "/tmp/tree"
USER, CONTAINER_USER = "64999", "1000"
PROCESS_ONE = ["sh", "-c", '"$@"; exit $?', "sh"]  # reaps whatever becomes its child
IN_NAMESPACES = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"] + PROCESS_ONE
AS_USER = ["setpriv", "--reuid=" + USER, "--regid=" + USER, "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
SANDBOX = [TREE + "/tests/sandbox.py", "--user"]
TIERS = {
    "root": IN_NAMESPACES,
    "user": IN_NAMESPACES + AS_USER,
    "plain": IN_NAMESPACES + ["env", "FRED_CELL=plain"],
    "container": SANDBOX + ["0"],
    "container-user": SANDBOX + [CONTAINER_USER],
}
OWNERS = {"user": USER, "container-user": CONTAINER_USER}
# A descriptor, since the checkout may be below /tmp. The tier's user has a name, as users have.
FURNISH = """
exec 3<"$1" && mount --bind "$2" /tmp && mkdir -p /tmp/tree && mount --bind /proc/self/fd/3 /tmp/tree && exec 3<&- && cd /tmp/tree || exit 125
if ! getent passwd "$3" >/dev/null; then
  { cat /etc/passwd && echo "fred-tier:x:$3:$3::/tmp/home:/bin/sh"; } >/tmp/passwd && mount --bind /tmp/passwd /etc/passwd || exit 125
fi
shift 3
exec "$@"
"""


def environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith("FRED") and k not in ("TMPDIR", "XDG_RUNTIME_DIR", "MAKEFLAGS")}
    # a folder of root's in PATH is one that users cannot search
    env.update(BUILD=TREE + "/build", HOME="/tmp/home", PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
    if os.path.exists(os.path.join(ROOT, ".cache/criu/sbin/criu")):
        env["FRED_CRIU"] = TREE + "/.cache/criu/sbin/criu"
    return env


class Checkout:
    """A copy of the checkout and of the build, which belongs to the tier's user, as a context: tests write into it."""

    def __init__(self, tier):
        self.tier, self.owner = tier, OWNERS.get(tier, "0")

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="fred-tier-tree.")
        os.chmod(self.folder, 0o755)
        names = [os.path.join(ROOT, n) for n in os.listdir(ROOT) if n not in (".git", "build")]
        subprocess.run(["cp", "-a", "--reflink=auto"] + names + [self.folder], check=True)
        subprocess.run(["cp", "-a", "--reflink=auto", BUILD, os.path.join(self.folder, "build")], check=True)
        subprocess.run(["chown", "-R", "-h", self.owner + ":" + self.owner, self.folder], check=True)
        return self

    def __exit__(self, *why):
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, command, **more):
        """As subprocess.run. The /tmp is on a disk, and gone behind it; KEEP=1: it stays."""
        folder = tempfile.mkdtemp(prefix="fred-tier.")
        try:
            os.chmod(folder, 0o1777)
            os.makedirs(os.path.join(folder, "home"), 0o700)
            os.chown(os.path.join(folder, "home"), int(self.owner), int(self.owner))
            return subprocess.run([os.path.join(ROOT, "scripts/own-root"), "sh", "-c", FURNISH, "sh", self.folder, folder, self.owner] + TIERS[self.tier] + command,
                                  env=environment(), **more)
        finally:
            if os.environ.get("KEEP") == "1":
                print("# kept: %s" % folder, file=sys.stderr)
            else:
                shutil.rmtree(folder, ignore_errors=True)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in TIERS:
        sys.exit("usage: tests/tiers.py %s COMMAND [ARG...]" % "|".join(TIERS))
    if os.geteuid():
        sys.exit("tiers.py: it gives up rights: needs root")
    with Checkout(sys.argv[1]) as checkout:
        status = checkout.run(sys.argv[2:]).returncode
    sys.exit(status)


if __name__ == "__main__":
    main()
