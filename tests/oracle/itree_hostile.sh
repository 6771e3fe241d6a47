#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Damaged itrees (itree_hurt.c): no tool crashes, an archive has what the directory has, and what is freed was the tree's.
# Seeds 1 to XW_SEEDS of each image below; a few by default, thousands on a build with --enable-sanitize now and then.
. "$(dirname "$0")/../cli/lib.sh"
: "${XW_SEEDS:=8}"
HURT=$XW_BUILD/o_itree_hurt DBG=$BIN/xw-debugfs TUNE=$BIN/xw-tune
[ -x "$HURT" ] || skip_all "o_itree_hurt is not built"
command -v e2fsck >/dev/null || skip_all "needs e2fsck"
export ASAN_OPTIONS=exitcode=99 UBSAN_OPTIONS=halt_on_error=1:exitcode=98

mkdir -p tree/many tree/other
(cd tree/many && for i in $(seq 1 700); do : >"name-number-$i"; done)
(cd tree/other && for i in $(seq 1 150); do : >"another-name-$i"; done)
for i in $(seq 1 40); do head -c 5000 /dev/urandom >tree/victim-$i; done
mkdir layer && : >layer/.wh.many && : >layer/.wh.other
names() { tar tf "$1" | sort; }

# run TOOL ARGS...: it ends by itself, done or refused; status in RC.
run() {
	RC=0
	timeout -s KILL 900 "$@" >"$T/.out" 2>"$T/.err" || RC=$?
	[ $RC -le 1 ] && return 0
	echo "$*: status $RC"
	return 1
}
# Is every block of a file and of metadata in use? What is marked beside these were nodes.
nothing_lost() { # IMAGE
	"$DBG" -q -w -R 'feature ^itree' "$1" >/dev/null 2>&1
	e2fsck -fn "$1" >said 2>&1
	! grep -E 'Block bitmap differences:.* \+|[Mm]ultiply-claimed' said
}
# A change, of several requests perhaps, each of which is done or not.
changes() { # TOOL ARGS..., of which `work` is the image
	cp hurt work
	run "$@" || return 1
	cmp -s hurt work || nothing_lost work || { echo "$*: blocks of others are free"; return 1; }
}
whole() { # the same of a tool that does one thing
	changes "$@" || return 1
	[ "$RC" = 0 ] || cmp hurt work || { echo "$*: refused, and changed"; return 1; }
}
# Everything is tried, whatever the one before it did.
try_seed() { # IMAGE SEED
	local bad=0
	cp "$1" hurt
	"$HURT" hurt "$2" >how || { cat how; return 1; }
	cat how
	run "$EXPORT" -q -o got.tar hurt || bad=1
	names got.tar | diff want.names - || { echo "the archive differs"; bad=1; }
	run "$EXPORT" -t --order inode hurt || bad=1
	run "$DBG" -R 'itree_check /many' hurt || bad=1
	run "$DBG" -R 'itree_dump /many' hurt || bad=1
	whole "$TUNE" -q -O ^itree work || bad=1
	if [ "$RC" = 0 ] && grep -q 'differences\|FIXED\|Fix?' said; then cat said && bad=1; fi
	whole "$TUNE" -q -U random work || bad=1
	changes "$DBG" -q -w -R 'rm /many/name-number-7' -R 'rm /many/name-number-350' -R 'rm /many/name-number-700' work || bad=1
	changes "$DBG" -q -w -R 'ln /victim-1 /many/one-more' -R 'ln /victim-2 /other/one-more' work || bad=1
	whole "$IMPORT" -q work layer || bad=1
	return $bad
}

while read -r options; do
	rm -f base
	# shellcheck disable=SC2086
	mkfs -q $options -N 1200 -d tree base 8M
	works "$options"
	"$EXPORT" -q -o want.tar base && names want.tar >want.names
	is "  has names" [ -s want.names ]
	try_seeds "$options"
done <<'END'
-O itree -b 1024
-O itree,^metadata_csum -b 1024
-O itree,^metadata_csum,^has_journal,quota -b 2048
END
done_testing 9
