#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rows of xw-mkfs options in which every two settings of every two factors meet.

    pairwise.py [SEED]      one row a line: SIZE-or-dash  options

Factors are the features, block size, type and whether SIZE is given. A row that would say what everybody refuses is
repaired the way a user would (metadata_csum_seed brings metadata_csum); what then cannot meet is not counted.
"""
import itertools
import random
import sys

FEATURES = """has_journal ext_attr resize_inode dir_index filetype extent 64bit flex_bg meta_bg sparse_super sparse_super2
large_file huge_file dir_nlink extra_isize uninit_bg metadata_csum metadata_csum_seed inline_data ea_inode large_dir quota
project orphan_file fast_commit bigalloc casefold encrypt verity mmp stable_inodes itree""".split()
FACTORS = {f: (True, False) for f in FEATURES}
FACTORS["bs"] = (1024, 2048, 4096, 16384, 65536)
FACTORS["type"] = ("ext2", "ext3", "ext4")
FACTORS["size"] = (True, False)
NAMES = sorted(FACTORS)

NEEDS = [("64bit", "extent"), ("bigalloc", "extent"), ("metadata_csum_seed", "metadata_csum"), ("resize_inode", "sparse_super"),
         ("orphan_file", "has_journal"), ("fast_commit", "has_journal"), ("project", "quota"), ("itree", "dir_index"),
         ("itree", "extent"), ("inline_data", "ext_attr"), ("ea_inode", "ext_attr"), ("quota", "ext_attr"), ("large_dir", "dir_index")]
EXCLUDE = [("meta_bg", "resize_inode"), ("metadata_csum", "uninit_bg"), ("itree", "bigalloc"), ("casefold", "encrypt"),
           ("sparse_super2", "resize_inode")]


def repair(row, keep):
    """Make a row legal without touching the settings in keep; False where that cannot be."""
    for _ in range(8):
        before = dict(row)
        for a, b in NEEDS:
            if row[a] and not row[b]:
                if b not in keep:
                    row[b] = True
                elif a not in keep:
                    row[a] = False
                else:
                    return False
        for a, b in EXCLUDE:
            if row[a] and row[b]:
                if b not in keep:
                    row[b] = False
                elif a not in keep:
                    row[a] = False
                else:
                    return False
        if row == before:
            return True
    return False


def main():
    rng = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    left = set()
    for a, b in itertools.combinations(NAMES, 2):
        left.update((a, va, b, vb) for va in FACTORS[a] for vb in FACTORS[b])
    for pair in sorted(left, key=str):
        row = {n: rng.choice(FACTORS[n]) for n in NAMES}
        a, va, b, vb = pair
        row[a], row[b] = va, vb
        if not repair(row, {a, b}):
            left.discard(pair)
    while left:
        best, gain = None, -1
        for pair in rng.sample(sorted(left, key=str), min(12, len(left))):
            row = {n: rng.choice(FACTORS[n]) for n in NAMES}
            a, va, b, vb = pair
            row[a], row[b] = va, vb
            if not repair(row, {a, b}):
                continue
            met = sum(row[p[0]] == p[1] and row[p[2]] == p[3] for p in left)
            if met > gain:
                best, gain = row, met
        if best is None:
            continue
        left = {p for p in left if not (best[p[0]] == p[1] and best[p[2]] == p[3])}
        options = ",".join(("" if best[f] else "^") + f for f in FEATURES)
        print("300M" if best["size"] else "-", f"-t {best['type']} -b {best['bs']} -O {options}", flush=True)


main()
