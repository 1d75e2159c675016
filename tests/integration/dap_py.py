# SPDX-License-Identifier: MIT
"""dap_py: a small client of the Debug Adapter Protocol, for tests of `fredctl dap` that are about answers, not about the protocol."""
import json
import subprocess

from fredtest import check


class Dap:
    """An adapter, as a context."""

    def __init__(self, argv, **more):
        self.proc = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.seq = 0
        self.events, self.responses = [], {}

    def __enter__(self):
        return self

    def __exit__(self, *why):
        if why[0] is None:
            self.ask("disconnect")
        else:
            self.proc.kill()
        self.proc.communicate(timeout=60)

    def send(self, command, **arguments):
        self.seq += 1
        body = json.dumps({"seq": self.seq, "type": "request", "command": command, "arguments": arguments}).encode()
        self.proc.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.proc.stdin.flush()
        return self.seq

    def read(self):
        """Takes the next message."""
        length = 0
        while True:
            line = self.proc.stdout.readline()
            check(line, "the adapter has ended", self.proc.stderr.read() if not line else "")
            if not line.strip():
                break
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        message = json.loads(self.proc.stdout.read(length))
        if message["type"] == "event":
            self.events.append(message)
        elif message["type"] == "response":
            self.responses[message["request_seq"]] = message

    def answer(self, seq):
        while seq not in self.responses:
            self.read()
        return self.responses.pop(seq)

    def ask(self, command, **arguments):
        return self.answer(self.send(command, **arguments))

    def wait(self, event):
        while not any(e["event"] == event for e in self.events):
            self.read()

    def launch(self):
        """To the program's entry."""
        check(self.ask("initialize", adapterID="fred")["success"], "initialize")
        seq = self.send("launch", stopOnEntry=True)
        self.wait("initialized")
        self.ask("configurationDone")
        check(self.answer(seq)["success"], "launch")
        self.wait("stopped")

    def move(self, command):
        """What a command that moves the program prints, up to the stop behind it."""
        self.events = []
        r = self.ask("evaluate", expression=command, context="repl")
        check(r["success"], command, r)
        self.wait("stopped")
        return "".join(e["body"]["output"] for e in self.events if e["event"] == "output")
