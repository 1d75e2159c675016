# SPDX-License-Identifier: MIT
"""zsh_tab: types lines and a tab in a zsh, and prints what it made of each: zsh_tab.py FOLDER LINE...

FOLDER has the completion functions. The line that stands there after the tab is what a widget of zsh's editor prints.
"""
import os
import pty
import re
import select
import sys
import time

SETUP = r"""PS1= RPS1= ; unsetopt zle_bracketed_paste prompt_sp; fpath=(%s $fpath); autoload -Uz compinit; compinit -D -u
tell() { print -r -- "<<$BUFFER>>" >/dev/tty; BUFFER= }; zle -N tell; bindkey '^X^T' tell; print -r -- "re""ady"
"""


def read_until(fd, pattern, seconds=60):
    text, end = "", time.monotonic() + seconds
    while not re.search(pattern, text):
        left = end - time.monotonic()
        if left <= 0 or not select.select([fd], [], [], left)[0]:
            sys.exit("zsh: no %s in: %r" % (pattern, text[-400:]))
        text += os.read(fd, 65536).decode(errors="replace")
    return re.search(pattern, text)


def main():
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "dumb"
        os.execvp("zsh", ["zsh", "-f", "-i"])
    os.write(fd, (SETUP % sys.argv[1]).encode())
    read_until(fd, r"\bready\b")
    made = []
    for line in sys.argv[2:]:
        os.write(fd, line.encode() + b"\t\x18\x14")
        made.append(read_until(fd, r"<<(.*?)>>").group(1).strip())
    print(" ".join(m[len("fredctl "):].replace("record ", "") for m in made))


main()
