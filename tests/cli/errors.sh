#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What can go wrong while filling: one clear line, status 1, and a new image removed.
. "$(dirname "$0")/lib.sh"

make_tree tree
make_tar tree good.tar
gzip -c good.tar >good.tar.gz

refused() { # DESCRIPTION REGEX MKFS-ARGUMENT...
	local what=$1 want=$2
	shift 2
	rm -f img
	mkfs "$@"
	fails 1 "$want" "$what"
	is "  no image is left" gone img
}

refused "a missing source" "/no/such/source.*No such file" -d /no/such/source img
refused "a missing source with SIZE" "/no/such/source.*No such file" -d /no/such/source img 64M

size=$(stat -c %s good.tar)
for cut in 100 512 700 5000 $((size / 2)) $((size / 2 + 300)); do
	head -c "$cut" good.tar >cut.tar
	refused "a tar cut at $cut" "cut.tar" -d cut.tar img
	refused "  the same with SIZE" "cut.tar" -d cut.tar img 64M
	rm -f img
	RC=0
	cat cut.tar | "$MKFS" -d - img >.out 2>.err || RC=$?
	T_ARGS="-d - img"
	fails 1 "" "  the same through a pipe"
	is "    no image is left" gone img
done
head -c $(($(stat -c %s good.tar.gz) - 20)) good.tar.gz >cut.tar.gz
refused "a gzip that ends early" "cut.tar.gz" -d cut.tar.gz img
cp good.tar.gz bad.tar.gz
printf '\377\377\377\377\377\377\377\377' | dd of=bad.tar.gz bs=1 seek=1500 conv=notrunc status=none
refused "a gzip with damaged bytes" "bad.tar.gz" -d bad.tar.gz img
# A header in the middle whose checksum is wrong: what follows cannot be trusted.
magic=$(grep -abo ustar good.tar | sed -n 20p | cut -d: -f1)
cp good.tar hdr.tar
printf 'x' | dd of=hdr.tar bs=1 seek=$((magic - 257 + 100)) conv=notrunc status=none
refused "a damaged header" "hdr.tar" -d hdr.tar img
seq 1 100000 >text
refused "text is not an archive" "text" -d text img
# Images are no archives, not even those that begin with zeros.
for type in ext2 ext3 ext4; do
	rm -f other.img
	mkfs -q -t $type other.img 8M
	refused "an $type image as a source" "other.img: is an $type image, not an archive" -d other.img img
	gzip -cn other.img >other.img.gz
	refused "  compressed" "other.img.gz: is an $type image, not an archive" -d other.img.gz img
done
while IFS='|' read -r at magic what; do
	head -c 200000 /dev/zero >other.img
	# shellcheck disable=SC2059
	printf "$magic" | dd of=other.img bs=1 seek="$at" conv=notrunc status=none
	refused "$what as a source" "other.img: is $what, not an archive" -d other.img img
done <<'TABLE'
0|hsqs|a squashfs image
0|XFSB|an XFS image
512|EFI PART|a disk image with partitions
1024|\342\341\365\340|an EROFS image
4086|SWAPSPACE2|a swap image
65600|_BHRfS_M|a Btrfs image
TABLE
head -c 100000 /dev/urandom >junk
refused "junk is not an archive" "junk: neither a directory nor an archive" -d junk img
: >empty
refused "an empty file, as in tar" "empty: empty, not an archive" -d empty img
head -c 100000 /dev/zero >zeros
rm -f img
mkfs -q -d zeros img
works "zeros are an archive without members"
rm -f img

# What input claims to be does not make programs run.
mkdir path
for kind in lrzip grzip lzop; do
	printf '#!/bin/sh\ntouch %s/ran\nexec cat\n' "$T" >path/$kind
	chmod 755 path/$kind
done
while IFS='|' read -r kind magic; do
	# shellcheck disable=SC2059
	{ printf "$magic" && head -c 2000 /dev/zero; } >packed
	rm -f img
	(PATH=$T/path:$PATH && mkfs -d packed img && exit "$RC")
	RC=$?
	equal "a file of $kind: status" "$RC" 1
	is "  it is named" grep -q "packed: is a file of $kind" .err
	is "  no program is run" gone ran
done <<'TABLE'
lrzip|LRZI\000\006
grzip|GRZipII\000\002\004:)
lzop|\211LZO\000\r\n\032\n\020\000\040\000
TABLE

if [ "$(stat -c %d /dev)" != "$(stat -c %d /)" ]; then
	refused "a device that is not there" "no such device" -d good.tar /dev/xw-no-such-device
else
	skip "a device that is not there" "/dev is no filesystem of its own" 2
fi

# A source that cannot be read: reading /proc/self/mem at 0 gives EIO.
refused "a read error" "/proc/self/mem" -d /proc/self/mem img
if ! is_root; then
	mkdir locked && printf x >locked/file && chmod 000 locked/file
	refused "an unreadable file in a directory" "locked/file.*[Pp]ermission" -d locked img
