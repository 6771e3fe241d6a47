#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Journals that the kernel left full, replayed by us and by stock debugfs: the same bytes. The kernel writes them in
# every format; shutdown (an ioctl) stops it as a power cut would. An everyday run takes rows that have every format and every mode
# once; XW_ALL=1: all of them.
. "$(dirname "$0")/../cli/lib.sh"
tool=$XW_BUILD/journal_tool
[ -x "$tool" ] || skip_all "journal_tool is not built"
command -v debugfs >/dev/null || skip_all "debugfs is not installed"

# against DESCRIPTION [kernel]: img, replayed by both; and by Linux afterwards, with a second argument.
against() {
	cp img ours.img
	cp img stock.img
	"$tool" recover ours.img >ours.out 2>&1
	diag "$(cat ours.out)"
	RC=0
	case $1 in
	*fast_commit*) # beyond debugfs 1.47.0
		e2fsck -y -E journal_only stock.img >stock.out 2>&1 || RC=$?
		;;
	*) debugfs -w -R jr stock.img >stock.out 2>&1 || RC=$? ;;
	esac
	# Stock now and then leaves a log as it is, of which Linux replays what we do. Then Linux alone is the judge, below.
	if [ $# -gt 1 ] && dumpe2fs -h stock.img 2>/dev/null | grep -q '^Filesystem features.*needs_recovery'; then
		skip "$1: as stock" "stock did not replay it, status $RC: $(head -c 200 stock.out | tr '\n' ' ')" 1
		return
	fi
	is "$1: as stock" "$tool" compare ours.img stock.img
}

# dirty MKFS-OPTIONS MOUNT-OPTIONS: img with a log to replay, all kinds of blocks in it.
dirty() {
	rm -f img
	# shellcheck disable=SC2086
	mke2fs -qF $1 img 48M >/dev/null 2>&1 || return 1
	# shellcheck disable=SC2086
	mount -o "loop,$2" img mnt || return 1
	# directories that go away (revokes), their blocks taken by data, files that look like log blocks
	for round in 1 2 3; do
		mkdir -p mnt/d{1..40}/sub && touch mnt/d{1..40}/sub/f
		sync -f mnt
		rm -rf mnt/d*
		text=$(head -c 3000 /dev/zero | tr '\0' "$round")
		for i in $(seq 1 60); do printf '\300\073\071\230%s' "$text" >"mnt/r$round-$i"; done
		sync -f mnt
	done
	ln -s "$(printf '%0200d' 1)" mnt/link
	setfattr -n user.x -v "$(printf '%0900d' 1)" mnt/r1-1 2>/dev/null
	"$tool" shutdown mnt || { umount mnt; return 1; }
	umount mnt
}

if can_loop; then
	mkdir mnt
	at_end "umount $T/mnt"
	while IFS='|' read -r mk mo; do
		if ! dirty "$mk" "$mo" >"$T/.why" 2>&1; then
			skip "$mk, $mo" "cannot be made or mounted here ($(tail -n 1 "$T/.why"))"
			continue
		fi
		diag "$(dumpe2fs -h img 2>/dev/null | grep '^Journal features')"
		case $(dumpe2fs -h img 2>/dev/null | grep '^Filesystem features') in
		*needs_recovery*) pass "$mk, $mo: the log is full" ;;
		*) fail "$mk, $mo: the log is full" ;;
		esac
		against "$mk, $mo" kernel
		case $mk in
		*fast_commit*) ;;
		*) if [ -x "$EXPORT" ]; then
			before=$(cksum <img)
			is "$mk, $mo: xw-export replays in memory" \
				bash -c "cmp <('$EXPORT' img) <('$EXPORT' ours.img)"
			equal "$mk, $mo: and writes nothing" "$(cksum <img)" "$before"
		fi ;;
		esac
		# What the kernel makes of it, and what it makes of ours: files and e2fsck.
		rm -f ours.sum kernel.sum
		if mount -o loop ours.img mnt; then
			(cd mnt && find . -type f -print0 | sort -z | xargs -0 sha256sum) >ours.sum
			umount mnt
		fi
		if mount -o loop img mnt; then
			(cd mnt && find . -type f -print0 | sort -z | xargs -0 sha256sum) >kernel.sum
			umount mnt
		fi
		is "$mk, $mo: files as the kernel replays them" diff ours.sum kernel.sum
		clean ours.img "$mk, $mo: clean"
	done < <(strided 4 <<'TABLE'
-t ext4|defaults
-t ext4 -b 1024|data=journal
~-t ext4 -b 2048|data=journal
~-t ext4 -O ^metadata_csum|data=journal
-t ext4 -O ^metadata_csum,^64bit|defaults
~-t ext4 -O ^metadata_csum|journal_checksum
-t ext4 -O ^metadata_csum,^64bit -b 1024|journal_checksum,data=journal
-t ext4 -O ^metadata_csum|journal_checksum,journal_async_commit,data=writeback
-t ext4|journal_checksum,journal_async_commit,data=journal
~-t ext4 -O ^64bit -b 1024|journal_async_commit,data=writeback
-t ext4 -b 1024 -J size=1|data=journal
~-t ext3|data=journal
-t ext3 -b 1024 -J size=1|defaults
-t ext4 -O fast_commit|commit=1
TABLE
	)
else
	skip "logs of the kernel" "needs root and loop mounts"
fi

n_corpus=$T_COUNT
for d in ${CORPUS:+"$CORPUS"/j_*}; do
	name=${d##*/}
	zcat "$d/image.gz" >img
	case $name in
	*fast_commit*)
		"$tool" recover img >ours.out
		is "$name: refused by name" grep -q "fast commits" ours.out
		;;
	j_corrupt_descr_tid | j_recover_*) against "$name" ;;
	*) # stock leaves a damaged log with another sequence number, and marks the filesystem
		cp img before.img
		"$tool" recover img >ours.out
		is "$name: refused" grep -q "^rc -[78] " ours.out
		is "$name: nothing written" cmp img before.img
		if [ -x "$EXPORT" ]; then
			is "$name: xw-export says so, and goes on" \
				bash -c "! '$EXPORT' img >out.tar 2>err && tar -tf out.tar && grep -q 'journal could not be replayed' err"
			is "$name: and writes nothing" cmp img before.img
		fi
		"$tool" recover img salvage >ours.out
		diag "$(cat ours.out)"
		is "$name: salvaged" grep -q "^rc 0 " ours.out
		e2fsck -fy img >"$T/.is" 2>&1
		clean img "$name: clean after e2fsck -fy"
		;;
	esac
done
n_corpus=$((T_COUNT - n_corpus))
[ -n "$CORPUS" ] || skip "journals of the corpus" "XW_ACCEPT is not set" 0
done_testing $((52 + n_corpus))
