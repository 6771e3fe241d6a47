#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random layers: what xw-mkfs makes of them is what oci_unpack.py unpacks.

    layers_random.py MKFS IMPORT EXPORT apply|overlay FIRST LAST

For every seed from FIRST to LAST: two or three layers over few names, so that they meet, with markers in any
place. "apply": xw-mkfs -d of all, and xw-import of the others over the first, against the unpacker. "overlay"
(root, overlayfs): the layers but the first in one image made with --whiteouts overlay, mounted over the first by
the kernel. Prints a line for each seed that differs, with the members of its layers, and exits 1 if any did.
"""
import io
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile

import oci_unpack


class Layer:
    """Members in order; `below`: the directory that the layers before it unpack to."""

    def __init__(self, rnd, number, below, overlay):
        self.rnd, self.number, self.below, self.overlay = rnd, number, below, overlay
        self.files, self.links, self.members, self.markers = [], [], [], []
        for _ in range(rnd.randint(3, 9)):
            self.one()
        ways = [os.path.dirname(m[0]) for m in self.members]
        for marker in self.markers:
            if not any(map(self.through_link, ways + [os.path.dirname(marker)])):
                self.members.insert(rnd.randint(0, len(self.members)), (marker, tarfile.REGTYPE, ""))

    def path(self, *last):
        return "/".join([self.rnd.choice("abc") for _ in range(self.rnd.randint(0, 2))] + list(last))

    def add(self, name, kind, text=""):
        self.members.append((name, kind, text))

    def one(self):
        kind = self.rnd.choice("ffffddwwoolh")
        name = self.path(self.rnd.choice("abcdef"))
        if kind == "f":
            self.files.append(name)
            self.add(name, tarfile.REGTYPE, f"{self.number}.{len(self.members)}")
        elif kind == "d":
            self.add(name, tarfile.DIRTYPE)
        elif kind in "wo":
            self.marker(kind)
        elif self.overlay:
            return  # an image cannot follow links of what it is to lie over
        elif kind == "l":
            self.links.append(name)
            self.add(name, tarfile.SYMTYPE, self.rnd.choice(["a", "../b", "/c", "..", "nowhere/a"]))
        elif self.files:
            self.add(name, tarfile.LNKTYPE, self.rnd.choice(self.files))

    def marker(self, kind):
        parent = self.path()
        name = ".wh..wh..opq" if kind == "o" else ".wh." + self.rnd.choice("abcdef")
        if self.number == 0 or self.overlay and not os.path.isdir(os.path.join(self.below, parent)):
            return  # nobody takes away from a directory that is not there
        if self.overlay and not parent and kind == "o":
            return  # the root of a layer cannot be opaque
        self.markers.append(os.path.join(parent, name))

    def through_link(self, path):
        """Where markers hide links that the layer goes through, their place in it matters after all: out of scope."""
        while path:
            if path in self.links or os.path.islink(os.path.join(self.below, path)):
                return True
            path = os.path.dirname(path)
        return False

    def write(self, path):
        with tarfile.open(path, "w") as tar:
            for name, kind, text in self.members:
                m = tarfile.TarInfo(name)
                m.type, m.mode = kind, 0o755
                if kind == tarfile.REGTYPE:
                    m.size = len(text)
                    tar.addfile(m, io.BytesIO(text.encode()))
                else:
                    m.linkname = text
                    tar.addfile(m)


def look(top, links):
    """Everything below top, as a dictionary; which names are one file where `links`."""
    found, inodes = {}, {}
    for base, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(base, name)
            rel = os.path.relpath(path, top)
            if rel == "lost+found" or not os.path.lexists(path):
                continue  # overlayfs lists a whiteout that has nothing below it, but it is not there
            if os.path.islink(path):
                found[rel] = "-> " + os.readlink(path)
            elif os.path.isdir(path):
                found[rel] = "/"
            else:
                with open(path) as f:
                    found[rel] = f.read()
                if links:
                    inodes.setdefault(os.lstat(path).st_ino, []).append(rel)
    for names in inodes.values():
        for rel in names:
            found[rel] += " = " + " ".join(sorted(names))
    return found


def run(*command):
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)


def exported(export, image):
    out = tempfile.mkdtemp(dir=".")
    run(export, "-q", "-x", out, image)
    return look(out, True)


def overlaid(image, base):
    """What the kernel shows of the image over base."""
    for d in ("mnt", "merged"):
        os.makedirs(d, exist_ok=True)
    run("mount", "-o", "loop,ro", image, "mnt")
    try:
        run("mount", "-t", "overlay", "-o", f"ro,lowerdir=mnt:{base}", "overlay", "merged")
        try:
            return look("merged", False)
        finally:
            run("umount", "merged")
    finally:
        run("umount", "mnt")


def sources(tars):
    return [a for t in tars for a in ("-d", t)]


def differences(tools, seed, overlay):
    """None: the unpacker itself refuses these layers. Else a list of texts."""
    mkfs, imports, export = tools
    rnd = random.Random(seed)
    tars, layers = [], []
    os.makedirs("want")
    try:
        for k in range(rnd.randint(2, 4)):
            layers.append(Layer(rnd, k, "want", overlay))
            tars.append(f"{k}.tar")
            layers[k].write(tars[k])
            oci_unpack.apply(os.path.realpath("want"), tars[k])
            if k == 0:
                shutil.copytree("want", "base", symlinks=True)
    except (OSError, AssertionError):
        return None
    got = []
    if overlay:
        run(mkfs, "-q", "--whiteouts", "overlay", *sources(tars[1:]), "img", "8M")
        want = look("want", False)
        got.append(("over the first", overlaid("img", "base")))
    else:
        want = look("want", True)
        run(mkfs, "-q", "--whiteouts", "apply", *sources(tars), "img", "8M")
        got.append(("xw-mkfs", exported(export, "img")))
        run(mkfs, "-q", "-d", tars[0], "grown", "8M")
        run(imports, "-q", "grown", *tars[1:])
        got.append(("xw-import", exported(export, "grown")))
    texts = [f"{who}: wanted {sorted(want.items() - have.items())}, got {sorted(have.items() - want.items())}"
             for who, have in got if have != want]
    return texts + [str(layer.members) for layer in layers] if texts else []


def main():
    tools = [os.path.abspath(t) for t in sys.argv[1:4]]
    bad = skipped = 0
    for seed in range(int(sys.argv[5]), int(sys.argv[6]) + 1):
        with tempfile.TemporaryDirectory(dir=".") as scratch:
            here = os.getcwd()
            os.chdir(scratch)
            try:
                texts = differences(tools, seed, sys.argv[4] == "overlay")
            except subprocess.CalledProcessError as e:
                texts = [f"{' '.join(e.cmd)}: status {e.returncode}"]
            os.chdir(here)
        skipped += texts is None
        bad += bool(texts)
        for text in texts or []:
            print(f"seed {seed}: {text}")
    tried = int(sys.argv[6]) + 1 - int(sys.argv[5]) - skipped
    print(f"{tried} seeds tried, {skipped} that nobody can unpack")
    sys.exit(bad != 0 or tried <= 0)


main()
