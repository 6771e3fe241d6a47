# SPDX-License-Identifier: MIT
"""Cases of a damaged log: blocks in place that are newer than what is left of it, or older."""
from cases import case
from image import INCOMPAT_RECOVER, crc32c

MAGIC, DESCRIPTOR, COMMIT, REVOKE = 0xC03B3998, 1, 2, 5
SAME_UUID, LAST = 2, 8
INCOMPAT_64BIT, CSUM_V2, CSUM_V3 = 2, 8, 16
CTIME = 12  # in an inode record


class Log:
    """Written block by block into the journal of image i. ext4: checksums of version 3, ext3: of version 2."""

    def __init__(self, i):
        self.i, self.log, self.at, self.sequence = i, i.blocks(8), 1, 7
        self.v3 = i.sb("feature_incompat") & 0x80 != 0
        jsb = i.block(self.log[0])
        i.put(jsb + 0x18, 8, self.be(7, 1))
        i.put(jsb + 0x28, 4, self.be(CSUM_V3 | INCOMPAT_64BIT if self.v3 else CSUM_V2))
        i.put(jsb + 0x50, 1, 4)
        i.put(jsb + 0xFC, 4, 0)
        i.put(jsb + 0xFC, 4, self.be(crc32c(0xFFFFFFFF, i.b[jsb:jsb + 1024])))
        i.set_sb("feature_incompat", i.sb("feature_incompat") | INCOMPAT_RECOVER)
        self.seed = crc32c(0xFFFFFFFF, i.b[jsb + 0x30:jsb + 0x40])

    @staticmethod
    def be(*words):
        return b"".join(w.to_bytes(4, "big") for w in words)

    def write(self, data, csum_at=None, damage=False):
        block = bytearray(data.ljust(self.i.bs, b"\0"))
        if csum_at is not None:
            block[csum_at:csum_at + 4 or None] = self.be(crc32c(self.seed, block))
        if damage:
            block[20] ^= 0x55
        self.i.put(self.i.block(self.log[self.at]), len(block), bytes(block))
        self.at += 1

    def tag(self, blk, data, flags):
        csum = crc32c(crc32c(self.seed, self.be(self.sequence)), data)
        if self.v3:
            return self.be(blk, flags, 0, csum)
        return self.be(blk) + (csum & 0xFFFF).to_bytes(2, "big") + flags.to_bytes(2, "big") + b"\0\0"

    def header(self, kind):
        return self.be(MAGIC, kind, self.sequence)

    def transaction(self, *blocks, revoke=None, damage=None):
        """blocks: (number, contents). damage: the kind of block that is damaged."""
        if revoke is not None:
            number = self.be(0, revoke) if self.v3 else self.be(revoke)
            self.write(self.header(REVOKE) + self.be(16 + len(number)) + number, -4, damage == REVOKE)
        tags = [self.tag(blk, data, SAME_UUID | (LAST if n == len(blocks) else 0))
                for n, (blk, data) in enumerate(blocks, 1)]
        if tags:
            self.write(self.header(DESCRIPTOR) + b"".join(tags), -4, damage == DESCRIPTOR)
        for n, (_, data) in enumerate(blocks):
            self.write(data, None, damage == 0 and not n)
        self.write(self.header(COMMIT) + bytes(4), 16, damage == COMMIT)
        self.sequence += 1


def contents(i, blk):
    return bytes(i.b[i.block(blk):i.block(blk) + i.bs])


def directory(i):
    """The first block of a directory with many names, and what it was before they were made."""
    ino = i.lookup("sub")
    blk = i.blocks(ino)[0]
    now = contents(i, blk)
    i.put(i.block(blk) + 12 + 4, 2, i.bs - 12 - (12 if i.sb("feature_ro_compat") & 0x400 else 0))
    i.fix_dir_block(ino, blk)
    was = contents(i, blk)
    i.put(i.block(blk), i.bs, now)
    return blk, was, now


def record(i):
    """The block of the inode table that holds a file, and what it was before it was written to."""
    ino = i.lookup("file")
    blk, now = i.inode_off(ino) // i.bs, None
    now = contents(i, blk)
    i.set_inode(ino, "size", 0, csum=False)
    i.put(i.inode_off(ino) + CTIME, 4, i.get(i.inode_off(ino) + CTIME, 4) - 100)
    i.fix_inode(ino)
    was = contents(i, blk)
    i.put(i.block(blk), i.bs, now)
    return blk, was, now


@case("journal-stale", base=["ext4", "ext3"])
def names_newer_than_what_is_before_a_damaged_descriptor(i):
    blk, was, _ = directory(i)
    log = Log(i)
    log.transaction((blk, was))
    log.transaction((i.blocks(2)[0], contents(i, i.blocks(2)[0])), damage=DESCRIPTOR)


@case("journal-stale", base=["ext4", "ext3"])
def names_as_behind_a_damaged_revoke_block(i):
    blk, was, now = directory(i)
    log = Log(i)
    log.transaction((blk, was))
    log.transaction(revoke=i.blocks(i.lookup("file"))[0], damage=REVOKE)
    log.transaction((blk, now))


@case("journal-damaged", base=["ext4", "ext3"])
def names_older_than_what_is_before_a_damaged_descriptor(i):
    blk, was, now = directory(i)
    log = Log(i)
    log.transaction((blk, now))
    log.transaction((blk, was), damage=DESCRIPTOR)
    i.put(i.block(blk), i.bs, was)


@case("journal-damaged", base=["ext4", "ext3"])
def inode_older_than_what_is_behind_a_damaged_descriptor(i):
    blk, was, now = record(i)
    log = Log(i)
    log.transaction((blk, was), damage=DESCRIPTOR)
    log.transaction((blk, now))
    i.put(i.block(blk), i.bs, was)


@case("journal-damaged", base=["ext4", "ext3"])
def commit_block_that_a_later_one_stands_in_for(i):
    blk, was, now = record(i)
    log = Log(i)
    log.transaction((blk, now), damage=COMMIT)
    log.transaction((i.blocks(2)[0], contents(i, i.blocks(2)[0])))
    i.put(i.block(blk), i.bs, was)


@case("journal-stale", base=["ext4", "ext3"])
def inode_newer_than_what_is_before_a_damaged_commit_block(i):
    blk, was, now = record(i)
    log = Log(i)
    log.transaction((blk, was))
    log.transaction((blk, now), damage=COMMIT)


@case("journal-damaged", base=["ext4", "ext3"])
def inode_older_than_what_is_before_a_damaged_commit_block(i):
    blk, was, now = record(i)
    log = Log(i)
    log.transaction((blk, now))
    log.transaction((blk, was), damage=COMMIT)
    i.put(i.block(blk), i.bs, was)


@case("journal-damaged", base=["ext4", "ext3"])
def data_of_the_log(i):
    """All other blocks are replayed, as Linux does."""
    blk, was, now = record(i)
    log = Log(i)
    log.transaction((i.blocks(2)[0], contents(i, i.blocks(2)[0])), (blk, now), damage=0)
    i.put(i.block(blk), i.bs, was)


@case("journal-damaged", base=["ext4", "ext3"])
def file_data_before_a_damaged_descriptor(i):
    """Neither versions of inodes nor names say which is newer: the log was not empty."""
    blk = i.blocks(i.lookup("file"))[0]
    log = Log(i)
    log.transaction((blk, contents(i, blk)))
    log.transaction((i.blocks(2)[0], contents(i, i.blocks(2)[0])), damage=DESCRIPTOR)
    i.put(i.block(blk), i.bs, bytes(i.bs))
