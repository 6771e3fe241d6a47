#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-debugfs stores a time as it was asked for, or refuses it. None is stored as another one.
. "$(dirname "$0")/lib.sh"
dbg() {
	T_TOOL=xw-debugfs
	run_tool "$BIN/xw-debugfs" /dev/null "$@"
}
# bytes OFFSET COUNT: of inode 12 or the superblock of img, as a little-endian number.
at() { od -An -v -tu"$2" -j "$1" -N "$2" img | tr -d ' '; }
inode() { at $((itable + 11 * 256 + $1)) "$2"; }
super() { at $((1024 + $1)) "$2"; }

mkdir tree && echo text >tree/file && ln tree/file tree/other
mkfs -q -b 1024 -d tree base 4M
works "an image"
dbg -R "stat /file" base
is "its file is inode 12" grep -q '^Inode: 12 ' .out
itable=$(("$("$BIN/xw-debugfs" -R "imap <1>" base 2>/dev/null | sed -n 's/.*located at block \([0-9]*\), offset 0x0*.*/\1/p')" * 1024))

# value | seconds since 1970, or nothing: refused
while IFS='|' read -r value want; do
	cp base img
	for field in atime mtime ctime crtime; do
		case $field in
		atime) lo=8 hi=140 ;;
		ctime) lo=12 hi=132 ;;
		mtime) lo=16 hi=136 ;;
		crtime) lo=144 hi=148 ;;
		esac
		dbg -w -R "sif /file $field $value" img
		if [ "$want" ]; then
			epoch=$(($(inode $hi 4) & 3)) low=$(inode $lo 4)
			[ "$low" -lt $((1 << 31)) ] || low=$((low - (1 << 32)))
			[ "$RC" = 0 ] && equal "sif $field $value" $((low + (epoch << 32))) "$want" || fail "sif $field $value"
		else
			fails 1 "$value: $field has room|'$value' is not a valid value for $field" "sif $field $value is refused"
			is "  and nothing changes" cmp base img
		fi
	done
done <<'TABLE'
@15032385535|15032385535
@15032385536|
@99999999999|
@-2147483648|-2147483648
@-2147483649|
@18446744073709551615|
99999999999999999999|
4294967295|4294967295
19000101|
19020101|-2145916800
24460510|15032304000
25000101|
TABLE

# Without room for the high part there are 32 bits, with a sign; what is behind them belongs to others.
cp base img
dbg -w -R "sif /file extra_isize 4" img
works "an inode without extra times"
cp img short
dbg -w -R "sif /file mtime @2147483648" img
fails 1 "mtime has room for @-2147483648 .. @2147483647" "a time that needs the high part"
dbg -w -R "sif /file crtime @5" img
fails 1 "inode <12> has no crtime: its extra_isize is 4" "a time that it does not have"
is "  nothing changed" cmp short img
dbg -w -R "sif /file mtime @2147483647" img
equal "the latest one" "$RC $(inode 16 4) $(inode 136 4)" "0 2147483647 $(od -An -v -tu4 -j $((itable + 11 * 256 + 136)) -N 4 short | tr -d ' ')"
dbg -w -R "sif /file mtime_lo 0xfffffffe" img
equal "half of a time is bits" "$RC $(inode 16 4)" "0 4294967294"
dbg -w -R "sif /file dtime @4294967295" img
equal "the latest deletion time" "$RC $(inode 20 4)" "0 4294967295"
for value in @4294967296 @-1; do
	dbg -w -R "sif /file dtime $value" img
	fails 1 "dtime has room for @0 .. @4294967295" "a deletion time of $value"
done

# The superblock's have 40 bits and no sign.
cp base img
dbg -w -R "ssv mkfs_time @1099511627775" img
equal "ssv mkfs_time @1099511627775" "$RC $(super 0x108 4) $(super 0x276 1)" "0 4294967295 255"
for value in @1099511627776 @-1 19691231; do
	cp base img
	dbg -w -R "ssv mkfs_time $value" img
	fails 1 "mkfs_time has room for @0 .. @1099511627775" "ssv mkfs_time $value is refused"
	is "  and nothing changes" cmp base img
done

# The current time is one of an inode.
for value in @15032385536 @-2147483649 25000101; do
	dbg -w -R "set_current_time $value" img
	fails 1 "$value: inodes have room for @-2147483648 .. @15032385535" "set_current_time $value is refused"
done
dbg -w -R "set_current_time @-5" -R "mkdir new" img
equal "a current time before 1970" "$RC $("$BIN/xw-debugfs" -R "stat /new" img 2>/dev/null | sed -n 's/^ *mtime: *\([^ :]*\).*/\1/p') $(super 0x30 4)" "0 0xfffffffb 0"

done_testing 98
