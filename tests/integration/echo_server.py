# SPDX-License-Identifier: MIT
"""An asyncio server that answers lines, a client of its own beside it, a subprocess and a timer.

  echo_server.py PORT LINES
"""
import asyncio
import signal
import sys


async def answer(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper()[::-1])
        await writer.drain()
    writer.close()


async def own_client(port, lines):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for i in range(lines):
        writer.write(b"own %d\n" % i)
        assert (await reader.readline()).endswith(b" NWO")
        await asyncio.sleep(0.001)
    writer.close()


async def main(port, lines):
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, done.set)
    server = await asyncio.start_server(answer, "127.0.0.1", port)
    own = asyncio.create_task(own_client(port, lines))
    child = await asyncio.create_subprocess_exec("echo", "from the child", stdout=asyncio.subprocess.PIPE)
    out, _ = await child.communicate()
    assert out == b"from the child\n"
    assert await loop.run_in_executor(None, sum, range(1000)) == 499500
    await done.wait()
    await own
    server.close()
    await server.wait_closed()


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
