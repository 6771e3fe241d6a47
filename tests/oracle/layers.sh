#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Layers with OCI whiteouts: what xw-mkfs -d A -d B -d C and xw-import IMAGE A B C make is what an unpacker
# written from the specification makes of the same tars. XW_SEEDS: how many random sets of layers (8).
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 >/dev/null || skip_all "needs python3"
unpack=$XW_SRC/tests/oracle/oci_unpack.py

# Tars by hand: member order matters, so each is packed name by name.
layer() { # NAME: from the directory of that name, members in the order of standard input
	tar -C "$1" --no-recursion --owner 0 --group 0 -cf "$1.tar" -T -
}
mkdir -p a/etc a/lib/old/deep a/usr a/opaque/sub a/twice a/gone/below a/data a/was-file.d a/mix
echo conf >a/etc/conf; echo other >a/etc/other; echo x >a/lib/old/deep/x; seq 1 40000 >a/data/large
ln a/data/large a/data/hard; ln -s ../lib a/usr/lib; echo o >a/opaque/o; echo s >a/opaque/sub/s
echo t >a/twice/t; echo g >a/gone/below/g; echo f >a/becomes-dir; mkdir a/becomes-file; echo i >a/becomes-file/i
echo keep >a/mix/keep; echo hide >a/mix/hide; echo same >a/mix/same
(cd a && find . | sort) | layer a

mkdir -p b/etc b/usr/lib b/opaque/sub b/twice b/mix b/becomes-dir b/data
: >b/etc/.wh.other; echo conf2 >b/etc/conf; echo new >b/usr/lib/new
: >b/opaque/.wh..wh..opq; echo late >b/opaque/late; echo s2 >b/opaque/sub/s2
: >b/twice/.wh.t; echo mine >b/twice/t                  # hides the lower one, brings its own
: >b/mix/.wh.hide; : >b/mix/.wh.same; echo own >b/mix/same
: >b/.wh.gone; echo y >b/becomes-dir/y; echo was a directory >b/becomes-file
seq 5 60000 >b/data/large
: >b/.wh.never-was
cat <<-'END' | layer b
	etc/.wh.other
	etc/conf
	usr/lib/new
	opaque/late
	opaque/sub
	opaque/sub/s2
	opaque/.wh..wh..opq
	twice/.wh.t
	twice/t
	mix/same
	mix/.wh.same
	mix/.wh.hide
	.wh.gone
	.wh.never-was
	becomes-dir
	becomes-dir/y
	becomes-file
	data/large
END

mkdir -p c/opaque c/data c/becomes-dir
: >c/data/.wh.large; : >c/becomes-dir/.wh..wh..opq; echo back >c/gone; ln -s gone c/opaque/to-gone
mkdir c/usr; : >c/usr/.wh.lib
cat <<-'END' | layer c
	gone
	data/.wh.large
	becomes-dir
	becomes-dir/.wh..wh..opq
	opaque/to-gone
	usr/.wh.lib
END

listed() { (cd "$1" && find . ! -path . ! -path ./lost+found -printf '%p %y %l %n\n' | sed 's/ d  [0-9]*$/ d/' | sort); }
content() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0r sha256sum); }
same() { # IMAGE DIRECTORY
	rm -rf out && mkdir out && "$EXPORT" -o - "$1" 2>.err | tar -C out -xpf - && rm -rf out/lost+found
	diff <(listed "$2") <(listed out) && diff <(content "$2") <(content out)
}

for set in "a" "a b" "a b c" "b c" "a c" "c b a"; do
	tars=() d=()
	for l in $set; do tars+=("$l.tar") d+=(-d "$l.tar"); done
	rm -rf want img grown && mkdir want
	is "$set: the unpacker" python3 "$unpack" want "${tars[@]}"
	mkfs -q --whiteouts apply "${d[@]}" img
	equal "$set: xw-mkfs" "$RC" 0
	is "$set: is what it unpacked" same img want
	[ -x "$IMPORT" ] || continue
	mkfs -q -d a.tar grown 64M
	is "$set: xw-import over a" "$IMPORT" -q grown "${tars[@]}"
	rm -rf want && mkdir want && python3 "$unpack" want a.tar "${tars[@]}"
	is "$set: is what it unpacked" same grown want
	clean grown "$set: e2fsck"
done

# The end is no larger than the same tree at once, but for what had been written already.
mkfs --json -d a.tar -d b.tar -d c.tar layered
replaced=$(sed -n 's/.*"replaced_blocks": *\([0-9]*\).*/\1/p' .out)
rm -rf want && mkdir want && python3 "$unpack" want a.tar b.tar c.tar && tar -C want --owner 0 --group 0 -cf once.tar .
mkfs -q -d once.tar once
diag "layers $(stat -c %s layered), at once $(stat -c %s once), replaced $replaced blocks"
is "what was replaced is said" [ "${replaced:-0}" -gt 0 ]
is "no larger than that" [ "$(stat -c %s layered)" -le $(($(stat -c %s once) + replaced * 4096)) ]

# overlayfs's own forms
mkfs -q --whiteouts overlay -d b.tar over
works "--whiteouts overlay"
"$EXPORT" -t -v over >list
is "  a whiteout is a device 0:0" grep -Eq '^c.* 0, *0 .*etc/other' list
if can_loop && command -v getfattr >/dev/null; then
	mkdir -p mnt && at_end "umount mnt" && mount -o loop,ro over mnt
	is "  an opaque directory says so" [ "$(getfattr -n trusted.overlay.opaque --only-values mnt/opaque 2>/dev/null)" = y ]
	is "  and only that" [ -z "$(getfattr -n trusted.overlay.opaque --only-values mnt/etc 2>/dev/null)" ]
else
	skip "  an opaque directory says so" "no root, loop devices or getfattr here" 2
fi

# Names of "." and "..", which no marker hides.
for name in sub/.wh.. sub/.wh...; do
	mkdir -p dots/sub && : >"dots/$name" && (cd dots && find sub | sort) | layer dots
	for how in apply overlay; do
		mkfs --whiteouts "$how" -d dots.tar dotted 16M
		fails 1 "dots.tar: $name: whiteout of" "$how: $name is refused"
	done
	rm -r dots
done

# The root's lost+found is the filesystem's.
mkdir top && : >top/.wh..wh..opq && : >top/.wh.lost+found && (cd top && find . -type f | sort) | layer top
for how in apply overlay; do
	rm -f grown && mkfs -q -d a.tar grown 64M
	import -q --whiteouts "$how" grown top.tar
	equal "$how: what hides everything leaves lost+found" "$("$BIN/xw-debugfs" -R 'ls -p /' grown | cut -d/ -f6 | xargs)" ". .. lost+found"
	clean grown "  e2fsck"
done

# Random ones, where names meet in ways that nobody thought of.
overlayfs() {
	mkdir -p l u m && mount -t overlay -o ro,lowerdir=l:u overlay m 2>/dev/null && umount m
}
random() { python3 "${unpack%/*}/layers_random.py" "$MKFS" "$IMPORT" "$EXPORT" "$1" 1 "${XW_SEEDS:-8}"; }
is "random layers" random apply
if can_loop && overlayfs; then
	is "random layers under overlayfs" random overlay
else
	skip "random layers under overlayfs" "needs root and overlayfs" 1
fi
done_testing 52
