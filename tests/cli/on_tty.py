#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command on a terminal of its own and answers its questions.

    on_tty.py KEYS COMMAND...

KEYS are groups of keys with commas between; the next group is sent whenever a question ends the output: one that ends
in "? " takes a key, one that ends in "(y,N) " a line. In KEYS, \\x03 and the like are escapes. The output goes to standard output as the terminal got it, without carriage returns; the exit
status is the command's, 99 when it waited for keys that nobody has.
"""
import os
import pty
import select
import signal
import sys
import termios


def terminal_reads_keys(fd):
    """Single keys are passed on and not echoed: what must be so before a question is printed."""
    flags = termios.tcgetattr(fd)[3]
    return not flags & (termios.ICANON | termios.ECHO)


def main():
    keys = sys.argv[1].encode().decode("unicode_escape").encode("latin-1")
    groups = keys.split(b",") if keys else []
    pid, fd = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever began the tests in the background ignores it
        os.execv(sys.argv[2], sys.argv[2:])
    out = b""
    asked = 0
    late = False
    while True:
        ready, _, _ = select.select([fd], [], [], 120)
        if not ready:
            os.kill(pid, 9)
            late = True
            break
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        out += data
        if out.endswith((b"? ", b"(y,N) ")) and len(out) > asked:
            asked = len(out)
            if out.endswith(b"? ") and not terminal_reads_keys(fd):
                out += b"[the question came before the terminal was set]"
            if not groups:
                os.kill(pid, 9)
                late = True
                break
            os.write(fd, groups.pop(0))
    _, status = os.waitpid(pid, 0)
    sys.stdout.buffer.write(out.replace(b"\r", b""))
    sys.stdout.flush()
    code = os.waitstatus_to_exitcode(status)
    sys.exit(99 if late else code if code >= 0 else 128 - code)


main()
