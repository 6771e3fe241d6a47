# SPDX-License-Identifier: MIT
"""What every benchmark script shares: one recorder that prints tables and leaves them as JSON for the report.

    b = record.Bench("alloc", "The allocator at 491,520 groups", piece="alloc")
    b.table("Cold", ["", "s", "groups"], [["extwright", 0.21, 10], ["kernel", quoted(16, "RESEARCH.md"), ""]])
    b.goal("first request answered", got=0.21, wanted=0.3, unit="s")
    b.plot("bars", "Cold", ["extwright", "kernel"], {"s": [0.21, 16]}, unit="s", log=True)
    b.headline("0.21 s", "first request, cold")
    b.gain("..."); b.loss("...")
    b.write()

The JSON goes to $XW_BENCH_OUT/NAME.json (default bench-out). $XW_BENCH_QUICK=1 or --quick asks for a sample.
--smoke (XW_BENCH_SMOKE=1) asks for the smallest scale, which only shows that everything runs: see smoke.py.
A figure that was not measured in this run is quoted(figure, source): it is marked wherever it is shown.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("XW_BUILD", "."))
SRC = os.path.abspath(os.environ.get("XW_SRC", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))
LIBS = os.path.join(BUILD, ".libs")
RESEARCH = "tests/bench/RESEARCH.md"
os.environ["PATH"] += ":/usr/sbin:/sbin"


def quoted(value, source):
    """A figure from elsewhere; source is a key of SOURCES or plain text."""
    return {"v": value, "q": source}


def plain(cell):
    """A cell as text."""
    if isinstance(cell, dict):
        return plain(cell["v"]) + " †"
    if isinstance(cell, float):
        return "%.3g" % cell if abs(cell) < 100 else "%.0f" % cell
    if isinstance(cell, int) and not isinstance(cell, bool):
        return format(cell, ",")
    return "" if cell is None else str(cell)


def tool(name):
    """The program itself: a libtool wrapper's shell would be measured, too."""
    real = os.path.join(LIBS, name)
    return real if os.path.exists(real) else os.path.join(BUILD, name)


def tool_env(**more):
    libs = LIBS + (":" + os.environ["LD_LIBRARY_PATH"] if os.environ.get("LD_LIBRARY_PATH") else "")
    return dict(os.environ, LD_LIBRARY_PATH=libs, **more)


def build(*programs):
    """Benchmark programs are not built by `make all`."""
    if os.path.exists(os.path.join(BUILD, "Makefile")):
        subprocess.run(["make", "-s", "-C", BUILD, *programs], check=True, stdout=2)


def output(*argv):
    """Standard output of a command, or "" when it is missing or fails."""
    try:
        return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout.decode(errors="replace")
    except OSError:
        return ""


def machine():
    """Where a run took place, and the versions that it compares."""
    cpu = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "unknown")
    with open("/proc/meminfo") as f:
        mem = int(f.readline().split()[1]) / 2**20
    first = lambda text: (text.strip().splitlines() or ["not installed"])[0]  # noqa: E731
    commit = first(output("git", "-C", SRC, "rev-parse", "--short", "HEAD"))
    if not re.fullmatch("[0-9a-f]+", commit):
        commit = "of an unknown commit"
    elif output("git", "-C", SRC, "status", "--porcelain", "--untracked-files=no").strip():
        commit += " with changes"
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processors": "%d, %s" % (os.cpu_count(), cpu),
        "memory": "%.0f GiB" % mem,
        "kernel": "Linux " + os.uname().release,
        "load": "%.1f processes over the last minute, when the run began" % os.getloadavg()[0],
        "extwright": commit,
        "e2fsprogs": first(output("mke2fs", "-V")),
        "xfsprogs": first(output("mkfs.xfs", "-V")),
        "btrfs-progs": first(output("mkfs.btrfs", "-V")),
        "tar": first(output("tar", "--version")),
    }