else
	skip "an unreadable file in a directory" "root reads it" 2
fi

# Too small: says by how much.
refused "an image too small for the data" "(too small|does not fit|no space|needs?|short)" -d good.tar img 1M
is "  with a number" grep -Eq '[0-9]' .err
diag "$(cat .err)"
refused "too few inodes" "inode" -N 50 -d good.tar img 64M
diag "$(cat .err)"
for size in 1T 70T; do
	refused "--free $size without SIZE" "--free: .* more than the 4096 groups .134217728 blocks of 4096 bytes" --free $size -d tree img
done
refused "an image too small for a filesystem" "." img 16k

# The host is full: a small tmpfs.
if is_root && mkdir full && mount -t tmpfs -o size=1M none full 2>/dev/null; then
	at_end "umount '$T/full'"
	mkfs -d good.tar full/img
	fails 1 "full/img" "the host filesystem is full"
	is "  no image is left" gone full/img
	mkfs -d good.tar full/img 64M
	fails 1 "full/img" "the same with SIZE"
	is "  no image is left" gone full/img
	umount full
else
	skip "the host filesystem is full" "needs root for a small tmpfs"
fi
if [ -e /dev/full ]; then
	mkfs -F /dev/full 8M
	fails 1 "/dev/full" "/dev/full is not an image"
else
	skip "/dev/full is not an image" "there is no such device" 1
fi

# Archives that lie about names.
python3 - <<'PY' 2>/dev/null || skip "odd archives" "python3 is not installed"
import io, tarfile
def make(name, *entries):
    with tarfile.open(name, 'w', format=tarfile.PAX_FORMAT) as t:
        for e in entries:
            i = tarfile.TarInfo(e[0])
            i.type = e[1]
            if e[1] in (tarfile.LNKTYPE, tarfile.SYMTYPE):
                i.linkname = e[2]; t.addfile(i)
            elif e[1] == tarfile.DIRTYPE:
                i.mode = 0o755; t.addfile(i)
            else:
                d = e[2]; i.size = len(d); t.addfile(i, io.BytesIO(d))
R, L, S, D = tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.DIRTYPE
make('dangling.tar', ('a', L, 'nothing-there'))
make('long.tar', ('x' * 256, R, b'x'))
make('dotdot.tar', ('../../up', R, b'up'), ('/abs', R, b'abs'), ('a/../b', R, b'b'))
make('link.tar', ('out', S, '/etc'), ('out/passwd', R, b'inside'))
PY
# What one file or directory can have is limited: the source is named, and the name in it.
python3 - <<'PY' 2>/dev/null || skip "limits of a file" "python3 is not installed"
import io, tarfile
def headers(count, name, kind, linkname=''):
    """The headers of members without contents: they differ in the name and in the checksum."""
    i = tarfile.TarInfo(''); i.type = kind; i.linkname = linkname
    head = bytearray(i.tobuf(tarfile.USTAR_FORMAT))
    head[0:100] = bytes(100); head[148:156] = b' ' * 8
    total = sum(head)
    for n in range(count):
        of = (name % n).encode()
        yield b'%s%s%06o\0 %s' % (of.ljust(100, b'\0'), head[100:148], total + sum(of), head[156:])
with open('links.tar', 'wb') as t:
    t.write(tarfile.TarInfo('dir/much-linked').tobuf(tarfile.USTAR_FORMAT))
    t.writelines(headers(65000, 'dir/link%d', tarfile.LNKTYPE, 'dir/much-linked'))
    t.write(bytes(1024))
with open('dirs.tar', 'wb') as t:
    t.writelines(headers(64999, 'many/d%d', tarfile.DIRTYPE))
    t.write(bytes(1024))
PY
if [ -e dirs.tar ]; then
	refused "65,001 links" "links.tar: /dir/(much-linked|link[0-9]+): 65001 links" -d good.tar -d links.tar img
	refused "65,001 directories without dir_nlink" "dirs.tar: /many: 65001 links" -O ^dir_nlink -d good.tar -d dirs.tar img
	rm -f links.tar dirs.tar
fi
if [ -e link.tar ]; then
	refused "a hard link to nothing" "hard link" -d dangling.tar img
	refused "a name of 256 bytes" "(255|long)" -d long.tar img
	mkfs -q -d dotdot.tar img
	equal "names with .. and absolute names stay inside" "$RC" 0
	clean img "  and the image is clean"
	rm -f img
	mkfs -q -d link.tar img
	equal "a parent that is a symlink resolves inside the image" "$RC" 0
	clean img "  and the image is clean"
fi

# What the user named is shown as one line that no terminal obeys.
odd=$(printf 'two\nlines\033[31m')
import "$odd"
equal "an odd name in a message" "$(head -n 1 .err)" "xw-import: two\\012lines\\033[31m: nothing to import: a directory, an archive, or - is missing"
done_testing 121
