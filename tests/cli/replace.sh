#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Whose size counts: a file that is there keeps its own, also when a run fails; --replace makes a new file, and gives
# it the name when it is whole. A rebuild with --replace is the same bytes as the first build.
. "$(dirname "$0")/lib.sh"
export SOURCE_DATE_EPOCH=1700000000
U=5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10
same=(-U $U -E hash_seed=$U)
make_tree tree
make_tar tree good.tar
head -c 300000 good.tar >cut.tar
size_of() { stat -c %s "$1"; }

# A failure costs no byte of the size, whatever was asked for.
while IFS='|' read -r args size; do
	rm -f vm.img
	truncate -s 200M vm.img
	# shellcheck disable=SC2086
	mkfs -q -d cut.tar $args vm.img $size
	fails 1 cut.tar "a source that ends early: $args vm.img $size"
	equal "  the file has its size" "$(size_of vm.img)" 209715200
done <<'TABLE'
|
-F|
|64M
|400M
-E nodiscard|
-E nodiscard|64M
-E offset=1048576|64M
-E offset=1048576|
-D|
TABLE
mkfs -q -d good.tar vm.img
works "the same command with a good source"
equal "  makes a filesystem of that size" "$(size_of vm.img)" 209715200
clean vm.img "  and clean"
mkfs -qF -d good.tar vm.img 64M
works "with a smaller SIZE"
equal "  and the file stays as long as it was" "$(size_of vm.img)" 209715200
clean vm.img "  and clean"
truncate -s 1M vm.img
mkfs -q -F -d good.tar vm.img
fails 1 "too small.*the existing file determines the size.*--replace" "too small by the size of the file: --replace is named"
equal "  which it keeps" "$(size_of vm.img)" 1048576
truncate -s 64M vm.img
mkfs -q -F -N 20 -d good.tar vm.img
fails 1 "too small.*inodes.*--replace" "too few inodes likewise"
mkfs -q -F -d good.tar vm.img 1M
fails 1 "too small.*(short\)|-N or -i)$" "but not where SIZE was given"

# --replace
mkfs -q "${same[@]}" -d good.tar one.img
cp one.img first.img
mkfs -q -d good.tar one.img
fails 1 "holds an ext4" "an image is not overwritten"
is "  and --replace is named" grep -q -e --replace .err
mkfs -q --replace "${same[@]}" -d good.tar one.img
works "--replace"
is "  the same bytes as the first time" cmp one.img first.img
chmod 640 one.img
mkfs -q -Fv --replace "${same[@]}" --free 50% -d good.tar one.img
is "--replace and --free" test "$(size_of one.img)" -gt $(($(size_of first.img) * 3 / 2))
equal "  and the mode stays" "$(stat -c %a one.img)" 640
mkfs -q --replace "${same[@]}" -d good.tar one.img 64M
equal "--replace with SIZE" "$(size_of one.img)" 67108864
sha256sum one.img >before
for args in "-d cut.tar one.img" "-d nowhere.tar one.img" "-d good.tar one.img 1M" "one.img"; do
	: >now
	ls -A >names
	# shellcheck disable=SC2086
	mkfs -q --replace $args
	is "a failure leaves the old image: --replace $args" sha256sum -c before
	ls -A >now
	is "  and nothing beside it" diff names now
done
mkfs --replace -n -d good.tar one.img
is "--replace -n" sha256sum -c before
mkfs -q --replace -d good.tar new.img
works "--replace of what is not there"
clean new.img "  and clean"
cp good.tar src.tar
sha256sum src.tar >before
mkfs -q --replace -d tree src.tar
fails 1 "holds a tar archive" "--replace: an archive is no image"
is "  and is as it was" sha256sum -c before
# Nor is anything else that somebody has made; but a file that holds nothing may go.
printf '# doc\n' >README.md
cp "$BASH" elf
truncate -s 4M late
printf x >>late
for file in README.md elf late; do
	sha256sum $file >before
	mkfs -q --replace -d good.tar $file
	fails 1 "$file: holds data other than a filesystem" "--replace of $file"
	is "  it is as it was" sha256sum -c before
	is "  and -F is named" grep -q -e -F .err
	mkfs -qF --replace -d good.tar $file
	works "  -F --replace"
	clean $file "  makes an image of it"
done
: >empty
truncate -s 4M holes
head -c 3M /dev/zero >zeros
truncate -s 9M zeros
for file in empty holes zeros; do
	mkfs -q --replace "${same[@]}" -d good.tar $file
	works "--replace of a file that holds nothing: $file"
	is "  the new image" cmp $file first.img
done
mkfs -q test.img 8M && "$BIN/xw-tune" -E test_fs test.img >.out 2>.err
mkfs -q --replace -d good.tar test.img
works "--replace of an image for tests"

