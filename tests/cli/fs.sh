#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The library's handle for reading an image (xw_fs of xw.h), through a program that prints all it tells (tests/kit/fs_print.c).
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
export SOURCE_DATE_EPOCH=1700000000
for name in fs_print example_list example_read; do
	[ -x "$XW_BUILD/$name" ] || { echo "Bail out! $XW_BUILD/$name is not there: build the tests first"; exit 1; }
done
show() { RC=0; "$XW_BUILD/fs_print" "$@" >out 2>.err || RC=$?; }

# An archive, and the lines that are wanted of its image: for filesystems with and without values in inodes of their own.
cat >make.py <<'END'
import io, struct, sys, tarfile, zlib
tar = tarfile.open(sys.argv[1], "w", format=tarfile.PAX_FORMAT)
lines = []

def esc(b):
    return "".join(chr(c) if 32 < c < 127 and c != 92 else "\\x%02x" % c for c in b)

def add(path, type=tarfile.REGTYPE, mode=0o644, data=b"", target="", links=1, xattrs=(), acls=(), dev=(0, 0), uid=7, gid=4000000000, time="1600000000.123456789"):
    t = tarfile.TarInfo(path)
    t.type, t.mode, t.size, t.linkname, t.uid, t.gid = type, mode, len(data), target, uid, gid
    t.devmajor, t.devminor = dev
    t.pax_headers = {"mtime": time, "gid": str(gid)}
    for name, value in xattrs:
        t.pax_headers["SCHILY.xattr." + name] = value
    for name, text, raw in acls:
        t.pax_headers["SCHILY.acl." + name] = text
    tar.addfile(t, io.BytesIO(data))
    if type == tarfile.LNKTYPE:
        path_of[path] = target
        return
    kinds = {tarfile.REGTYPE: 0o100000, tarfile.DIRTYPE: 0o40000, tarfile.SYMTYPE: 0o120000, tarfile.CHRTYPE: 0o20000, tarfile.BLKTYPE: 0o60000, tarfile.FIFOTYPE: 0o10000}
    facts = ["mode %06o" % (kinds[type] | mode), "uid %d" % uid, "gid %d" % gid, "links %d" % links, "mtime " + time]
    if type == tarfile.REGTYPE:
        facts += ["size %d" % len(data), "data %d" % zlib.crc32(data)]
    if type == tarfile.SYMTYPE:
        facts += ["size %d" % len(target.encode()), "target " + esc(target.encode())]
    if type in (tarfile.CHRTYPE, tarfile.BLKTYPE):
        facts.append("dev %d:%d" % dev)
    facts += ["xattr %s %s" % (n, v.encode().hex()) for n, v in xattrs]
    facts += ["xattr system.posix_acl_%s %s" % (n, raw.hex()) for n, _, raw in acls]
    facts_of[path] = facts

path_of, facts_of = {}, {}
def acl(*entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)
none = 0xFFFFFFFF
access = ("access", "user::rw-,user:1000:r--,group::r--,mask::r--,other::---", acl((1, 6, none), (2, 4, 1000), (4, 4, none), (16, 4, none), (32, 0, none)))
default = ("default", "user::rwx,group::r-x,other::---", acl((1, 7, none), (4, 5, none), (32, 0, none)))
values = [("user.one", "1"), ("security.label", "t"), ("trusted.x", "y" * 300)]
if sys.argv[2] != "few":
    values.append(("user.block", "b" * 1500))
if sys.argv[2] == "ea_inodes":
    values.append(("user.huge", "h" * 9000))
add("d", tarfile.DIRTYPE, 0o2755, links=3, acls=[default], xattrs=[("user.of_a_directory", "v")])
add("d/empty", data=b"")
add("d/tiny", data=b"tiny", mode=0o4711)
add("d/inline", data=bytes(range(150)), xattrs=[("user.s", "s")])
add("d/values", data=b"x" * 5000, xattrs=values)
add("d/acl", data=b"y", mode=0o640, acls=[access])
add("d/large", data=bytes((i * i >> 7) % 256 for i in range(300000)), links=3)
add("d/second", tarfile.LNKTYPE, target="d/large")
add("third", tarfile.LNKTYPE, target="d/large")
add("d/zeros", data=b"begin" + bytes(200000) + b"end")
add("n" * 255, data=b"long name")
add("é\\ \t\n", data=b"name of other bytes")
add("fast", tarfile.SYMTYPE, 0o777, target="d/large")
add("slow", tarfile.SYMTYPE, 0o777, target="t" * 1000)
add("to_dir", tarfile.SYMTYPE, 0o777, target="/d/./../d")
add("circle", tarfile.SYMTYPE, 0o777, target="circle")
add("null", tarfile.CHRTYPE, dev=(1, 3))
add("block", tarfile.BLKTYPE, dev=(4000, 1000000))
add("fifo", tarfile.FIFOTYPE)
add("early", time="-86400.000000000")
add("late", time="5000000000.500000000")
add("d/many", tarfile.DIRTYPE, 0o755, links=2)
for i in range(1200):
    add("d/many/name_of_a_file_%d" % i)
