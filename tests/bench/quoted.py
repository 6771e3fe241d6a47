# SPDX-License-Identifier: MIT
"""Figures of the four pieces of research that are shown beside ours, and where they are from."""

KARA = "Jan Kara, \"mbcache rewrite\", v2, December 2015: xattr-bench on 24 processors and a ramdisk, a system call a set"
SHIRWADKAR = "Harshad Shirwadkar, \"Improve group scanning in CR 0 and CR 1 passes\", v3, February 2021: a 65 TB disk without a free run of 2 MB"
PHILLIPS = "Daniel Phillips, \"Untar unleashed\", April 2014: Tux3, the kernel archive, a disk of 60 MB/s"
PAZDERA = "Radek Pazdera, inode-ordered directories, RFC for Linux 3.9, May 2013: SATA disks, up to 5,000,000 names"

# (V, F): seconds for 50,000 sets a process: P = 1 with the referenced bit and with caching off, P = 2 likewise.
XATTR = {
    (10, 10): (.155, .135, .229, .154), (10, 100): (.185, .126, .222, .156), (10, 1000): (.153, .160, .227, .176),
    (100, 10): (.126, .126, .165, .154), (100, 100): (.130, .144, .217, .166), (100, 1000): (.212, .156, .247, .182),
    (1000, 10): (.160, .130, .193, .155), (1000, 100): (.159, .120, .194, .158), (1000, 1000): (.175, .156, .220, .174),
    (10000, 10): (.158, .137, .190, .153), (10000, 100): (.155, .123, .188, .165), (10000, 1000): (.183, .164, .226, .179),
    (100000, 10): (.163, .143, .192, .154), (100000, 100): (.171, .153, .201, .167), (100000, 1000): (.184, .164, .218, .178),
}
XATTR_OPS = 50000

# Seconds of `sync` after untar, step by step; the raw disk and ext4 as he gives them.
UNTAR = (("as it began", 60), ("most btree roots removed", 53), ("a file's btree submitted with its data", 19),
         ("direct extents, no btree for small files", 15), ("inode table blocks after all data", 8), ("ext4", 10))
UNTAR_BANDWIDTH = 97  # percent of raw media bandwidth at the end
UNTAR_METADATA = 1.2  # metadata to data at the start
