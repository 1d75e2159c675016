# SPDX-License-Identifier: MIT
"""rsp: a small client of GDB's remote serial protocol, for tests of `fredctl serve`."""
import re
import socket

NAMES = "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15 rip".split()


class Rsp:
    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data = b""
        self.acks = True
        self.ask("QStartNoAckMode")
        self.acks = False

    def send(self, text):
        data = text.encode()
        self.sock.sendall(b"$" + data + b"#%02x" % (sum(data) & 255))

    def receive(self):
        while True:
            found = re.search(rb"\$([^#]*)#[0-9a-f]{2}", self.data)
            if found:
                self.data = self.data[found.end():]
                if self.acks:
                    self.sock.sendall(b"+")
                return found.group(1).decode("latin1")
            more = self.sock.recv(65536)
            if not more:
                raise EOFError("the server closed the connection")
            self.data += more

    def ask(self, text):
        self.send(text)
        return self.receive()

    def state(self, stop):
        """What a debugger would see at this stop: thread, registers, the words above the stack pointer."""
        tid = re.search("thread:([0-9a-f]+)", stop).group(1)
        raw = bytes.fromhex(self.ask("g")[:16 * len(NAMES)])
        regs = {n: int.from_bytes(raw[8 * i:8 * i + 8], "little") for i, n in enumerate(NAMES)}
        return tid, regs, self.ask("m%x,80" % regs["rsp"]), self.ask("m%x,10" % regs["rip"])

    def close(self):
        self.send("D")
        self.sock.close()
