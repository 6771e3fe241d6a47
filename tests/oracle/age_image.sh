#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An image as Linux leaves it after use:  age_image.sh IMAGE SIZE PERCENT [MKE2FS-OPTION...]
#
# Filled to 90 % and more with files of mixed sizes, of which some are then removed here and there, until PERCENT of the
# blocks are in use: what is free lies in pieces between the rest. Needs root and loop mounts. The same every time.
set -eu
image=${1:?usage: age_image.sh IMAGE SIZE PERCENT [MKE2FS-OPTION...]}
size=$2 percent=$3
shift 3
PATH=$PATH:/usr/sbin:/sbin
mnt=$(mktemp -d)
trap 'umount "$mnt" 2>/dev/null; rmdir "$mnt"' EXIT
mke2fs -qF "$@" "$image" "$size"
mount -o loop "$image" "$mnt"
python3 - "$mnt" "$percent" <<'PY'
import os, random, sys
top, percent = sys.argv[1], int(sys.argv[2])
random.seed(percent)
noise = random.randbytes(1 << 20)
sizes = [1000, 3000, 4096, 6000, 9000, 16384, 20000, 50000, 70000, 200000]
files = []

def used():
    st = os.statvfs(top)
    return 100 * (st.f_blocks - st.f_bfree) / st.f_blocks

def put(path, size):
    at = random.randrange(len(noise) - 300000)
    with open(path, "wb") as f:
        f.write(noise[at:at + size])

n = 0
try:
    while used() < 93:
        d = "%s/old-%d" % (top, n // 500)
        os.makedirs(d, exist_ok=True)
        for _ in range(100):
            path = "%s/f%d" % (d, n)
            put(path, random.choice(sizes))
            files.append(path)
            n += 1
except OSError:
    pass
os.sync()
random.shuffle(files)
while used() > percent and files:
    for path in files[-50:]:
        os.unlink(path)
    del files[-50:]
    if len(files) % 1000 < 50:
        os.sync()
os.sync()
PY
