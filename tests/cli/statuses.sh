#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One fault, one exit status: what is wrong with a command line is 2, what is wrong with a file is 1, in every tool; xw-fsck has 16 and 8
# for these, as e2fsck has, and xw-tune has 1 for both, as tune2fs has. All say one line, and none makes or changes a file.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "needs python3"

mkdir -p tree
echo x >tree/file
tar -cf some.tar tree
mkfs -q -d some.tar image 4M
works "an image"
cp image changed
run_tool "$BIN/xw-tune" /dev/null -q -z undo -L other changed
works "  an undo file"
"$KIT/disk.py" disk gpt 16 1024:8192
head -c 100000 /dev/urandom >junk
: >empty
mkdir dir
mkfifo fifo
echo 'x y z w v u t s r q p' >bad

# run TOOL ARGS...: the words {} are the operand that is wrong.
run() {
	local tool=$1
	shift
	T_TOOL=xw-$tool
	run_tool timeout /dev/null -s KILL 20 "$BIN/xw-$tool" "$@"
}
# every WHAT USAGE OPTION IMAGE: all tools that open an image get the option, which may be empty, and the image.
every() {
	local what=$1 usage=$2 options=() image=$4 wrong='' want tool count=0
	[ -z "$3" ] || read -ra options <<<"$3"
	while read -r tool args; do
		cp image .was
		# shellcheck disable=SC2086
		case $tool in
		import) run import ${options[@]+"${options[@]}"} "$image" tree ;;
		undo) run undo ${options[@]+"${options[@]}"} undo "$image" ;;
		*) run "$tool" ${options[@]+"${options[@]}"} $args "$image" ;;
		esac
		case $tool:$usage in fsck:yes) want=16 ;; fsck:no) want=8 ;; tune:*) want=1 ;; *:yes) want=2 ;; *) want=1 ;; esac
		[ "$RC" = $want ] || wrong+="xw-$tool $args: status $RC, not $want: $(head -n 1 .err); "
		grep -q "^xw-$tool: " .err || wrong+="xw-$tool $args: no message; "
		cmp -s image .was || wrong+="xw-$tool $args: the image is another one; "
		count=$((count + 1))
	done <<-'END'
		fsck -n
		fsck -fy
		tune -L x
		tune -l
		undo
		debugfs -R ls
		debugfs -w -R ls
		dump
		freefrag
		age --measure
		age --profile pazdera --ops 3
		export -t
		export -o out.tar
		export -x x
		import
	END
	equal "$what: $count command lines" "$wrong" ""
}
every "an image that is missing" no "" missing
every "an image in a missing directory" no "" nodir/image
every "a path through a file" no "" image/x
every "a directory" no "" dir
every "a FIFO" no "" fifo
every "a character device" no "" /dev/null
every "random bytes" no "" junk
every "an empty file" no "" empty
every "no partition table" no "--partition 1" image
every "no such partition" no "--partition 9" disk
every "an unknown option" yes "--no-such" image
every "an offset that is no number" yes "" "image?offset=x"

# What a command line names besides the image. STATUS|TOOL ARGS...
wrong='' count=0
while IFS='|' read -r want line; do
	rm -f out.tar new
	read -ra words <<<"$line"
	run "${words[@]}"
	[ "$RC" = "$want" ] || wrong+="xw-$line: status $RC, not $want: $(head -n 1 .err); "
	[ "$(grep -c "^xw-${words[0]}: " .err)" = 1 ] || wrong+="xw-$line: not one message; "
	[ ! -e out.tar ] && [ ! -e new ] || wrong+="xw-$line: a file was made; "
	count=$((count + 1))
done < <(
	for file in missing dir; do
		for option in --fs-config --device-table --owner-map --group-map --exclude-from; do
			echo "1|mkfs -q $option $file -d some.tar new"
			echo "1|import -q $option $file image some.tar"
		done
		echo "1|mkfs -q -l $file new 4M"
		echo "1|export -q -X $file -o out.tar image"
		echo "1|export -q -T $file -o out.tar image"
		echo "1|debugfs -f $file image"
		echo "1|undo $file image"
		echo "1|age -q --profile trace:$file image"
		echo "1|age -q --profile git:$file image"
		echo "1|age -q --profile geriatrix --size-dist $file image"
	done
	for option in --fs-config --device-table --owner-map --group-map; do # malformed tables
		echo "2|mkfs -q $option bad -d some.tar new"
		echo "2|import -q $option bad image some.tar"
	done
	echo "2|mkfs -q -l bad new 4M"
	for option in --age-dist --size-dist --depth-dist; do echo "2|age -q --profile geriatrix $option bad image"; done
	for source in missing bad fifo-of-nobody; do # sources
		echo "1|mkfs -q -d $source new"
		echo "1|import -q image $source"
	done
	echo "1|age -q --profile trace:bad image"
	echo "1|undo bad image"
	echo "1|export -q -o nodir/out.tar image"
	echo "2|export -q --strip-components x -o out.tar image"
	echo "2|export -q --format zip -o out.tar image"
	echo "2|export -q -a -o out.zip image"
	for target in dir fifo; do echo "1|mkfs -q $target 4M"; done
	echo "2|mkfs -q -b 3000 new 4M"
	echo "2|mkfs -q new 4X"
	echo "2|age -q --profile none image"
	echo "2|age -q --profile pazdera --util 50 image"
	echo "2|debugfs -E offset=x -R ls image"
)
equal "$count command lines with another file or value" "$wrong" ""
# A script that cannot be read to its end: nothing is committed.
cp image img
T_TOOL=xw-debugfs
RC=0
"$DEBUGFS" -w img <dir >.out 2>.err || RC=$?
fails 1 "standard input: cannot read: Is a directory" "a script that cannot be read"
is "  the image is unchanged" cmp image img
done_testing 17
