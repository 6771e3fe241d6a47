#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""itree_seeds.py BIN [-s FIRST-LAST] [-v] [-k FILE]: xw-fsck -fy on images whose itrees are damaged at random.

A seed damages one to three things that belong to itrees: nodes (fields, entries, bytes, whole blocks), the slot with
the pointer to the root, the flag, the feature, quartiles, separators, checksums, bits of the bitmap, i_blocks, the
directory's index. Every second seed has checksums made right again.

Names and contents belong to no itree, so ONE run must keep all of them: every name leads to the inode it led to, and
every file has the bytes that it had. Each tree that is left must hold exactly the names of its directory, in order, as
a reader of this script's own finds them; a second run must find nothing, and neither must stock e2fsck -fn, where it is
installed, after -O ^itree. No run may crash or take more than 20 seconds. Exit status 1 where a seed fails.
"""
import argparse
import io
import os
import random
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile

KIT = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(KIT, "..", "fsck"))
from image import FL_INDEX, FL_INLINE, FL_ITREE, SUPER, Image, crc32c  # pylint: disable=wrong-import-position

STOCK = shutil.which("e2fsck", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
LIMIT = 900  # seconds: what hangs, not what is slow on a loaded machine
MAGIC, HEAD, RO_ITREE = 0x54493245, 32, 0x40000000
BASES = {
    "csum": ["-t", "ext4", "-b", "1024", "-O", "itree"],
    "nocsum": ["-t", "ext4", "-b", "1024", "-O", "itree,^metadata_csum"],
    "ext2": ["-t", "ext2", "-b", "1024", "-O", "itree"],
}
DIRS = {"big": 1500, "mid": 260, "small": 90, "deep/er": 120}


def source():
    """Directories of several sizes, with hard links and directories among the entries."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def add(name, data=b"", kind=tarfile.REGTYPE, link=""):
            info = tarfile.TarInfo(name)
            info.type, info.size, info.mtime, info.mode, info.linkname = kind, len(data), 1600000000, 0o755, link
            tar.addfile(info, io.BytesIO(data))
        for d in ("big", "mid", "small", "deep", "deep/er"):
            add(d, kind=tarfile.DIRTYPE)
        for d, n in DIRS.items():
            for i in range(n):
                add("%s/a-name-of-some-length-%d" % (d, i), b"%d %s\n" % (i, d.encode()) * (i % 3 * 40))
            for i in range(0, n, 13):
                add("%s/hard-%d" % (d, i), kind=tarfile.LNKTYPE, link="big/a-name-of-some-length-%d" % i)
            for i in range(0, n, 40):
                add("%s/dir-%d" % (d, i), kind=tarfile.DIRTYPE)
    return out.getvalue()