mkfs -q --replace -d src.tar src.tar
fails 2 "both source and image" "--replace: the source is not the image"
ln -s new.img link
mkfs -q --replace "${same[@]}" -d good.tar link
works "--replace through a symbolic link"
is "  the link stays" test -L link
is "  and its target is the new image" cmp new.img first.img
mkfs --replace -S new.img
fails 2 "replace: not with -S" "--replace -S"
mkfs --replace -E offset=4096 new.img 8M
fails 2 "replace: not with -E offset" "--replace -E offset="
ln -s "$T/dir/far.img" dangling
mkdir dir
mkfs -q -d good.tar dangling
works "a new image through a symbolic link to nothing yet"
is "  is where it points" test -s dir/far.img

# Inside of its own source: neither the old image nor the new one goes in.
cp -a tree self
mkfs -q "${same[@]}" -d self self/a.img
touch -d @1700000000 self
mkfs -q "${same[@]}" --replace -d self self/a.img
touch -d @1700000000 self
mkfs -q "${same[@]}" --replace -d self self/a.img
is "--replace inside the source directory warns" grep -q "is the image" .err
mkfs -q "${same[@]}" --replace -d self other.img
is "  and the image does not hold itself" test "$(size_of self/a.img)" -lt $(($(size_of other.img) - 1000000))

# Who makes the same image meanwhile is not overwritten.
mkfifo pipe
exec 9<>pipe
"$MKFS" -q -d - race.img <pipe >.out 2>.err 9>&- &
pid=$!
half good.tar
wait_for has_unnamed $pid
echo mine >race.img
tail -c +500001 good.tar >&9
exec 9>&-
wait $pid
RC=$?
T_ARGS="-d - race.img"
fails 1 "race.img: created by another process" "a file that came to be there meanwhile"
equal "  stays" "$(cat race.img)" mine

# A host where a file without a name cannot be made, or cannot get one: here, one without /proc.
if is_root && unshare -m true 2>/dev/null; then
	noproc() { unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' - "$MKFS" "$@" >.out 2>.err; }
	rm -f new.img
	: >now
	ls -A >names
	noproc -q -d cut.tar new.img
	ls -A >now
	is "without /proc: a failure leaves nothing" diff names now
	noproc -q "${same[@]}" -d good.tar new.img
	is "  an image is made" cmp new.img first.img
	noproc -q "${same[@]}" --replace -d good.tar new.img
	is "  and replaced" cmp new.img first.img
	rm -rf self && cp -a tree self
	noproc -q -d self self/a.img
	noproc -q --replace -d self self/a.img
	noproc -q --replace -d self self/a.img
	is "  in its own source directory, too" test "$(grep -c 'is the image' .err)" = 2
	rm new.img
	ls -A self >now
	is "  and no hidden file stays" test "$(ls -A . self | grep -c '^\.a\|^\.new')" = 0
else
	skip "a host without /proc" "needs root and namespaces"
fi

# Equal jobs at the same time: none fails, and nothing is left but the image. Without --replace one of them makes it.
mkdir race
for source in tree good.tar; do
	for replace in --replace ""; do
		failed=0 left=
		for _ in 1 2 3 4 5 6; do
			rm -f race/*
			jobs=()
			for _ in 1 2 3; do
				# shellcheck disable=SC2086 # no word without --replace
				"$MKFS" -q $replace "${same[@]}" -d "$source" race/o.img >.out 2>&1 &
				jobs+=($!)
			done
			for j in "${jobs[@]}"; do wait "$j" || failed=$((failed + 1)); done
			left+=" $(ls -A race)"
		done
		equal "three jobs at once, six times: -d $source ${replace:-without --replace}" "$failed" "$([ -n "$replace" ] && echo 0 || echo 12)"
		equal "  one file" "$left" " o.img o.img o.img o.img o.img o.img"
		clean race/o.img "  and clean"
	done
done
# A file of somebody else that appears in the meantime stays. The source is a pipe, so that the run waits until the file is there.
mkfifo late.pipe
"$MKFS" -q --replace -d - late.img <late.pipe >.out 2>.err &
job=$!
exec 9>late.pipe
for _ in $(seq 600); do # until the new file is open, without a name
	! find "/proc/$job/fd" -lname '*(deleted)' 2>/dev/null | grep -q . && [ -z "$(ls -A | grep -F .late.img)" ] || break
	sleep .1
done
printf 'not an image' >late.img
cat good.tar >&9
exec 9>&-
wait $job
equal "a file that is no image appears during the run" "$? $(cat late.img)" "1 not an image"
is "  it is named" grep -q "late.img: holds data other than a filesystem" .err
done_testing 101