for path, target in path_of.items():
    facts_of[path] = facts_of[target]
tar.close()
for path, facts in facts_of.items():
    for f in facts:
        if f.startswith("mtime 5000000000") and "-I 128" in sys.argv[3]:
            continue
        if "-I 128" in sys.argv[3] and f.startswith("mtime"):
            f = f.split(".")[0] + ".000000000"
        print("/%s %s" % (esc(path.encode()), f))
END

while read -r values options; do
	python3 make.py a.tar "$values" "$options" | sort >wanted
	# shellcheck disable=SC2086
	rm -f img
	mkfs -q $options -d a.tar img 32M
	show -j 4 img
	equal "mkfs $options: is read, by four threads alike" "$RC $(cat .err)" "0 "
	equal "  all that the archive has" "$(sort out | comm -13 - wanted | head -n 5)" ""
	equal "  no other names" "$(sed -n 's/ ino [0-9]*$//p' out | grep -v '^$\|^/lost+found$' | sort)" "$(sed -n 's/ uid [0-9]*$//p' wanted | sort)"
	equal "  no other attributes" "$(grep -c ' xattr ' out)" "$(grep -c ' xattr ' wanted)"
	equal "  no failure" "$(grep -c ' error ' out)" 0
done <<'OPTIONS'
block -t ext4
few -t ext2 -I 128 -b 1024
block -t ext4 -O inline_data -I 1024
ea_inodes -t ext4 -O ea_inode
block -t ext4 -O bigalloc -C 16384
block -t ext3 -b 4096
OPTIONS

# The programs that readers copy.
rm img
mkfs -q -t ext4 -d a.tar img 32M
"$XW_BUILD/example_list" img >list
equal "list: names, sizes and inodes" "$(sort list)" "$("$BIN/xw-export" -t --json img |
	python3 -c '
import json, sys
kinds = {"file": 0o100000, "directory": 0o40000, "symlink": 0o120000, "character device": 0o20000, "block device": 0o60000, "fifo": 0o10000}
print("%06o 16384 11 /lost+found" % 0o40700)
for f in json.load(sys.stdin)["files"]:
    if f["path"] != ".":
        print("%06o %d %d /%s" % (kinds[f["type"]] | f["mode"], f["size_bytes"], f["inode"], f["path"]))' | sort)"
is "read: the contents of a file, through symbolic links" cmp <("$XW_BUILD/example_read" img to_dir/../fast) <(tar xOf a.tar d/large)
for path in nothing d/large/x '' circle d; do
	"$XW_BUILD/example_read" img "$path" >out 2>.err
	echo "$? $(cat .err)"
done >.is
equal "read: what has no contents" "$(cat .is)" '1 img: no such file in the image: "nothing"
1 img: no such file in the image: "d/large/x"
1 img: no such file in the image: ""
1 img: inode '"$(awk '$4 == "/circle" { print $3 }' list)"': too many symbolic links
1 img: inode '"$(awk '$4 == "/d" { print $3 }' list)"' is not a regular file'

equal "libextwright(3) has the second of them" "$(sed -n '/^\.Sh EXAMPLES/,/^\.Ed/p' "$XW_SRC/man/libextwright.3" | sed '1,/^\.Bd/d; /^\.Ed/d; s/\\e/\\/g')" \
	"$(sed 1,2d "$XW_SRC/tests/examples/read.c")"

# In a part of a file.
{ head -c 1048576 /dev/urandom && cat img; } >disk
show img
mv out plain
show -o -E=offset=1048576 disk
is "offset" cmp -s out plain
show -o -E=offset=4096 disk
equal "offset: another place" "$RC $(cat out)" "1  error open -10 disk: not an ext2, ext3 or ext4 filesystem"
show -o -E=size=4096 disk
equal "other options are refused" "$RC $(cat out)" '1  error open -2 -E: "size=4096" is not offset=BYTES'

