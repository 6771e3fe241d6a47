# SPDX-License-Identifier: MIT
"""The extent verbs beside stock debugfs: the same random requests, the same answers.

extents.py XW-DEBUGFS IMAGE move|edit FIRST COUNT LENGTH: COUNT sequences of LENGTH requests from seed FIRST on, on copies of
IMAGE, which has a file /f. Prints the sequences that differ, and "AGREE n OF m". Blocks of nodes may be anywhere. After edits,
stock e2fsck must say the same about both images, but for the numbers of those blocks.
"""
import random
import re
import shutil
import subprocess
import sys

MOVES = """root root_node last_leaf first_sib first_sibling last_sib last_sibling next_sib ns next_sibling prev_sib ps
prev_sibling next_leaf nl prev_leaf pl next n prev p previous up u up_node down d down_node current current_node info""".split()
LISTS = ["all", "print_all", "all --leaf-only", "all --reverse", "all --reverse-leaf"]


def go(r):
    return f"goto {r.randrange(30)}" + r.choice(["", "", " 0", " 1", " 2", " 3"])


def moves(r, length):
    for _ in range(length):
        yield r.choices([go(r), r.choice(MOVES), r.choice(LISTS)], [20, 77, 3])[0]


def edits(r, length):
    """Requests after which the tree is one."""
    for _ in range(length):
        kind = r.randrange(10)
        lblk, pblk = r.randrange(30), 3000 + r.randrange(1000)
        if kind < 5:
            yield "set_bmap " + r.choice(["", "", "--uninit "]) + f"{lblk} {r.choice([0, pblk, pblk])}"
        elif kind < 7:
            yield "goto " + str(lblk)
            yield "split_node"
        elif kind < 8:
            yield "last_leaf"
            yield f"insert_node --after {r.choice(['', '--uninit '])}{100 + r.randrange(9) + length * 10} {r.randrange(1, 9)} {pblk}"
            yield "delete_node"
        elif kind < 9:
            yield f"set_bmap {lblk} {pblk}"
            yield f"goto {lblk}"
            yield "fix_parents"
            yield "current"
        else:
            yield r.choice(LISTS)


def normal(text):
    """Answers without prompts, versions, and the places of nodes."""
    for line in text.splitlines():
        line = line.replace("xw-debugfs: ", "").rstrip()
        if line.startswith("debugfs 1.") or line == "debugfs:" or "checksum: 0x" in line:
            continue
        if "flags:" in line and "LEAF" not in line:
            line = re.sub(r"pblk \d+", "pblk N", line)
        level = re.match(r" *(\d+)/ *(\d+) ", line)
        if level and level[1] != level[2]:
            line = re.sub(r"\d+ +-.*", "INDEX", line)
        yield re.sub(r"\(ETB\d+\):\d+", "ETB", line)


def ask(command, image, script, limit=None):
    done = subprocess.run([*command, "-w", "-f", script, image], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=limit, check=False)
    return list(normal(done.stdout.decode("latin1")))


def verdict(image):
    done = subprocess.run(["e2fsck", "-fn", image], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    text = done.stdout.decode("latin1").replace(image, "IMAGE")
    return done.returncode, re.sub(r"\(?-?-?\d+\)?", "N", re.sub(r"[-+]\(?\d+.*", "", text)).split("Block bitmap")[0]


def main():
    tool, image, kind, first, count, length = sys.argv[1:]
    agree = 0
    for seed in range(int(first), int(first) + int(count)):
        r = random.Random(seed)
        lines = ["eo f", *(moves if kind == "move" else edits)(r, int(length)), "all", "ec"]
        if kind == "edit":
            lines += ["ex f", "stat f"]
        with open("requests", "w", encoding="ascii") as out:
            out.write("\n".join(lines) + "\n")
        shutil.copy(image, "stock.img")
        shutil.copy(image, "ours.img")
        stock, ours = ask(["debugfs"], "stock.img", "requests"), ask([tool], "ours.img", "requests", 900)
        judged = kind == "move" or verdict("stock.img") == verdict("ours.img")
        if stock == ours and judged:
            agree += 1
            continue
        at = next((i for i, (a, b) in enumerate(zip(stock, ours)) if a != b), min(len(stock), len(ours)))
        print(f"seed {seed}, line {at}:", *stock[max(0, at - 6):at], f"stock {stock[at:at + 2]}", f"ours {ours[at:at + 2]}",
              "" if judged else f"e2fsck {verdict('stock.img')} {verdict('ours.img')}", sep="\n  ")
    print(f"AGREE {agree} OF {count}")


main()