class Bench:
    def __init__(self, name, title, piece=None):
        self.data = {"name": name, "title": title, "piece": piece or name, "intro": "", "items": [], "goals": [],
                     "headlines": [], "beside": [], "gains": [], "losses": [], "seconds": 0, "quick": os.environ.get("XW_BENCH_QUICK") == "1"}
        self.began = time.monotonic()
        print("\n## %s\n" % title, flush=True)

    def intro(self, text):
        self.data["intro"] = text
        print(text + "\n", flush=True)

    def text(self, text):
        self.data["items"].append({"kind": "text", "text": text})
        print(text + "\n", flush=True)

    def table(self, title, head, rows, note="", fold=False):
        """fold: shown only when the reader opens it."""
        self.data["items"].append({"kind": "table", "title": title, "head": head, "rows": rows, "note": note, "fold": fold})
        print("### %s\n" % title)
        print("| " + " | ".join(head) + " |")
        print("|" + "---|" * len(head))
        for row in rows:
            print("| " + " | ".join(plain(c) for c in row) + " |")
        print("\n" + (note + "\n" if note else ""), flush=True)

    def plot(self, kind, title, x, series, unit="", log=False, note="", xlabel="", xlog=True, main=False):
        """kind: bars (x are labels) or lines (x are numbers). series: name to values, each as long as x, None where missing.

        main: the picture of this piece, which stands at the top of the report."""
        self.data["items"].append({"kind": "plot", "plot": kind, "title": title, "x": list(x), "unit": unit, "log": log,
                                   "note": note, "xlabel": xlabel, "xlog": xlog, "main": main,
                                   "series": [{"name": n, "values": list(v)} for n, v in series.items()]})

    def goal(self, what, got, wanted, unit="", at_least=False):
        """What was to be reached. got None: not measured in this run."""
        met = None if got is None else got >= wanted if at_least else got <= wanted
        self.data["goals"].append({"what": what, "got": got, "wanted": wanted, "unit": unit, "at_least": at_least, "met": met})
        print("%s: %s, wanted %s %s %s: %s\n" % (
            what, "not measured" if got is None else plain(got), "at least" if at_least else "at most", plain(wanted), unit,
            {None: "not measured", True: "met", False: "**missed**"}[met]), flush=True)
        return met

    def headline(self, value, label, first=False):
        self.data["headlines"].insert(0 if first else len(self.data["headlines"]), {"value": value, "label": label})

    def beside(self, what, ours, peers="", research=""):
        """One line of the comparison at the top of the report: extwright, the kernel or stock tools here, the research."""
        self.data["beside"].append([what, ours, peers, research])

    def gain(self, text):
        self.data["gains"].append(text)
        print("+ " + text + "\n", flush=True)

    def loss(self, text):
        self.data["losses"].append(text)
        print("- " + text + "\n", flush=True)

    def write(self):
        out = os.environ.get("XW_BENCH_OUT", "bench-out")
        os.makedirs(out, exist_ok=True)
        self.data["seconds"] = round(time.monotonic() - self.began, 1)
        with open(os.path.join(out, self.data["name"] + ".json"), "w") as f:
            json.dump(self.data, f, indent=1)
            f.write("\n")


def installed(b, *programs):
    """Those peers of `programs` that are installed. The report names the missing ones."""
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        b.text("Not installed, so not measured: %s." % ", ".join(missing))
    return set(programs) - set(missing)


def can_mount(b):
    """Whether ext4 images can be mounted here. If not, the report says so."""
    if not os.geteuid():
        with tempfile.TemporaryDirectory(prefix="xw-bench-mount.") as work:
            image, at = os.path.join(work, "img"), os.path.join(work, "mnt")
            os.mkdir(at)
            subprocess.run([tool("xw-mkfs"), "-qFF", image, "8M"], env=tool_env(), check=True)
            try:
                mounted = subprocess.run(["mount", "-t", "ext4", "-o", "loop", image, at], stderr=subprocess.DEVNULL, check=False).returncode == 0
            except OSError:
                mounted = False
            if mounted:
                subprocess.run(["umount", at], check=True)
                return True
    b.text("Not compared with a kernel mount, which needs root and loop devices.")
    return False


def wait_for_loops(image, seconds=60):
    """After umount: until no loop device has the image. It stays as long as another program's mount namespace has the mount, too, and with it its cache."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        names = []
        for path in glob.glob("/sys/block/loop*/loop/backing_file"):
            try:
                with open(path) as f:
                    names.append(f.read().strip())
            except OSError:
                pass
        if os.path.realpath(image) not in names:
            return
        time.sleep(.05)


def memory_dir():
    """A directory in memory if it has room for the images, else on disk."""
    try:
        room = os.statvfs("/dev/shm")
        if room.f_bavail * room.f_frsize >= 1 << 30:
            return "/dev/shm"
    except OSError:
        pass
    return os.environ.get("XW_BENCH_DIR", "/var/tmp")


def smoke():
    """Whether the smallest scale is asked for."""
    return os.environ.get("XW_BENCH_SMOKE") == "1"


class Scale(argparse.Action):
    """--quick and --smoke, which the programs that a script starts inherit. --smoke implies --quick."""

    def __call__(self, parser, namespace, values, option_string=None):
        for name in {"quick", self.dest}:
            setattr(namespace, name, True)
            os.environ["XW_BENCH_" + name.upper()] = "1"


def arguments(doc):
    """A parser with what all scripts understand."""
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action=Scale, nargs=0, default=smoke() or os.environ.get("XW_BENCH_QUICK") == "1", help="a sample, in minutes")
    p.add_argument("--smoke", action=Scale, nargs=0, default=smoke(), help="the smallest scale, in seconds; figures mean nothing")
    return p
