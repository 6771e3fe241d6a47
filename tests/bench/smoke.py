# SPDX-License-Identifier: MIT
"""make bench-smoke: every benchmark once, at its smallest scale. Tests that they run; times are not judged.

One line a benchmark. A benchmark fails if it or one of its programs fails, if a sanitizer reports something, or if a table is
empty or lacks a figure. A peer (a stock tool, a mount) that is not installed or not possible here is named, and fails nothing. What
a benchmark printed is in $XW_BENCH_OUT/smoke/NAME.log (default bench-out).
"""
import glob
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import record
import report

HERE = os.path.dirname(os.path.abspath(__file__))
# Each program of tests/bench/bench_*.c and the benchmark that runs it; None: main() runs it.
PROGRAMS = {"bench_delete": "itree", "bench_itree": "itree", "bench_list": "itree", "bench_share": None, "bench_space": "alloc",
            "bench_untar": "untar", "bench_visit": None, "bench_xattr": "xattr"}
ITREE_TABLES = ("Blocks read through a cache", "Bulk creation", "One name at a time", "Blocks read to delete", "Cold, by the library")
LEFT_OUT = re.compile(r"^(?:Not installed|Not compared|.*skipped).*$", re.M)
SANITIZER = re.compile(r"^.*(?:ERROR: \w*Sanitizer|runtime error:).*$", re.M)


def cpu():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def run(argv, log, env, cwd=None):
    """What a command printed, which is appended to the log, too."""
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=cwd, check=False)
    text = p.stdout.decode(errors="replace")
    with open(log, "a") as f:
        f.write(text)
    found = SANITIZER.search(text)
    if found:
        raise RuntimeError(found[0])
    if p.returncode:
        raise RuntimeError("%s: status %d" % (os.path.basename(argv[0]), p.returncode))
    return text


def table_problems(item):
    """A table without rows, a row or a column without figures, and what one of our programs failed at."""
    head, title = item["head"], item["title"]
    if not item["rows"]:
        yield "%s: empty" % title
    rows = [[record.plain(c).replace("†", "").strip() for c in row] for row in item["rows"]]
    for row in rows:
        if len(row) != len(head):
            yield "%s: %d cells for %d columns: %s" % (title, len(row), len(head), " | ".join(row))
        elif not any(re.search(r"\d", c) for c in row[1:]) and not row[1].startswith("failed") and "not measured" not in " ".join(row):
            yield "%s: no figure for %s" % (title, row[0])
        if any(re.match("(?:nan|-?inf)$", c) for c in row):
            yield "%s: no number for %s" % (title, row[0])
        if "xw-" in row[0] and any(c.startswith("failed") for c in row):
            yield "%s: %s %s" % (title, row[0], " ".join(row[1:]).strip())
    missing = any("not installed" in row for row in rows)
    for i, column in enumerate(zip(*rows) if rows and not missing else ()):
        if not any(column):
            yield "%s: no figure under %s" % (title, head[i])


def benchmark(name, out, log, env):
    """Runs a script. Returns the number of tables, and what was left out."""
    result = os.path.join(out, name + ".json")
    text = run([os.path.join(HERE, name)], log, env)
    with open(result) as f:
        data = json.load(f)
    tables = [i for i in data["items"] if i["kind"] == "table"]
    problems = [p for t in tables for p in table_problems(t)]
    if not tables:
        problems.append("no tables")
    if name == "itree":
        problems += ["no table: " + t for t in ITREE_TABLES if not any(i["title"].startswith(t) for i in tables)]
    if problems:
        raise RuntimeError("; ".join(problems))
    return "%d tables" % len(tables), LEFT_OUT.findall(text)


def share(_, log, env):
    lines = run([record.tool("bench_share"), "5000"], log, env).splitlines()
    if len(lines) != 5 or not all(re.search(r"\d s, .*\d+ blocks", line) for line in lines):
        raise RuntimeError("not a figure on each of five lines")
    return "5 lines", []