class Tree(Image):
    """An image with itrees."""

    def slot(self, ino):
        return self.itree_slot(ino)

    def dirs(self):
        """Path to inode of all directories."""
        found, todo = {"": 2}, [("", 2)]
        while todo:
            path, ino = todo.pop()
            if self.inode(ino, "flags") & FL_INLINE:
                continue
            for _, child, _, name in self.entries(ino):
                if name in (b".", b".."):
                    continue
                if self.inode(child, "mode") >> 12 == 4:
                    found[path + "/" + name.decode()] = child
                    todo.append((path + "/" + name.decode(), child))
        return found

    def names(self):
        """Each name, and its inode."""
        return {path + "/" + name.decode("latin-1"): child for path, ino in self.dirs().items()
                for _, child, _, name in self.entries(ino) if name not in (b".", b"..")}

    def contents(self):
        """Inode to data of all regular files that have a name."""
        out = {}
        for ino in set(self.names().values()):
            if self.inode(ino, "mode") >> 12 == 8:
                blocks = self.blocks(ino)
                data = b"".join(bytes(self.b[self.block(blocks[n]):self.block(blocks[n] + 1)]) if n in blocks
                                else bytes(self.bs) for n in range(-(-self.inode(ino, "size") // self.bs)))
                out[ino] = data[:self.inode(ino, "size")]
        return out

    def indexed(self):
        """Directories with an itree."""
        return [ino for ino in self.dirs().values() if self.inode(ino, "flags") & FL_ITREE]

    def nodes(self, ino):
        """Blocks of the tree, root first; of a damaged one those that can be reached."""
        out, todo = [], [self.get(self.slot(ino), 8)]
        while todo:
            blk = todo.pop(0)
            if blk in out or not 0 < blk < self.sb("blocks_count") or self.get(self.block(blk), 4) != MAGIC:
                continue
            out.append(blk)
            off = self.block(blk)
            if self.b[off + 5]:
                todo += [self.get(off + HEAD + 16 * i + 8, 6) for i in range(self.get(off + 6, 2))]
        return out

    def seal(self, ino, blk):
        if self.csum:
            off = self.block(blk)
            self.put(off + self.bs - 4, 4, crc32c(self.inode_seed(ino), self.b[off:off + self.bs - 4]))

    def leaf_entries(self, blk):
        """Offset in the node, key, name and type of each entry; None where the node is none."""
        off, at, out = self.block(blk), HEAD, []
        for _ in range(self.get(off + 6, 2)):
            ino, key, size, length = struct.unpack_from("<IIHB", self.b, off + at)
            if size != (12 + length + 3) & ~3 or at + size > self.bs - 8:
                return None
            out.append((at, (ino, key), bytes(self.b[off + at + 12:off + at + 12 + length]), self.b[off + at + 11]))
            at += size
        return out if at - HEAD == self.get(off + 8, 2) else None

    def check_tree(self, ino):
        """What is wrong with a directory's tree, or nothing."""
        entries, seen = [], set()

        def down(blk, level):
            off = self.block(blk)
            if blk in seen or not 0 < blk < self.sb("blocks_count") or self.get(off, 4) != MAGIC:
                return "block %d is no node, or one twice" % blk
            seen.add(blk)
            if self.get(off + 12, 4) != ino or self.get(off + 24, 8) != blk:
                return "node %d is of another directory or block" % blk
            if self.csum and self.get(off + self.bs - 4, 4) != crc32c(self.inode_seed(ino), self.b[off:off + self.bs - 4]):
                return "checksum of node %d" % blk
            bit = blk - self.first
            g, bit = divmod(bit, self.sb("blocks_per_group"))
            if not self.b[self.block(self.gd(g, "block_bitmap")) + bit // 8] >> bit % 8 & 1:
                return "node %d is free in the bitmap" % blk
            if level is not None and self.b[off + 5] != level:
                return "level of node %d" % blk
            if not self.b[off + 5]:
                found = self.leaf_entries(blk)
                if not found:
                    return "entries of leaf %d" % blk
                entries.extend((key, name) for _, key, name, _ in found)
                return ""
            for i in range(self.get(off + 6, 2)):
                said = down(self.get(off + HEAD + 16 * i + 8, 6), self.b[off + 5] - 1)
                if said:
                    return said
            return ""

        said = down(self.get(self.slot(ino), 8), None)
        if said:
            return said
        if [e[0] for e in entries] != sorted(e[0] for e in entries):
            return "order"
        want = sorted((child, name) for _, child, _, name in self.entries(ino) if name not in (b".", b".."))
        return "" if want == sorted((key[0], name) for key, name in entries) else "other names than in the directory"


# ---- damage: each kind is a function of the image, a generator of numbers and a directory; it tells what it did

def node_field(i, r, d):
    blk = r.choice(i.nodes(d))
    at, size = r.choice(((0, 4), (4, 1), (5, 1), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 4), (24, 8)))
    i.put(i.block(blk) + at, size, r.choice((0, 1, r.getrandbits(8 * size), i.get(i.block(blk) + at, size) + 1)))
    return "field %d" % at, [blk]


def node_bytes(i, r, d):
    blk = r.choice(i.nodes(d))
    at, n = r.randrange(i.bs), r.choice((1, 2, 8, 100))
    for k in range(at, min(at + n, i.bs)):
        i.b[i.block(blk) + k] = r.getrandbits(8)
    return "%d bytes from %d" % (n, at), [blk]


def node_bit(i, r, d):
    blk = r.choice(i.nodes(d))
    i.b[i.block(blk) + r.randrange(i.bs)] ^= 1 << r.randrange(8)
    return "a bit", [blk]


def node_block(i, r, d):
    """A node overwritten: zeros, ones, another node of this or another tree, a block of the directory."""
    blk = r.choice(i.nodes(d))
    other = r.choice(i.nodes(d) + i.nodes(r.choice(i.indexed())) + list(i.blocks(d).values()))
    i.b[i.block(blk):i.block(blk + 1)] = r.choice((bytes(i.bs), b"\xff" * i.bs, bytes(i.b[i.block(other):i.block(other + 1)])))
    return "overwritten", r.choice(([], [blk]))


def swap(i, r, d):
    a, b = r.choice(i.nodes(d)), r.choice(i.nodes(r.choice(i.indexed())))
    i.b[i.block(a):i.block(a + 1)], i.b[i.block(b):i.block(b + 1)] = i.b[i.block(b):i.block(b + 1)], i.b[i.block(a):i.block(a + 1)]
    return "swapped with %d" % b, [a]


def entry(i, r, d):
    """An entry of a leaf: inode, hash, length, type or name."""
    leaves = [n for n in i.nodes(d) if not i.b[i.block(n) + 5] and i.leaf_entries(n)]
    if not leaves:
        return "no leaf", []
    blk = r.choice(leaves)
    at = i.block(blk) + r.choice(i.leaf_entries(blk))[0]
    field, size = r.choice(((0, 4), (4, 4), (8, 2), (10, 1), (11, 1), (12, 1), (12, 8)))
    i.put(at + field, size, r.choice((0, i.get(at + field, size) ^ 1 << r.randrange(8 * size), r.getrandbits(8 * size))))
    return "entry's field %d" % field, [blk]


def lose_entry(i, r, d):
    """The last entry of a leaf, or all after one: count and used agree."""
    blk = r.choice([n for n in i.nodes(d) if not i.b[i.block(n) + 5]] or i.nodes(d))
    off, found = i.block(blk), i.leaf_entries(blk)
    if i.b[off + 5] or not found:
        return "no leaf", []
    k = r.choice((0, len(found) - 1, r.randrange(len(found))))
    end = HEAD + i.get(off + 8, 2)
    i.put(off + found[k][0], end - found[k][0], bytes(end - found[k][0]))
    i.put(off + 6, 2, k)
    i.put(off + 8, 2, found[k][0] - HEAD)
    return "entries after %d" % k, [blk]


def pointer(i, r, d):
    """A child, in an index node: another node, a file's or directory's block, metadata, outside."""
    index = [n for n in i.nodes(d) if i.b[i.block(n) + 5]]
    if not index:
        return slot(i, r, d)
    blk = r.choice(index)
    at = i.block(blk) + HEAD + 16 * r.randrange(max(1, i.get(i.block(blk) + 6, 2))) + 8
    i.put(at, 6, target(i, r, d))
    return "child", [blk]


def target(i, r, d):
    files = [n for n in i.names().values() if i.inode(n, "mode") >> 12 == 8 and i.blocks(n)]
    return r.choice((0, 1, i.gd(0, "block_bitmap"), i.gd(0, "inode_table") + 1, i.sb("blocks_count") + 5, r.getrandbits(48),
                     r.randrange(i.sb("blocks_count")), r.choice(i.nodes(d)), r.choice(i.nodes(r.choice(i.indexed()))),
                     r.choice(list(i.blocks(d).values())), r.choice(list(i.blocks(r.choice(files)).values()))))


def slot(i, r, d):
    i.put(i.slot(d), r.choice((6, 8)), r.choice((target(i, r, d), i.get(i.slot(d), 8) | 1 << r.randrange(48, 64))))
    return "slot", []


def quartile(i, r, d):
    index = [n for n in i.nodes(d) if i.b[i.block(n) + 5]]
    if not index:
        return "no index", []
    blk = r.choice(index)
    for k in range(i.get(i.block(blk) + 6, 2)):
        if r.random() < 0.3:
            i.put(i.block(blk) + HEAD + 16 * k + 14, 2, r.choice((r.randrange(4), r.getrandbits(16))))
    return "quartiles", [blk]


def separator(i, r, d):
    index = [n for n in i.nodes(d) if i.b[i.block(n) + 5]]
    if not index:
        return "no index", []
    blk = r.choice(index)
    k = r.randrange(max(1, i.get(i.block(blk) + 6, 2)))
    i.put(i.block(blk) + HEAD + 16 * k + r.choice((0, 4)), 4, r.choice((0, r.getrandbits(8), r.getrandbits(32))))
    return "separator", [blk]


def checksum(i, r, d):
    blk = r.choice(i.nodes(d))
    i.put(i.block(blk) + i.bs - 4, 4, r.getrandbits(32))
    return "checksum", []


def flag(i, r, d):
    """Off, or on where none can be: a file, a small or a linear directory."""
    ino = r.choice((d, d, r.choice(list(i.names().values())), 2))
    i.set_inode(ino, "flags", i.inode(ino, "flags") ^ FL_ITREE)
    return "flag of %d" % ino, []


def feature(i, r, _):
    i.set_sb("feature_ro_compat", i.sb("feature_ro_compat") ^ RO_ITREE)
    if r.random() < 0.5:
        i.set_sb("state", 2)
    return "feature", []


def bitmap(i, r, d):
    for blk in r.sample(i.nodes(d), min(3, len(i.nodes(d)))):
        g, bit = divmod(blk - i.first, i.sb("blocks_per_group"))
        i.flip_bit(g, "block_bitmap", bit)
    return "bitmap", []


def blocks(i, r, d):
    i.set_inode(d, "blocks", r.choice((0, i.inode(d, "blocks") - 2, i.inode(d, "blocks") + 6, r.getrandbits(20))))
    return "i_blocks", []


def generation(i, r, d):
    """The directory's, which is in each of its nodes; its blocks are sealed again."""
    i.set_inode(d, "generation", r.getrandbits(32))
    for blk in i.blocks(d).values():
        i.fix_dir_block(d, blk)
    return "generation", []


def full_root(i, r, d):
    """dx_root has as many entries as its limit: the last one is the slot."""
    at = i.block(i.blocks(d)[0]) + 32
    i.put(at + 2, 2, i.get(at, 2) if r.random() < 0.7 else r.randrange(i.get(at, 2) + 1))
    i.fix_dir_block(d, i.blocks(d)[0])
    return "count of dx_root", []


def unindexed(i, _, d):
    i.set_inode(d, "flags", i.inode(d, "flags") & ~FL_INDEX)
    return "no index", []


KINDS = (node_field, node_bytes, node_bit, node_block, swap, entry, entry, lose_entry, pointer, pointer, slot, quartile, separator,
         checksum, flag, feature, bitmap, blocks, generation, full_root, unindexed)


def damage(image, seed):
    """Damages a copy; returns it and a line about what was done."""
    r, said = random.Random(seed), []
    dirs, wanted = image.indexed(), r.choice((1, 1, 2, 3))
    for _ in range(wanted):
        d, kind = r.choice(dirs), r.choice(KINDS)
        try:
            what, touched = kind(image, r, d)
        except (IndexError, ValueError, struct.error):  # earlier damage: there is no such node any more
            continue
        if seed % 2:
            for blk in touched:
                image.seal(d, blk)
        said.append("%s of <%d>: %s%s" % (kind.__name__, d, what, " in %s" % touched if touched else ""))
    return "; ".join(said)


def run(program, *args):
    try:
        done = subprocess.run([program, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=None if program == STOCK else LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout.decode(errors="replace")


def load(path):
    with open(path, "rb") as f:
        return Tree(f.read())


def verdict(tool, before, files):
    """What the one run did wrong, and the number of trees that are left."""
    status, said = run(tool("xw-fsck"), "-fy", "hurt")
    if status not in (0, 1):
        return "first run: status %s\n%s" % (status, said), 0
    try:
        image = load("hurt")
        names = image.names()
        lost = [n for n, ino in before.items() if names.get(n) != ino]
        if lost or len(names) != len(before):
            return "%d names lost, %d new: %s\n%s" % (len(lost), len(set(names) - set(before)), lost[:3], said), 0
        if image.contents() != files:
            return "contents of files differ\n" + said, 0
        feature_set = image.sb("feature_ro_compat") & RO_ITREE
        trees = image.indexed()
        for d in trees:
            wrong = image.check_tree(d) if feature_set else "flag without the feature"
            if wrong:
                return "tree of <%d>: %s\n%s" % (d, wrong, said), 0
    except (IndexError, ValueError, struct.error) as e:
        return "cannot be read: %r\n%s" % (e, said), 0
    status, again = run(tool("xw-fsck"), "-fy", "hurt")
    if status:
        return "second run: status %s\n%s\nfirst run:\n%s" % (status, again, said), 0
    if STOCK:
        status, again = run(tool("xw-tune"), "-q", "-O", "^itree", "hurt")
        if status:
            return "xw-tune: status %s\n%s" % (status, again), 0
        status, again = run(STOCK, "-fn", "hurt")
        if status:
            return "e2fsck -fn: status %s\n%s\nfirst run:\n%s" % (status, again, said), 0
    return "", len(trees)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("bin")
    p.add_argument("-s", "--seeds", default="1-500")
    p.add_argument("-v", "--verbose", action="store_true", help="print what each seed damages")
    p.add_argument("-k", "--keep", help="a file that the last damaged image is copied to, before the repair")
    a = p.parse_args()
    first, _, last = a.seeds.partition("-")
    bin_dir, keep = os.path.abspath(a.bin), a.keep and os.path.abspath(a.keep)
    failed = trees = of = 0
    os.environ.update(SOURCE_DATE_EPOCH="1700000000", MKE2FS_CONFIG="", LC_ALL="C")

    def tool(name):
        return os.path.join(bin_dir, name)

    with tempfile.TemporaryDirectory(prefix="itree-seeds.") as work:
        os.chdir(work)
        with open("source.tar", "wb") as f:
            f.write(source())
        bases = {}
        for name, options in BASES.items():
            status, said = run(tool("xw-mkfs"), "-q", "-F", *options, "-N", "3000", "-d", "source.tar", name, "8M")
            if status:
                sys.exit("%s: %s" % (name, said))
            bases[name] = load(name)
            bases[name] = bases[name].b, bases[name].names(), bases[name].contents(), len(bases[name].indexed())
        seeds = range(int(first), int(last or first) + 1)
        for seed in seeds:
            name = list(bases)[seed // 2 % len(bases)]
            b, names, files, had = bases[name]
            image = Tree(b)
            how = damage(image, seed)
            with open("hurt", "wb") as f:
                f.write(image.b)
            if keep:
                shutil.copyfile("hurt", keep)
            why, left = verdict(tool, names, files)
            failed, trees, of = failed + bool(why), trees + left, of + had
            if why or a.verbose:
                print("seed %d (%s): %s%s" % (seed, name, how, "\n  FAILED: " + why.replace("\n", "\n  ") if why else ""), flush=True)
    print("%d seeds: %d failed, %d of %d trees left" % (len(seeds), failed, trees, of))
    sys.exit(1 if failed or not len(seeds) or not trees else 0)


if __name__ == "__main__":
    main()
