# SPDX-License-Identifier: MIT
"""multi.py ROUNDS: python's multiprocessing: a pool, a queue, and values, arrays, locks and events in shared memory."""
import multiprocessing as mp
import sys
from multiprocessing import shared_memory

ROUNDS = int(sys.argv[1])


def square(x):
    return x * x


def add(value, lock, queue, number):
    for _ in range(ROUNDS):
        with lock:
            value.value += 1
    queue.put(number)


def fill(event, semaphore, array, name, i):
    event.wait()
    with semaphore:
        array[i] = i * 1.5
    block = shared_memory.SharedMemory(name)
    block.buf[i] = i + 1
    block.close()


def main():
    with mp.Pool(2) as pool:
        print(sum(pool.map(square, range(20 * ROUNDS))))
    value, lock, queue = mp.Value("i", 0, lock=False), mp.Lock(), mp.Queue()
    procs = [mp.Process(target=add, args=(value, lock, queue, i)) for i in range(3)]
    for p in procs:
        p.start()
    print(sorted(queue.get() for _ in procs))
    for p in procs:
        p.join()
    print(value.value)
    array, semaphore, event = mp.Array("d", 8), mp.Semaphore(2), mp.Event()
    block = shared_memory.SharedMemory(create=True, size=4096)
    procs = [mp.Process(target=fill, args=(event, semaphore, array, block.name, i)) for i in range(4)]
    for p in procs:
        p.start()
    event.set()
    for p in procs:
        p.join()
    print(list(array), bytes(block.buf[:8]))
    block.close()
    block.unlink()


if __name__ == "__main__":
    main()
