# SPDX-License-Identifier: MIT
"""All that each case finds: found.txt. A finding that goes away, or comes besides, or is told twice, is noticed there.

`run.py BIN FINDINGS --record` writes the file anew. What changes in it is to be looked at like code.
"""
import collections
import os
import textwrap

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "found.txt")
HEAD = """\
# What xw-fsck finds in each case of damage, by found.py: with -fn, and with -fy where that is something else.
# The exit status, the number of findings that follow from repairs, if any, then the names of findings; those that are
# told more than once with their number.
"""


def told(status, names, later=0):
    """The exit status and findings of a run as one line; later: how many of them follow from repairs."""
    return " ".join([str(status)] + ["later=%d" % later] * bool(later) + [name if n == 1 else "%s*%d" % (name, n)
                                     for name, n in sorted(collections.Counter(names).items())])


def repaired(line):
    """What -fy tells where nothing follows from the repairs: the same, and that it is repaired."""
    return "1" + line[line.index(" "):] if " " in line else "1"


def read():
    """{name of a case: {"-fn": line, "-fy": line}}"""
    cases, name, how = {}, None, None
    with open(PATH, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("#"):
                continue
            text = line.strip()
            if not line.startswith("\t"):
                name = text
                cases[name] = {}
            elif text.startswith("-"):
                how, text = text.split(" ", 1)
                cases[name][how] = text
            else:
                cases[name][how] += " " + text
    for runs in cases.values():
        runs.setdefault("-fy", repaired(runs["-fn"]))
    return cases


def write(seen):
    """seen: [(name, {how: (status, names, later)})]"""
    with open(PATH, "w", encoding="utf-8") as out:
        out.write(HEAD)
        for name, runs in seen:
            out.write(name + "\n")
            lines = {how: told(*run) for how, run in runs.items()}
            for how, line in lines.items():
                if how == "-fy" and line == repaired(lines["-fn"]):
                    continue
                out.write(textwrap.fill(how + " " + line, 100, initial_indent="\t", subsequent_indent="\t    ",
                                        break_on_hyphens=False, break_long_words=False) + "\n")
