#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A trace for xw-age --profile trace that fills a filesystem and keeps it full: age_trace.py NAME MIB UTIL OVERWRITES SEED

Names: agrawal, files of the sizes that Agrawal and others found; mail, messages of some KiB and folders that grow; mixed, small
files beside a few of many MiB. UTIL is a percentage, OVERWRITES a multiple of the size. The same every time.
"""
import random
import sys

BLOCK = 4096
AGRAWAL = ((14, 256, 1 << 9), (22, (1 << 9) + 1, 1 << 11), (25, (1 << 11) + 1, 1 << 13), (18, (1 << 13) + 1, 1 << 15),
           (12, (1 << 15) + 1, 1 << 17), (6, (1 << 17) + 1, 1 << 19), (2, (1 << 19) + 1, 1 << 21), (1, (1 << 21) + 1, 1 << 23))


class Trace:
    def __init__(self, name, mib, util, overwrites, seed):
        self.rnd = random.Random("%s %d" % (name, seed))
        self.name, self.blocks = name, mib * (1 << 20) // BLOCK
        self.target = self.blocks * (util - 5) / 100  # what the filesystem itself uses is about 5 %
        self.end = overwrites * self.blocks
        self.dirs = {"agrawal": 200, "mail": 64, "mixed": 40}[name]
        self.big = max(mib // 64, 2) << 20
        self.live, self.used, self.written, self.made = [], 0, 0, 0

    def log(self, a, b):
        return int(a * (b / a) ** self.rnd.random())

    def size(self):
        if self.name == "mail":
            return self.log(600, 60000) if self.rnd.random() < .95 else self.log(60000, 2 << 20)
        if self.name == "mixed":
            return self.log(500, 100000) if self.rnd.random() < .9 else self.log(1 << 20, self.big)
        k = self.rnd.randrange(100)
        for weight, a, b in AGRAWAL:
            if k < weight:
                return self.log(a, b)
            k -= weight
        raise AssertionError(k)

    def count(self, old, new, rewritten=False):
        old, new = -(-old // BLOCK), -(-new // BLOCK)
        self.used += new - old
        self.written += new if rewritten else new - old

    def create(self):
        size, d = self.size(), self.rnd.randrange(self.dirs)
        path = "d%d/d%d/f%d" % (d % 8, d, self.made)
        self.made += 1
        self.live.append((path, size))
        self.count(0, size)
        return "create %s %d" % (path, size)

    def append(self, k):
        path, size = self.live[k]
        more = self.log(4096, 1 << 20) if self.name == "mixed" and size >= 1 << 20 else self.log(200, 20000)
        self.live[k] = (path, size + more)
        self.count(size, size + more)
        return "append %s %d" % (path, more)

    def overwrite(self, k):
        path, size = self.live[k]
        new = self.size()
        self.live[k] = (path, new)
        self.count(size, new, True)
        return "overwrite %s %d" % (path, new)

    def delete(self):
        k = self.rnd.randrange(len(self.live))
        self.live[k], self.live[-1] = self.live[-1], self.live[k]
        path, size = self.live.pop()
        self.used -= -(-size // BLOCK)
        return "delete " + path

    def __iter__(self):
        while self.written < self.end:
            x, y = self.rnd.random(), self.rnd.random()
            if self.used >= .99 * self.target and (self.used > 1.01 * self.target or x >= .5):
                yield self.delete()
            elif not self.live or self.name == "agrawal" or y >= .2:
                yield self.create()
            elif y < .15:
                yield self.append(self.rnd.randrange(len(self.live)))
            else:
                yield self.overwrite(self.rnd.randrange(len(self.live)))


def main():
    name, mib, util, overwrites, seed = sys.argv[1:]
    for line in Trace(name, int(mib), float(util), float(overwrites), int(seed)):
        print(line)


if __name__ == "__main__":
    main()
