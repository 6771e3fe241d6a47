#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The operations of a trace for xw-age, on a mounted filesystem and with contents: age_replay.py TRACE DIRECTORY OPERATIONS

After every so many operations the filesystem is synced: what it does by itself would depend on the machine's memory and speed.
Files are written in pieces of 1 MiB and closed. Prints how many operations failed.
"""
import ctypes
import os
import sys

PIECE = 1 << 20


class Replay:
    def __init__(self, top):
        self.top, self.made = top, set()
        self.noise = memoryview(os.urandom(PIECE))

    def parent(self, path):
        d = os.path.dirname(path)
        if d not in self.made:
            os.makedirs(d, exist_ok=True)
            self.made.add(d)

    def write(self, path, flags, size):
        fd = os.open(path, os.O_WRONLY | flags, 0o644)
        try:
            while size > 0:
                size -= os.write(fd, self.noise[:min(size, PIECE)])
        finally:
            os.close(fd)

    def apply(self, what, name, arg=None):
        path = os.path.join(self.top, name)
        if what == "create":
            self.parent(path)
            self.write(path, os.O_CREAT | os.O_EXCL, int(arg))
        elif what == "append":
            self.write(path, os.O_APPEND, int(arg))
        elif what == "overwrite":
            self.write(path, os.O_TRUNC, int(arg))
        elif what == "truncate":
            os.truncate(path, int(arg))
        elif what == "delete":
            os.unlink(path)
        elif what == "rename":
            to = os.path.join(self.top, arg)
            self.parent(to)
            os.rename(path, to)
        else:
            raise ValueError("operation " + what)


def main():
    trace, top, every = sys.argv[1], sys.argv[2], int(sys.argv[3])
    replay, failed = Replay(top), 0
    os.makedirs(top, exist_ok=True)
    sync, fd = ctypes.CDLL(None).syncfs, os.open(top, os.O_RDONLY)
    with open(trace) as f:
        for n, line in enumerate(f, 1):
            try:
                replay.apply(*line.split())
            except OSError:
                failed += 1
            if n % every == 0:
                sync(fd)
    sync(fd)
    os.close(fd)
    print(failed)


if __name__ == "__main__":
    main()
