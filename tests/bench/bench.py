#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Interleaved measurements of xw-mkfs and its peers, as a Markdown table on stdout.

Method. Every input is read into the page cache first. The page memory that a run will dirty is faulted in (a
file of that size is written to /dev/shm and deleted), because a virtual machine that hands free memory
back to its host pays for every fresh page, and then all tools look alike. One round runs every competitor once,
each round in another order; between runs dirty pages are drained. A time is the whole process plus `sync FILE`;
tables show medians and ratios of medians to cat's.
"""
import argparse
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("XW_BUILD", ".")
SRC = os.environ.get("XW_SRC", ".")
DATA = os.environ.get("XW_BENCH_DATA", "/var/tmp/xwdata")
OUT = os.environ.get("XW_BENCH_DIR", "/var/tmp")
INPUTS = ("kernel", "rootfs", "synth-0.01", "synth-0.1", "synth-1.0")
# Peers take hours on some inputs: they run where a round stays under this many entries' worth of archive.
PEER_LIMIT = 300 << 20
TARGETS = {"kernel": 1.5, "rootfs": 1.7, "synth-1.0": 3.0}
RSS_TARGETS = {"kernel": 64, "synth-1.0": 400}


def say(*words):
    print("bench:", *words, file=sys.stderr, flush=True)


def tool(name):
    """The program itself: a libtool wrapper's shell would be measured too."""
    real = os.path.join(BUILD, ".libs", name)
    return real if os.path.exists(real) else os.path.join(BUILD, name)


def tool_env():
    env = dict(os.environ)
    libs = os.path.join(BUILD, ".libs")
    env["LD_LIBRARY_PATH"] = libs + (":" + env["LD_LIBRARY_PATH"] if env.get("LD_LIBRARY_PATH") else "")
    return env


def accept_dir():
    d = os.environ.get("XW_ACCEPT")
    return d if d and os.path.exists(os.path.join(d, "gen_synth.py")) else None


# Inputs ----------------------------------------------------------------------------------------

def make_input(name, path):
    """Make a tarball that is not there. False when this machine cannot."""
    part = path + ".part"
    if name == "kernel":
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
            os.sync()
            time.sleep(0.1)
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


def competitors_for(name, tar, target, peers):
    mkfs = tool("xw-mkfs")
    size = os.path.getsize(tar)

    def cat():
        with open(tar, "rb") as i, open(target, "wb") as o:
            return run(["cat"], target, stdin=i, stdout=o)

    found = [
        Competitor("cat TAR > FILE", cat),
        Competitor("xw-mkfs -d TAR", lambda: run([mkfs, "--json", "-d", tar, target], target)),
        Competitor("cat TAR \\| xw-mkfs -d -",
                   lambda: run([mkfs, "--json", "-d", "-", target], target, pipe_from=["cat", tar])),
    ]
    sized = max(64 << 20, size * 2 + (64 << 20))
    found.append(Competitor("xw-mkfs -d TAR, SIZE given",
                            lambda: run([mkfs, "--json", "-i", "4096", "-d", tar, target, "%dk" % (sized >> 10)], target)))
    if not peers:
        return found

    tree = target + ".tree"

    def unpack():
        shutil.rmtree(tree, ignore_errors=True)
        os.mkdir(tree)
        subprocess.run(["tar", "--xattrs", "--xattrs-include=*", "--acls", "--delay-directory-restore",
                        "--numeric-owner", "-xpf", tar, "-C", tree], stderr=subprocess.DEVNULL)
        os.sync()

    if shutil.which("tar2ext4"):
        found.append(Competitor("tar2ext4", lambda: run(["tar2ext4", "-i", tar, "-o", target], target)))
    inodes = str(entries(tar) + 5000)
    if shutil.which("genext2fs"):
        found.append(Competitor("genext2fs -a TAR", lambda: run(
            ["genext2fs", "-B", "4096", "-b", str(sized >> 12), "-N", inodes, "-a", tar, target], target)))
    if os.geteuid() == 0:
        mnt = target + ".mnt"

        def kernel():
            os.makedirs(mnt, exist_ok=True)
            try:
                return run(["tar", "--xattrs", "--xattrs-include=*", "--acls", "--delay-directory-restore",
                            "--numeric-owner", "-xpf", tar, "-C", mnt], None, before=[
                                ["mke2fs", "-qF", "-t", "ext4", "-b", "4096", "-N", inodes, target, "%dk" % (sized >> 10)],
                                ["mount", "-o", "loop", target, mnt]])
            finally:
                subprocess.run(["umount", mnt], stderr=subprocess.DEVNULL)

        def timed_kernel():
            start = time.monotonic()
            r = kernel()
            subprocess.run(["sync", target], check=True)
            r.seconds = time.monotonic() - start
            return r
        found.append(Competitor("mke2fs, mount, tar x", timed_kernel,
                                cleanup=lambda: shutil.rmtree(mnt, ignore_errors=True)))
        found.append(Competitor("mke2fs -d DIR (unpacked before)", lambda: run(
            ["mke2fs", "-qF", "-t", "ext4", "-b", "4096", "-N", inodes, "-d", tree, target, "%dk" % (sized >> 10)],
            target), prepare=unpack, cleanup=lambda: shutil.rmtree(tree, ignore_errors=True)))
        found.append(Competitor("xw-mkfs -d DIR (unpacked before)", lambda: run([mkfs, "--json", "-d", tree, target], target)))
    return found


