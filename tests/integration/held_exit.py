# SPDX-License-Identifier: MIT
"""held_exit.py SECONDS COMMAND [ARG...]: runs a command in which a process that ends by exit(2), as the recorder's helper processes do, and
no program of libc, is held there for so long. Threads are not held. By seccomp's notifications (seccomp_unotify(2)).
"""
import array
import ctypes
import fcntl
import os
import select
import socket
import struct
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
SYS_SECCOMP, SET_MODE_FILTER, NEW_LISTENER = 317, 1, 8
BPF_LOAD, BPF_IF_EQUAL, BPF_RETURN = 0x20, 0x15, 0x06
RET_NOTIFY, RET_ALLOW = 0x7FC00000, 0x7FFF0000
SYS_EXIT = 60
RECEIVE, SEND, CONTINUE = 0xC0502100, 0xC0182101, 1


def listen():
    ops = [(BPF_LOAD, 0, 0, 0), (BPF_IF_EQUAL, 0, 1, SYS_EXIT), (BPF_RETURN, 0, 0, RET_NOTIFY), (BPF_RETURN, 0, 0, RET_ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *op) for op in ops))
    program = ctypes.create_string_buffer(struct.pack("H6xQ", len(ops), ctypes.addressof(code)))
    LIBC.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    fd = LIBC.syscall(SYS_SECCOMP, SET_MODE_FILTER, NEW_LISTENER, program)
    if fd < 0:
        sys.exit("held_exit: seccomp: %s" % os.strerror(ctypes.get_errno()))
    return fd


def is_process(tid):
    try:
        with open("/proc/%d/status" % tid) as f:
            return "\nTgid:\t%d\n" % tid in f.read()
    except OSError:
        return False


def go_on(fd, number):
    try:
        fcntl.ioctl(fd, SEND, struct.pack("QqiI", number, 0, 0, CONTINUE))
    except OSError:
        pass  # it has been killed


def serve(fd, seconds):
    """Until no process is left that has the filter."""
    poll, held = select.poll(), []
    poll.register(fd, select.POLLIN)
    while True:
        while held and held[0][0] <= time.monotonic():
            go_on(fd, held.pop(0)[1])
        events = poll.poll(max(0, held[0][0] - time.monotonic()) * 1000 if held else None)
        if not events:
            continue
        if not events[0][1] & select.POLLIN:
            return
        request = array.array("B", bytes(80))
        try:
            fcntl.ioctl(fd, RECEIVE, request)
        except OSError:
            continue  # it has been killed
        number, tid = struct.unpack_from("QI", request)
        if is_process(tid):
            held.append((time.monotonic() + seconds, number))
        else:
            go_on(fd, number)


def main():
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    child = os.fork()
    if not child:
        fd = listen()
        socket.send_fds(theirs, [b"f"], [fd])
        os.close(fd)
        os.execvp(sys.argv[2], sys.argv[2:])
    theirs.close()
    fds = socket.recv_fds(ours, 1, 1)[1]
    if fds:
        serve(fds[0], float(sys.argv[1]))
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


if __name__ == "__main__":
    main()
