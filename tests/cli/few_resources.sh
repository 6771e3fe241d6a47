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

# container images, where they are supported
oci=()
if command -v python3 >/dev/null && mkdir images && python3 "$KIT/oci_make.py" images >.is 2>&1; then
	mkfs -q -d images/oci-gzip new.img
	[ "$RC" != 0 ] || oci=(images/save-old.tar images/save-new.tar images/archive.tar images/archive.tar.gz images/oci-gzip)
fi
mkfs -q -j -d some.tar journal.img 16M
works "an image with a journal"
cp image bad
run_tool "$DEBUGFS" /dev/null -w -R 'set_inode_field /sub/f2 links_count 7' bad
printf '%s\n' 'create a/f 5000' 'append a/f 70000' 'rename a/f a/g' >trace
printf '/sub/f2 0 0 0640\n' >fsconfig
printf '/sub/null c 666 0 0 1 3 0 0 -\n' >devices

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
		cp journal.img j
		[ "$tool" != undo ] || cp changed img
		rm -rf new new.img out.tar undo2
		mkdir new
		cp bad .bad
		# shellcheck disable=SC2086
		under s $kib "$tool" $args
		[ $RC = 0 ] || [ "$tool $RC ${args##* }" = "fsck 1 .bad" ] || dead+="xw-$tool $args: status $RC: $(head -n 1 .both); "
	done <<-END
		$zip
		$(for i in ${oci[@]+"${oci[@]}"}; do echo "mkfs -q -d $i new.img"; echo "import -q img $i"; done)
		mkfs -q --fs-config fsconfig --device-table devices -d some.tar new.img
		mkfs -q -z undo2 -t ext4 -O quota,itree,casefold new.img 16M
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
		export -q -j -o out.tar img
		export -q -J -o out.tar img
		export -q --zstd --order disk -o out.tar img
		export -t -v img
		export -q -x new img
		export -q --order disk -x new img
		fsck -fn img
		fsck -fy img
		fsck -fy -z undo2 .bad
		debugfs -w -f edits img
		debugfs -f walks img
		debugfs -R logdump j
		dump img
		freefrag img
		tune -q -L name img
		tune -q -O itree img
		tune -q -O ^metadata_csum img
		tune -q -I 512 img
		tune -q --commit journal -L name j
		age -q --profile trace:trace img
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
# Every tool under few descriptors, against the same run with enough of them.
xw() { (ulimit -n "$FEW" && exec "$BIN/xw-$1" "${@:2}"); }
what_is() {
	cksum img j .bad new.img out.tar undo2 2>/dev/null
	find new -type f -exec cksum {} + 2>/dev/null | sort
	cat .said
}
once() { # LIMIT COMMAND
	FEW=$1
	rm -rf new new.img out.tar undo2
	mkdir new
	case $2 in "xw undo"*) cp changed img ;; *) cp image img ;; esac
	cp journal.img j
	cp bad .bad
	: >.said
	was=$(what_is)
	RC=0
	(set -o pipefail && eval "$2") </dev/null >.said 2>.both || RC=$?
	is=$(what_is)
}
pick() { for i in ${oci[@]+"${oci[@]}"}; do echo "$1 $i ${2-}"; done; }
ID=12345678-1234-1234-1234-123456789abc U="-U $ID -E hash_seed=$ID"
export SOURCE_DATE_EPOCH=1700000000 TMPDIR=$T/tmp
mkdir tmp
wrong='' rows=0 done_some=0
while IFS= read -r command; do
	rows=$((rows + 1))
	once 100 "$command"
	enough=$RC all=$is
	[ "$all" != "$was" ] || wrong+="$command: does nothing; "
	for n in 3 4 5 6 7 8 10 12; do
		once $n "$command"
		what="ulimit -n $n: $command: status $RC"
		if [ $RC = $enough ] && [ "$is" = "$all" ]; then
			done_some=$((done_some + 1))
		elif [ $RC = $enough ]; then
			wrong+="$what, with another result; "
		elif [ $RC -ge 124 ] && [ $RC != 127 ]; then
			wrong+="$what; "
		elif [ ! -s .both ]; then
			wrong+="$what without a message; "
		else
			# what was extracted is partial; what was printed may be
			: >.said
			rm -rf new
			case $command in *">out.tar") rm -f out.tar ;; esac
			case $command in *"debugfs -w -f"*) ;; *) [ "$(what_is)" = "$was" ] || wrong+="$what, and something has changed; " ;; esac
			[ ! -e undo2 ] || wrong+="$what, and an undo file is there; "
		fi
	done
done <<END
xw fsck -fn img
xw fsck -fy .bad
xw fsck -fy -z undo2 .bad
xw tune -q -L name img
xw tune -q -z undo2 -L name img
xw tune -q -I 512 img
xw tune -q --commit journal -L name j
xw undo undo img
xw undo -z undo2 undo img
xw debugfs -R "rdump /sub new" img
xw debugfs -R "dump -p /sub/f5 new/f" img
xw debugfs -R "cat /sub/f5" img
xw debugfs -R "ls -l /sub" img
xw debugfs -w -R "write some.tar /t" img
xw debugfs -w -z undo2 -R "write some.tar /t" img
xw debugfs -w -f edits img
xw dump img | grep -v "^Reserved blocks [ug]id"
xw freefrag img
xw age -q --profile pazdera --files 50 --ops 300 img
xw age -q --profile trace:trace img
xw export img | cat >out.tar
xw export -z img | cat >out.tar
xw export -q -z -o out.tar img
xw export -q -J -o out.tar img
xw export -q --format newc --order disk -o out.tar img
xw export -q -x new img
xw export -q --order disk -x new img
xw export -t img
xw mkfs -q $U -z undo2 new.img 16M
xw mkfs -q $U -F -z undo2 img 16M
xw mkfs -q $U --replace -d some.tar img
xw mkfs -q $U --fs-config fsconfig --device-table devices -d some.tar new.img
cat some.tar | xw mkfs -q $U -d - new.img
cat some.tar.gz | xw mkfs -q $U -d - new.img
cat some.tar | xw import -q img -
cat some.tar.gz | xw import -q img -
xw import -q img tree
xw import -q -z undo2 img some.tar
$(pick "xw mkfs -q $U -d" new.img)
$(pick "xw import -q img")
$(pick cat "| xw mkfs -q $U -d - new.img" | grep 'tar')
END
equal "ulimit -n: every tool does all, or says why not and changes nothing" "$wrong" ""
is "  some descriptors suffice" test $done_some -ge $((rows * 4))
equal "  no temporary file is left" "$(ls -A tmp)" ""
equal "  nothing else is left" "$(ls -A | grep -vE '^(\.(out|err|is|both|fsck|bad|said)|tmp|images|j|journal\.img|bad|trace|fsconfig|devices|undo2|tree|edits|walks|some\.tar|some\.tar\.gz|some\.zip|undo|changed|deep|deep\.img|value|chain|image|img|new|new\.img|out\.tar)$')" ""
done_testing 17
