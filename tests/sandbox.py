#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sandbox.py: runs a command as a container with Docker's defaults does, as far as fred can tell: Docker's capabilities, answers like those of
moby's default seccomp profile, a PID namespace of its own, and its /proc, masked and read-only where Docker's is.

  tests/sandbox.py [--user UID] [--unconfined seccomp|systempaths]... COMMAND [ARG...]

It must be started as root, who becomes root without rights, or with --user that user. Podman's and GitLab's defaults are these, or less.
--unconfined: as docker run --security-opt seccomp=unconfined, --security-opt systempaths=unconfined.
"""
import ctypes
import os
import signal
import struct
import sys

CAPABILITIES = 0xa80425fb
LIBC = ctypes.CDLL(None, use_errno=True)
EPERM, ENOSYS = 1, 38
ALLOW, ERRNO = 0x7fff0000, 0x00050000
CLONE_NEW = 0x7e020000  # all but CLONE_NEWTIME, whose bit is one of the exit signal's

# Of the calls of x86-64 up to mseal, those that the profile does not list, or lists for a capability only that Docker does not give.
DENIED = """
acct=163 add_key=248 bpf=321 clock_settime=227 create_module=174 delete_module=176 fanotify_init=300 finit_module=313 fsconfig=431 fsmount=432
fsopen=430 fspick=433 get_kernel_syms=177 get_mempolicy=239 init_module=175 io_uring_enter=426 io_uring_register=427 io_uring_setup=425
ioperm=173 iopl=172 kcmp=312 kexec_file_load=320 kexec_load=246 keyctl=250 lookup_dcookie=212 lsm_get_self_attr=459 lsm_list_modules=461
lsm_set_self_attr=460 mbind=237 migrate_pages=256 mount=165 mount_setattr=442 move_mount=429 move_pages=279 nfsservctl=180
open_by_handle_at=304 open_tree=428 perf_event_open=298 pidfd_getfd=438 pivot_root=155 process_madvise=440 query_module=178 quotactl=179
quotactl_fd=443 reboot=169 request_key=249 set_mempolicy=238 set_mempolicy_home_node=450 setdomainname=171 sethostname=170 setns=308
settimeofday=164 swapoff=168 swapon=167 _sysctl=156 sysfs=139 syslog=103 umount2=166 unshare=272 uselib=134 userfaultfd=323 ustat=136
vhangup=153
"""
LAST_KNOWN = 462
PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xffffffff)
MASKED = ("acpi", "asound", "interrupts", "kcore", "keys", "latency_stats", "sched_debug", "scsi", "timer_list", "timer_stats")
READ_ONLY = ("bus", "fs", "irq", "sys", "sysrq-trigger")

# <linux/bpf_common.h>
LD_W_ABS, JEQ, JGE, JSET, AND, RET = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
NR, ARCH, ARG0 = 0, 4, 16
AUDIT_ARCH_X86_64 = 0xc000003e


def call(name, *args):
    r = getattr(LIBC, name)(*args)
    if r < 0:
        error = ctypes.get_errno()
        raise OSError(error, "%s: %s" % (name, os.strerror(error)))
    return r


def profile():
    """Instructions (code, true, false, operand). Each rule begins with the call's number in the accumulator and ends there."""
    ins = [(LD_W_ABS, 0, 0, ARCH), (JEQ, 1, 0, AUDIT_ARCH_X86_64), (RET, 0, 0, ERRNO | EPERM), (LD_W_ABS, 0, 0, NR)]

    def refuse(nr, error):
        ins.extend([(JEQ, 0, 1, nr), (RET, 0, 0, ERRNO | error)])

    def rule(nr, body):
        ins.extend([(JEQ, 0, len(body) + 1, nr), (LD_W_ABS, 0, 0, ARG0)] + body)

    for word in DENIED.split():
        refuse(int(word.split("=")[1]), EPERM)
    refuse(435, ENOSYS)  # clone3, so that libc takes clone, whose flags a filter can see
    rule(56, [(JSET, 0, 1, CLONE_NEW), (RET, 0, 0, ERRNO | EPERM), (RET, 0, 0, ALLOW)])
    rule(41, [(JEQ, 0, 1, 40), (RET, 0, 0, ERRNO | EPERM), (RET, 0, 0, ALLOW)])  # socket of AF_VSOCK
    n = len(PERSONALITIES)
    rule(135, [(JEQ, n - i, 0, p) for i, p in enumerate(PERSONALITIES)] + [(RET, 0, 0, ERRNO | EPERM), (RET, 0, 0, ALLOW)])
    ins.extend([(JGE, 0, 1, LAST_KNOWN + 1), (RET, 0, 0, ERRNO | ENOSYS), (RET, 0, 0, ALLOW)])
    return b"".join(struct.pack("HBBI", *i) for i in ins)


def filter_calls():
    code = profile()
    program = ctypes.create_string_buffer(code)
    call("prctl", 22, 2, struct_fprog(len(code) // 8, ctypes.addressof(program)), 0, 0)  # PR_SET_SECCOMP


def struct_fprog(n, at):
    struct_fprog.kept = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", n, at))
    return struct_fprog.kept


def mask(name):
    path = b"/proc/" + name.encode()
    if os.path.isdir(path):
        call("mount", b"tmpfs", path, b"tmpfs", 1, b"size=0k")
    elif os.path.exists(path):
        call("mount", b"/dev/null", path, None, 4096, None)


def furnish(masked):
    call("mount", None, b"/", None, 0x44000, None)  # MS_REC | MS_PRIVATE
    call("mount", b"proc", b"/proc", b"proc", 14, None)
    if not masked:
        return
    for name in MASKED:
        mask(name)
    for name in READ_ONLY:
        path = b"/proc/" + name.encode()
        if os.path.exists(path):
            call("mount", path, path, None, 4096, None)
            call("mount", None, path, None, 4096 | 32 | 15, None)


def drop(user):
    for cap in range(64):
        if not CAPABILITIES >> cap & 1 and LIBC.prctl(23, cap, 0, 0, 0) >= 0:  # PR_CAPBSET_READ
            LIBC.prctl(24, cap, 0, 0, 0)
    call("prctl", 47, 4, 0, 0, 0)  # no ambient capability
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
        caps = 0
    else:
        caps = CAPABILITIES
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0))
    call("capset", header, ctypes.create_string_buffer(struct.pack("6I", caps, caps, 0, 0, 0, 0)))


def become(user, unconfined, command):
    if "seccomp" not in unconfined:
        filter_calls()
    drop(user)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # which Python ignores, and its children would
    os.execvp(command[0], command)


def reap(child):
    """As tini does; gives the command's status."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def first_process(user, unconfined, command):
    furnish("systempaths" not in unconfined)
    child = os.fork()
    if not child:
        become(user, unconfined, command)
    status = reap(child)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))


def main():
    args, user, unconfined = sys.argv[1:], 0, []
    while len(args) > 1 and args[0] in ("--user", "--unconfined"):
        option, value = args.pop(0), args.pop(0)
        if option == "--user":
            user = int(value)
        else:
            unconfined.append(value)
    if not args or args[0].startswith("--") or os.geteuid():
        sys.exit("sandbox: needs a command, and root to start it")
    call("unshare", 0x20020000 | 0x08000000)  # PID, mount and IPC namespaces
    child = os.fork()
    if not child:
        call("prctl", 1, 9, 0, 0, 0)  # it ends with us
        try:
            first_process(user, unconfined, args)
        except OSError as error:
            print("sandbox: %s" % error, file=sys.stderr)
            os._exit(125)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()