def entries(tar):
    out = subprocess.run(["tar", "-tf", tar], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return out.count(b"\n")


# Reporting -------------------------------------------------------------------------------------

def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def median(c, what):
    return statistics.median(getattr(r, what) for r in c.runs)


def report_times(name, tar, competitors):
    size = os.path.getsize(tar)
    print("### %s: %.0f MB\n" % (name, size / 1e6))
    base = median(competitors[0], "seconds") if competitors[0].runs else 0
    rows = []
    for c in competitors:
        if not c.runs:
            rows.append([c.name, "failed: " + (c.failed or "")[:80], "", "", "", ""])
            continue
        s = median(c, "seconds")
        spread = "%.2f-%.2f" % (min(r.seconds for r in c.runs), max(r.seconds for r in c.runs))
        rows.append([c.name, "%.3f" % s, spread, "%.2f" % (s / base) if base else "", "%.2f" % median(c, "cpu"),
                     "%.0f" % (median(c, "rss") / 2**20)])
    table(["", "median s", "min-max s", "ratio to cat", "CPU s", "RSS MiB"], rows)


def report_quality(competitors, tar, target):
    rows = []
    for c in competitors:
        if not c.runs or not c.runs[-1].out.startswith("{"):
            continue
        j = json.loads(c.runs[-1].out)
        j = j.get("result", j)
        rows.append([c.name, "%.2f %%" % (100 * j["metadata_blocks"] / max(1, j["data_blocks"])),
                     "%.4f" % (j["extents"] / max(1, j["files_with_data"])), "%d" % j["xattr_blocks"],
                     "%d" % j["writes"], "%.3f %%" % (100 * j["sequential_writes"] / max(1, j["writes"])),
                     "%d" % j["backward_seeks"]])
    table(["", "metadata / data", "extents per file", "xattr blocks", "writes", "sequential", "backward seeks"], rows)
    accept = accept_dir()
    if not accept:
        return
    for size in ([], ["-i", "4096", "%dk" % ((os.path.getsize(tar) * 2 + (64 << 20)) >> 10)]):
        remove(target)
        run([tool("xw-mkfs"), "-q", "-d", tar, target] + size, None)
        out = subprocess.run([sys.executable, os.path.join(accept, "img_stat.py"), target],
                             stdout=subprocess.PIPE).stdout.decode().strip()
        print("img_stat.py, %s: `%s`\n" % ("SIZE given" if size else "SIZE left out", out))
    remove(target)


def strace_pattern(tar, target):
    """Write pattern as the kernel sees it, beside what the tool says of itself."""
    if not shutil.which("strace"):
        return
    log = target + ".strace"
    remove(target)
    run(["strace", "-f", "-o", log, "-e", "trace=write,pwrite64,pwritev,pwritev2", tool("xw-mkfs"), "-q", "-d", tar,
         target], None)
    writes = seq = back = total = 0
    end = None
    with open(log, errors="replace") as f:
        for line in f:
            call = line.split(None, 1)[-1]
            if "(" not in call or ") = " not in call or not call.startswith("pwrite"):
                continue
            try:
                n = int(call.rsplit(" = ", 1)[1].split()[0])
                off = int(call.rsplit(") = ", 1)[0].rsplit(", ", 2 if call.startswith("pwritev2") else 1)[1])
            except (ValueError, IndexError):
                continue
            writes += 1
            total += n
            if end is not None:
                seq += off == end
                back += off < end
            end = off + n
    remove(log)
    remove(target)
    if writes:
        print("strace: %d writes, %.0f MB, %.3f %% start where the last one ended, %d backward seeks\n" %
              (writes, total / 1e6, 100 * seq / max(1, writes - 1), back))


def bench_fill(name, args):
    tar = find_input(name)
    if not tar:
        say("no", name, "tarball: left out")
        return
    target = os.path.join(OUT, "xw-bench-%d.img" % os.getpid())
    size = os.path.getsize(tar)
    peers = not args.no_peers and size <= PEER_LIMIT and name != "synth-0.1"
    fault_in(size * 3 + (512 << 20))
    warm(tar)
    competitors = competitors_for(name, tar, target, peers or args.all_peers)
    interleave(competitors, args.rounds, target)
    report_times(name, tar, competitors)
    for label, limits, value, c in (("time", TARGETS, "seconds", 1), ("RSS", RSS_TARGETS, "rss", 1)):
        if name in limits and competitors[c].runs and competitors[0].runs:
            got = median(competitors[c], value)
            got = got / median(competitors[0], "seconds") if value == "seconds" else got / 2**20
            print("%s: %.2f, wanted at most %g: %s\n" %
                  (label, got, limits[name], "met" if got <= limits[name] else "**missed**"))
    if competitors[1].runs:
        report_quality(competitors, tar, target)
        strace_pattern(tar, target)


def bench_empty(size, args):
    """A huge empty image on tmpfs, where a sparse file may be larger than the host's disk."""
    target = "/dev/shm/xw-bench-%d.img" % os.getpid()
    found = [Competitor("xw-mkfs", lambda: run([tool("xw-mkfs"), "-q", target, size], target))]
    if shutil.which("mke2fs"):
        found.append(Competitor("mke2fs", lambda: run(["mke2fs", "-qF", "-t", "ext4", target, size], target)))
    fault_in(3 << 30)
    interleave(found, args.rounds, target)
    print("### Empty, %s\n" % size)
    rows = [[c.name, "%.3f" % median(c, "seconds"), "%.0f" % (median(c, "rss") / 2**20)] if c.runs else
            [c.name, "failed: " + (c.failed or "")[:100], ""] for c in found]
    table(["", "median s", "RSS MiB"], rows)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--only", help="comma list of: %s, empty" % ", ".join(INPUTS))
    p.add_argument("--no-peers", action="store_true", help="cat and xw-mkfs only")
    p.add_argument("--all-peers", action="store_true", help="peers on every input, however long they take")
    p.add_argument("--empty-size", default="60T")
    args = p.parse_args()
    wanted = args.only.split(",") if args.only else list(INPUTS) + ["empty"]
    with open("/proc/meminfo") as f:
        mem = int(f.readline().split()[1]) >> 20
    print("%s, %d processors, %d GiB of memory, Linux %s, %d rounds, images on %s\n" % (
        time.strftime("%Y-%m-%d"), os.cpu_count(), mem, os.uname().release, args.rounds, OUT))
    for name in wanted:
        if name == "empty":
            bench_empty(args.empty_size, args)
        else:
            bench_fill(name, args)


if __name__ == "__main__":
    main()