def visit(work, log, env):
    """itree-tables runs bench_visit in mounts only, which are not possible everywhere. Here it runs in a directory."""
    for how in ("fresh", "aged"):
        at = os.path.join(work, how)
        os.mkdir(at)
        for argv in (["fill", at, "500", "100", how], ["stat", at], ["copy", at], ["delete", at]):
            if not re.fullmatch(r"\d+\.\d+\n", run([record.tool("bench_visit"), *argv], log, env)):
                raise RuntimeError("no figure for %s" % argv[0])
            if argv[0] == "fill" and len(os.listdir(at)) != 500:
                raise RuntimeError("fill did not make 500 files")
        if os.listdir(at):
            raise RuntimeError("delete left files behind")
    return "8 lines", []


def page(out, names):
    """The report of all that ran."""
    benches = []
    for name in names:
        with open(os.path.join(out, name + ".json")) as f:
            benches.append(json.load(f))
    report.Page({"machine": record.machine(), "quick": True, "failed": [], "benches": benches}).render()
    return "%d benchmarks" % len(benches), []


def attempt(name, log, go):
    """One line. Whether it passed."""
    began, before = time.monotonic(), cpu()
    with open(log, "w"):
        pass
    try:
        result, left_out = go()
    except Exception as e:  # noqa: BLE001: whatever is wrong is this benchmark's result
        print("FAIL: %s: %s" % (name, e if isinstance(e, RuntimeError) else "%s: %s" % (type(e).__name__, e)), flush=True)
        with open(log) as f:
            print("".join("    " + line for line in f.readlines()[-15:]), end="", flush=True)
        return False
    words = " (%s)" % " ".join(dict.fromkeys(left_out)) if left_out else ""
    print("PASS: %-12s %5.1f s, CPU %5.1f s, %s%s" % (name, time.monotonic() - began, cpu() - before, result, words), flush=True)
    return True


def main(names):
    out = os.path.join(os.path.abspath(os.environ.get("XW_BENCH_OUT", "bench-out")), "smoke")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    began, before, failed = time.monotonic(), cpu(), []
    in_tree = {os.path.basename(p)[:-2] for p in glob.glob(os.path.join(HERE, "bench_*.c"))}
    if in_tree != set(PROGRAMS):
        print("FAIL: smoke.py does not run " + ", ".join(sorted(in_tree ^ set(PROGRAMS))))
        failed.append("programs")
    record.build(*sorted(PROGRAMS))
    with tempfile.TemporaryDirectory(dir=record.memory_dir(), prefix="xw-smoke.") as work:
        env = record.tool_env(XW_BENCH_OUT=out, XW_BENCH_DIR=work, XW_BENCH_DISK=work, XW_BENCH_DATA=os.path.join(work, "data"), XW_BUILD=record.BUILD,
                              XW_SRC=record.SRC, XW_BENCH_QUICK="1", XW_BENCH_SMOKE="1", LC_ALL="C.UTF-8")
        for name in ("XW_BENCH_PARTS", "XW_BENCH_ROUNDS", "XW_LARGE_DIR", "XW_FSCK_DIR"):
            env.pop(name, None)
        steps = [(n, lambda n=n: benchmark(n, out, os.path.join(out, n + ".log"), env)) for n in names]
        steps += [(n, lambda n=n, go=go: go(work, os.path.join(out, n + ".log"), env)) for n, go in (("bench_share", share), ("bench_visit", visit))]
        for name, go in steps:
            if not attempt(name, os.path.join(out, name + ".log"), go):
                failed.append(name)
        ran = [n for n in names if n not in failed]
        if not attempt("report", os.path.join(out, "report.log"), lambda: page(out, ran)):
            failed.append("report")
    print("bench-smoke: %s; %.0f s, CPU %.0f s" % ("failed: " + " ".join(failed) if failed else "%d passed" % (len(steps) + 1),
                                               time.monotonic() - began, cpu() - before))
    return 1 if failed else 0
