# SPDX-License-Identifier: MIT
"""Threads, time and random numbers under a recording: the result is always the same, the way to it never.

The random numbers go into a file, so that a replay that draws others is seen at the write.
"""
import os
import queue
import random
import sys
import threading
import time

rounds = int(sys.argv[1]) * 100
todo = queue.Queue(maxsize=10)
done = []
lock = threading.Lock()


def work():
    while True:
        item = todo.get()
        if item is None:
            return
        values = [random.random() for _ in range(50)] + [item]
        time.sleep(0)
        with lock:
            done.append(sorted(values)[-1])


def main():
    started = time.time()
    workers = [threading.Thread(target=work, name="worker-%d" % i) for i in range(4)]
    for thread in workers:
        thread.start()
    for i in range(rounds):
        todo.put(i + 1)
    for _ in workers:
        todo.put(None)
    for thread in workers:
        thread.join()
    with open("drawn", "w") as f:
        f.write("%r %r %r %d\n" % (random.random(), os.urandom(8), time.time(), os.getpid()))
    assert time.time() >= started and time.monotonic() > 0
    print(len(done), sum(done) == rounds * (rounds + 1) / 2, len(os.listdir(".")))


main()
sys.exit(3)
