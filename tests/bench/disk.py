# SPDX-License-Identifier: MIT
"""A modelled spinning disk, and the requests that Linux makes of a block device.

The model. 7,200 rotations a minute, 500 GB, 60 MB/s (the rate of the research's disk). Requests are taken `depth` at a time, sorted
by position and merged where they touch (Linux's elevator: 128), then served upwards. To go on where the last request ended costs
nothing; to start elsewhere costs the smaller of two: wait until the gap has passed under the head (gap / rate; only forward), or
seek, 0.8 ms + 16.2 ms x sqrt(distance / 500 GB), and wait half a rotation, 4.17 ms. Transfer is length / rate. There is no cache
that reads or writes ahead by itself, and no two heads: a model to compare orders of requests, not the disk of anybody.
"""
import math
import os
import re
import subprocess

CAPACITY = 500e9
RATE = 60e6
TRACK, FULL = .0008, .017
HALF_TURN = 60 / 7200 / 2
DEPTH = 128  # writes: Linux's queue; a single reader waits for each answer, so reads are taken one by one


def merged(requests, depth):
    """(offset, length) as the disk gets them."""
    for first in range(0, len(requests), depth):
        batch = sorted(requests[first:first + depth])
        at, end = batch[0][0], batch[0][0]
        for off, length in batch:
            if off > end:
                yield at, end - at
                at, end = off, off
            end = max(end, off + length)
        yield at, end - at


def serve(requests, depth=DEPTH):
    """Seconds, and how often the head had to seek."""
    seconds, seeks, head = 0.0, 0, 0
    for off, length in merged(requests, depth) if requests else ():
        gap = off - head
        if gap:
            seek = TRACK + (FULL - TRACK) * math.sqrt(min(abs(gap) / CAPACITY, 1)) + HALF_TURN
            wait = gap / RATE if gap > 0 else seek
            seconds += min(seek, wait)
            seeks += seek <= wait
        seconds += length / RATE
        head = off + length
    return seconds, seeks


class Trace:
    """What Linux asks of a block device meanwhile, by tracefs; None where there is none. Use as a context."""
    LINE = re.compile(r"block_rq_issue: \d+,\d+ (\w+) \d+ \(.*?\) (\d+) \+ (\d+)")

    def __init__(self, device):
        number = os.stat(device).st_rdev
        self.dev = os.major(number) << 20 | os.minor(number)
        self.top = "/sys/kernel/tracing"
        self.mounted = False
        self.dir = os.path.join(self.top, "instances", "xw-bench-%d" % os.getpid())
        self.reads, self.writes = None, None

    def put(self, name, text):
        with open(os.path.join(self.dir, name), "w") as f:
            f.write(text)

    def __enter__(self):
        try:
            if not os.path.isdir(self.top + "/instances"):
                self.mounted = subprocess.run(["mount", "-t", "tracefs", "xw-bench", self.top], stderr=subprocess.DEVNULL, check=False).returncode == 0
            os.mkdir(self.dir)
            self.put("buffer_size_kb", "65536")
            self.put("events/block/block_rq_issue/filter", "dev == %d" % self.dev)
            self.put("events/block/block_rq_issue/enable", "1")
        except OSError:
            self.close()
            self.dir = None
        return self

    def __exit__(self, *_):
        if not self.dir:
            return
        try:
            self.put("events/block/block_rq_issue/enable", "0")
            self.reads, self.writes = [], []
            with open(os.path.join(self.dir, "trace")) as f:
                for line in f:
                    m = self.LINE.search(line)
                    if m and int(m[3]):
                        (self.writes if "W" in m[1] else self.reads).append((int(m[2]) * 512, int(m[3]) * 512))
        finally:
            self.close()

    def close(self):
        if self.dir and os.path.isdir(self.dir):
            os.rmdir(self.dir)
        if self.mounted:
            subprocess.run(["umount", self.top], check=False)
            self.mounted = False
