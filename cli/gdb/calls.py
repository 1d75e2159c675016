# SPDX-License-Identifier: MIT
"""calls.py: functions that the compiler has altered (daemon/expr/altered.py) are not called: fred refuses what GDB writes for the call, and
GDB tells the user what fred says. fredctl puts this text into GDB, after altered.py.
"""
import re

import gdb


def refuse_call(why):
    """why: the reason; empty: the call is made."""
    why = re.sub(r"(?<=\S)\((?!\))[^()]*\)", "", why)  # a packet of GDB's cannot contain the * in a list of arguments
    connection = gdb.selected_inferior().connection
    if isinstance(connection, gdb.RemoteTargetConnection):
        connection.send_packet("QFred.RefuseCall:" + why.encode().hex())


Calls(refuse_call)