# A damaged superblock and a backup.
"$MKFS" -q --replace -b 1024 -O ^has_journal,ea_inode -L backup -d a.tar many 32M 2>.err || cat .err
show many
mv out intact
"$BIN/xw-dump" many 2>/dev/null | sed -n 's/.*[Bb]ackup superblock at \([0-9]*\).*/\1/p' | head -1 >where
backup=$(cat where)
cp many torn
head -c 4096 /dev/urandom | dd of=torn bs=1024 seek=1 conv=notrunc 2>/dev/null
show torn
equal "a damaged superblock" "$RC $(sed 's/ filesystem.*/ filesystem/' out)" '1  error open -10 torn: not an ext2, ext3 or ext4 filesystem'
for option in "-o -b=$backup" "-o -b=$backup -o -B=1024"; do
	show $option torn
	cmp out intact 2>&1 && continue
	diff out intact | head -5
done >.is
equal "  -b, with and without -B: all through its backup" "$(cat .is)" ""
for option in "-b=$((backup + 1))" -b=0 -b=x -B=1000 -B=x "-b=$backup -o -B=4096"; do
	show -o $option torn
	cat out
done >.is
equal "  what is refused" "$(cat .is)" " error open -10 torn: no superblock in block $((backup + 1))
 error open -2 -b 0: must be a number from 1 to 281474976710655
 error open -2 -b x: must be a number from 1 to 281474976710655
 error open -2 -B 1000: must be a number from 1024 to 65536
 error open -2 -B x: must be a number from 1024 to 65536
 error open -10 torn: no superblock with blocks of 4096 bytes in block $backup"

# What is no filesystem.
head -c 100 a.tar >short
for file in a.tar short missing /; do
	show "$file"
	echo "$RC $(sed 's/ filesystem.*/ filesystem/' out)"
done >.is
equal "what is no image" "$(cat .is)" '1  error open -10 a.tar: not an ext2, ext3 or ext4 filesystem
1  error open -10 short: too small to hold an ext2, ext3 or ext4 filesystem
1  error open -14 missing: cannot open: No such file or directory
1  error open -10 /: not a regular file or block device'

# Damage: the first block of a large directory, an extent block, an attribute block. All else is read.
at() { sed -n "s|^$1 extent 0 \([0-9]*\) .*|\1|p" plain; }
cp img hurt
printf 'XXXXXXXX' | dd of=hurt bs=1 seek="$(($(at /d/many) + 4096 + 40))" conv=notrunc status=none
show -j 3 hurt
equal "a damaged directory block: read by all threads" "$RC" 0
equal "  its failure" "$(grep ' error ' out | sed 's/inode [0-9]*/inode N/')" "/d/many error list -8 hurt: directory inode N: block 1: checksum mismatch"
lost=$(sort plain | comm -23 - <(sort out))
equal "  some names are lost" "$(($(grep -c ' ino ' <<<"$lost") > 10 && $(grep -c ' ino ' <<<"$lost") < 300))" 1
equal "  and no others" "$(grep -vc '^/d/many/' <<<"$lost")" 0
show -o --ignore-checksums hurt
equal "  --ignore-checksums: another failure, or none" "$(grep -c ' error .*checksum' out)" 0
cp img hurt
"$BIN/xw-debugfs" -w -R 'sif d/values file_acl 5' -R 'sif d/large block[0] 5' hurt >/dev/null 2>&1
show hurt
equal "a damaged map and attributes: what cannot be read" "$(grep ' error ' out | sed 's/inode [0-9]*/inode N/; s/\(error [a-z]* -[0-9]*\).*/\1/' | sort -u)" \
	"/d/large error data -7
/d/large error extents -7
/d/second error data -7
/d/second error extents -7
/d/values error xattrs -7
/third error data -7
/third error extents -7"
equal "  what is" "$(sort out | grep -v '^/third \|^/d/second ' | comm -13 - <(sort plain) | grep -v ' xattr ' | sed 's/ .*//' | sort -u)" "/d/large
/d/second
/third"

# A field that has no meaning without bigalloc, where nothing has a checksum.
mkfs -q -t ext2 -b 2048 plain.img 8M
"$BIN/xw-debugfs" -w -R 'ssv log_cluster_size 0xffffffff' plain.img >/dev/null 2>&1
show plain.img
equal "clusters are blocks without bigalloc" "$RC $(grep -o '"cluster_size_bytes":[0-9]*' out)" '0 "cluster_size_bytes":2048'

# Inodes by number.
show -i 8 -i 0 -i 99999999 -i 7 img
equal "inodes without a name, and none" "$(grep '^[0-9][0-9]* \(mode\|error\)' out)" "8 mode 100600
0 error stat -14 img: no inode 0; there are $(sed -n 's/.*"inodes":\([0-9]*\).*/\1/p' out)
99999999 error stat -14 img: no inode 99999999; there are $(sed -n 's/.*"inodes":\([0-9]*\).*/\1/p' out)
7 mode 100600"
done_testing 50
