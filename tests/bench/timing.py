# SPDX-License-Identifier: MIT
"""Interleaved runs of a tool and its peers, and the archives they are run on.

Method. Every input is read into the page cache first. The page memory that a run will dirty is faulted in (a
file of that size is written to /dev/shm and deleted), because a virtual machine that hands free memory
back to its host pays for every fresh page, and then all tools look alike. One round runs every competitor once,
each round in another order; between runs dirty pages are drained. A time is the whole process plus `sync FILE`;
tables show medians and ratios of medians to cat's.
"""
import glob
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

from record import SRC, smoke, tool, tool_env

DATA = os.environ.get("XW_BENCH_DATA", "/var/tmp/xwdata")
OUT = os.environ.get("XW_BENCH_DIR", "/var/tmp")
INPUTS = ("kernel", "rootfs", "synth-0.01", "synth-0.1", "synth-1.0")
PART = 160 << 20  # bytes of the kernel archive that a quick run takes
SMOKE_INPUT = "synth-smoke"


def say(*words):
    print("bench:", *words, file=sys.stderr, flush=True)


def accept_dir():
    d = os.environ.get("XW_ACCEPT")
    return d if d and os.path.exists(os.path.join(d, "gen_synth.py")) else None


# Inputs ----------------------------------------------------------------------------------------

def cut(whole, part, limit):
    """The first members of an archive, as far as they end within `limit` bytes."""
    end = 0
    with tarfile.open(whole, "r:") as t:
        for member in t:
            if member.offset > limit:
                break
            end = member.offset
    with open(whole, "rb") as i, open(part, "wb") as o:
        o.write(i.read(end) + bytes(10240))
    return True


def make_input(name, path):
    """Make a tarball that is not there. False when this machine cannot."""
    part = path + ".part"
    if name == SMOKE_INPUT:
        synth = os.path.join(SRC, "tests", "kit", "synth.py")
        ok = subprocess.run([sys.executable, synth, part, "0.001", "1", "plain"]).returncode == 0
    elif name == "kernel-part":
        whole = find_input("kernel")
        ok = whole is not None and cut(whole, part, PART)
    elif name == "kernel":
        found = sorted(glob.glob("/usr/src/linux-source-*.tar.xz"))
        if not found:
            return False
        with open(part, "wb") as f:
            ok = subprocess.run(["xz", "-dc", found[-1]], stdout=f).returncode == 0
    elif name == "rootfs":
        if os.geteuid() != 0 or not shutil.which("debootstrap"):
            return False
        with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as d:
            ok = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", d], stdout=sys.stderr).returncode == 0
            ok = ok and subprocess.run(["tar", "--format=posix", "--xattrs", "--acls", "--numeric-owner", "-cf", part,
                                        "-C", d, "."]).returncode == 0
    else:
        accept = accept_dir()
        if not accept:
            return False
        ok = subprocess.run([sys.executable, os.path.join(accept, "gen_synth.py"), part, name.split("-")[1]],
                            stdout=sys.stderr).returncode == 0
    if ok:
        os.rename(part, path)
    elif os.path.exists(part):
        os.unlink(part)
    return ok


def find_input(name):
    path = os.path.join(DATA, name + ".tar")
    if os.path.exists(path):
        return path
    os.makedirs(DATA, exist_ok=True)
    say("making", path)
    return path if make_input(name, path) else None


# Running ---------------------------------------------------------------------------------------

def fault_in(nbytes):
    """Touch that much page memory, so that no competitor pays the host for it."""
    if smoke():
        return
    room = os.statvfs("/dev/shm")
    nbytes = min(nbytes, room.f_bavail * room.f_frsize * 3 // 4)
    path = "/dev/shm/xw-bench-fault"
    chunk = b"\1" * (4 << 20)
    try:
        with open(path, "wb", buffering=0) as f:
            for _ in range(nbytes // len(chunk)):
                f.write(chunk)
    finally:
        os.unlink(path)


def warm(path):
    with open(path, "rb", buffering=0) as f:
        while f.read(8 << 20):
            pass


def forget(path):
    """Nothing of the file is in the page cache after this."""
    fd = os.open(path, os.O_RDONLY)
    os.fdatasync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


# A process starts with the peak memory of the one it was forked from: this interpreter's 24 MiB. GNU time forks from a small one.
GNU_TIME = "/usr/bin/time" if os.path.exists("/usr/bin/time") else None


class Run:
    def __init__(self, seconds, rss, cpu, out):
        self.seconds, self.rss, self.cpu, self.out = seconds, rss, cpu, out


def run(argv, target, stdin=None, stdout=None, pipe_from=None, before=None):
    """One timed run: the process (group), then `sync target`. RSS and CPU are the last process's own."""
    feeder = None
    start = time.monotonic()
    if before:
        for cmd in before:
            subprocess.run(cmd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if pipe_from:
        feeder = subprocess.Popen(pipe_from, stdout=subprocess.PIPE)
        stdin = feeder.stdout
    err = tempfile.TemporaryFile()
    out = stdout or tempfile.TemporaryFile()
    peak = tempfile.NamedTemporaryFile("r")
    if GNU_TIME:
        argv = [GNU_TIME, "-q", "-f", "%M", "-o", peak.name] + argv
    p = subprocess.Popen(argv, stdin=stdin or subprocess.DEVNULL, stdout=out, stderr=err, env=tool_env())
    if feeder:
        feeder.stdout.close()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if feeder:
        feeder.wait()
    if target:
        subprocess.run(["sync", target], check=True)
    seconds = time.monotonic() - start
    if p.returncode != 0:
        err.seek(0)
        raise RuntimeError("%s: status %d: %s" % (" ".join(argv), p.returncode,
                                                  err.read().decode(errors="replace").strip()[-300:]))
    text = ""
    if not stdout:
        out.seek(0)
        text = out.read().decode(errors="replace")
    rss = int(peak.read().split()[-1]) if GNU_TIME else usage.ru_maxrss
    return Run(seconds, rss * 1024, usage.ru_utime + usage.ru_stime, text)


class Competitor:
    """Something that turns the tar into `target`; prepare() runs once, untimed."""

    def __init__(self, name, go, prepare=None, cleanup=None):
        self.name, self.go, self.prepare, self.cleanup = name, go, prepare, cleanup
        self.runs = []
        self.failed = None


def remove(path):
    if os.path.exists(path):
        os.unlink(path)


def interleave(competitors, rounds, target):
    for c in competitors:
        if c.prepare:
            c.prepare()
    for r in range(rounds):
        order = competitors[r % len(competitors):] + competitors[:r % len(competitors)]
        for c in order:
            if c.failed:
                continue
            remove(target)
            subprocess.run(["sync", "-f", OUT], check=True)
            time.sleep(0 if smoke() else 0.1)
            try:
                c.runs.append(c.go())
                say("round %d %-32s %7.3f s  %6.1f MiB" %
                    (r + 1, c.name, c.runs[-1].seconds, c.runs[-1].rss / 2**20))
            except (RuntimeError, subprocess.CalledProcessError, OSError) as e:
                c.failed = str(e)
                say(c.name, "failed:", c.failed)
    remove(target)
    for c in competitors:
        if c.cleanup:
            c.cleanup()


def entries(tar):
    out = subprocess.run(["tar", "-tf", tar], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return out.count(b"\n")


def median(c, what):
    return statistics.median(getattr(r, what) for r in c.runs)
