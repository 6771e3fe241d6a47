#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Little stack (ulimit -s) and few descriptors (ulimit -n): with status 0 all is done, with another one a message says
# why, no tool dies by a signal, and no half-made file is left.
. "$(dirname "$0")/lib.sh"

mkdir -p tree/sub
for i in 1 2 3 4 5; do seq 1 $((i * 300)) >tree/sub/f$i; done
ln tree/sub/f1 tree/link
make_tar tree some.tar
gzip -1 -c some.tar >some.tar.gz
mkfs -q --free 4M -d some.tar image
works "an image to work on"
cp image changed
run_tool "$BIN/xw-tune" /dev/null -q -z undo -L other changed
works "  changed, with an undo file"
# an archive for libarchive
command -v python3 >/dev/null && python3 -m zipfile -c some.zip tree
zip=
[ ! -e some.zip ] || zip="mkfs -q -d some.zip new.img"

printf '%s\n' 'mkdir /made' 'write some.tar /made/tar' 'rm /link' >edits
printf '%s\n' 'ls -l /sub' 'ncheck 12' 'icheck 200' 'rdump /sub new' 'xattr_share' 'stats' >walks

# under LETTER LIMIT TOOL ARGS...: the tool under a limit; what it says is in .both.
under() {
	RC=0
	(ulimit "-$1" "$2" && exec "$BIN/xw-$3" "${@:4}") </dev/null >.both 2>&1 || RC=$?
}

# ---- stack ----

for kib in 64 96 128; do
	dead=
	while read -r tool args; do
		[ -n "$tool" ] || continue
		cp image img
		[ "$tool" != undo ] || cp changed img
		rm -rf new new.img out.tar
		mkdir new
		# shellcheck disable=SC2086
		under s $kib "$tool" $args
		[ $RC = 0 ] || dead+="xw-$tool $args: status $RC: $(head -n 1 .both); "
	done <<-END
		$zip
		mkfs -q -d tree new.img
		mkfs -q -d some.tar new.img
		mkfs -q -d some.tar.gz new.img
		import -q img tree
		import -q img some.tar.gz
		export -q -o out.tar img
		export -q -z -o out.tar img
		export -q --format gnu -o out.tar img
		export -q --format newc -o out.tar img
		export -q -o out.tar img sub/f*
		undo undo img
		export -q -x new img
		fsck -fn img
		fsck -fy img
		debugfs -w -f edits img
		debugfs -f walks img
		dump img
		freefrag img
		tune -q -L name img
		tune -q -I 512 img
		age -q --profile pazdera --files 50 --ops 300 img
	END
	equal "ulimit -s $kib: every tool works" "$dead" ""
done

# Depths that an image decides: values in EA inodes that have such values, and directories.
mkdir -p "deep/$(printf 'd/%.0s' {1..200})"
mkfs -q -b 1024 -O ea_inode -N 2000 -d deep deep.img 16M
works "an image with deep directories"
head -c 1500 /dev/zero | tr '\0' a >value
run_tool "$BIN/xw-debugfs" /dev/null -w -R "write value /file" deep.img
first=$("$BIN/xw-debugfs" -R "stat /file" deep.img | sed -n 's/^Inode: \([0-9]*\).*/\1/p')
for ((i = first; i < first + 500; i++)); do echo "ea_set -f value <$i> user.value"; done >chain
run_tool "$BIN/xw-debugfs" /dev/null -w -f chain deep.img
for kib in 64 128; do
	rm -rf new
	mkdir new
	cp deep.img img
	under s $kib debugfs -R "rdump /d new" img
	equal "ulimit -s $kib: rdump of 200 directories, one in the other" "$RC $(find new -type d | wc -l)" "0 201"
	under s $kib debugfs -w -R "rm /file" img
	equal "  a file with a chain of 500 values is removed" "$RC $("$FSCK" -fn img | sed -n 's,^img: \([0-9]*\)/.*,\1,p')" "0 $((first - 1))"
done

# ---- descriptors ----

agrees() { # WHAT FILE TEST...: the file is whole if the status is 0, and absent otherwise, with a message
	local what=$1 file=$2
	shift 2
	if [ $RC = 0 ]; then
		"$@" >.is 2>&1 || wrong+="$what: status 0, and $file is not whole; "
	else
		[ ! -e "$file" ] || wrong+="$what: status $RC, and $file is there; "
		[ -s .both ] || wrong+="$what: status $RC without a message; "
		[ $RC -lt 124 ] || [ $RC = 127 ] || wrong+="$what: status $RC; "
	fi
}
whole() { "$FSCK" -fn "$1"; }

wrong='' done_some=0
for n in 3 4 5 6 7 8 10 12; do
	for how in "new.img 16M" "-d tree new.img" "-d some.tar new.img" "--replace -d some.tar new.img"; do
		rm -f new.img
		# shellcheck disable=SC2086
		under n $n mkfs -q $how
		agrees "ulimit -n $n: xw-mkfs $how" new.img whole new.img
		[ $RC != 0 ] || done_some=$((done_some + 1))
	done
	rm -f out.tar
	under n $n export -q -o out.tar image
	agrees "ulimit -n $n: xw-export -o" out.tar tar -tf out.tar
	cp image img
	under n $n import -q img some.tar
	[ $RC = 0 ] || cmp -s image img || wrong+="ulimit -n $n: xw-import: status $RC, and the image is another one; "
	[ $RC = 0 ] || [ -s .both ] || wrong+="ulimit -n $n: xw-import: status $RC without a message; "
	whole img >.is 2>&1 || wrong+="ulimit -n $n: xw-import: the image is not whole; "
done
equal "ulimit -n: status, message and file agree" "$wrong" ""
is "  some descriptors suffice" test $done_some -ge 8
equal "  nothing else is left" "$(ls -A | grep -vE '^(\.(out|err|is|both|fsck)|tree|edits|walks|some\.tar|some\.tar\.gz|some\.zip|undo|changed|deep|deep\.img|value|chain|image|img|new|new\.img|out\.tar)$')" ""
done_testing 13
