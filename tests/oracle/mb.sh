#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# xw-debugfs's verbs about the allocator: YAML by default; with --kernel what Linux shows of the same image in
# /proc/fs/ext4/DEV/mb_groups and mb_structs_summary, byte for byte; mb_find finds what is free and takes nothing.
# stats and freefrag are stock debugfs's. XW_ALL=1: larger images and more of them. An image of 60 TiB, where there are 160 MiB for it in /dev/shm, shows what they need.
. "$(dirname "$0")/../cli/lib.sh"
debugfs=$BIN/xw-debugfs
dbg() { "$debugfs" "$@" 2>.err; }

mkdir -p tree/a
files tree/a/file-%d 1 300 211
{
	for n in $(seq 2 3 300) $(seq 7 5 300); do echo "rm /a/file-$n"; done
	echo "mkdir /b"
} >requests

# Strict enough for what the verbs print where Python has no yaml module.
cat >yaml_check.py <<'END'
import re, sys
def plain(text):
    depth, scalar = 0, False
    assert text and "\t" not in text
    for line in text.splitlines():
        m = re.fullmatch(r"( *)(- \{.*\}|[A-Za-z0-9_^]+:( (?! ).+)?)", line)
        assert m, line
        d = len(m[1]) // 2
        assert len(m[1]) % 2 == 0 and d <= depth + 1 and not (scalar and d > depth), line
        depth, scalar = d, line.lstrip().startswith("-") or not line.endswith(":")
for name in sys.argv[1:]:
    text = open(name).read()
    plain(text)
    try:
        import yaml
    except ImportError:
        continue
    d = yaml.safe_load(text)
    assert isinstance(d, dict) and d
    if "groups" in d and isinstance(d["groups"], list):
        for g in d["groups"]:
            assert g["free_clusters"] == sum(n << k for k, n in enumerate(g["buddies"])), g
            assert g["longest_clusters"] <= g["free_clusters"] and g["frags"] <= max(g["free_clusters"], 0), g
END

while read -r size options; do
	rm -f img
	if command -v mke2fs >/dev/null; then
		truncate -s "$size" img
		# shellcheck disable=SC2086
		mke2fs -qF -d tree $options img >.out 2>&1 || { skip "$options" "mke2fs does not make it"; continue; }
	else
		# shellcheck disable=SC2086
		mkfs -q $options -d tree img "$size"
	fi
	dbg -w -f requests img >/dev/null
	dbg -R mb_structs_summary img >summary
	dbg -R mb_groups img >groups
	dbg -R "mb_find 100" img >find
	dbg -R mb_stats img >stats
	if command -v python3 >/dev/null; then
		is "$options $size: YAML" python3 yaml_check.py summary groups find stats
	else
		skip "$options $size: YAML" "python3 is not installed" 1
	fi

	held=0
	cp --sparse=always img before
	for len in 1 7 64 1000 5000; do
		written=$(stat -c '%y %z %b' img)
		dbg -R "mb_find $len 3000" img >find
		start=$(sed -n 's/^  start_block: //p' find) got=$(sed -n '/^result/,$s/^  length_blocks: //p' find)
		if ! grep -q '^criterion: \(goal\|p2_aligned\|goal_fast\|best_avail\|goal_slow\|any\)$' find ||
			dbg -R "testb $start $got" img | grep -q 'marked in use' || [ "$(stat -c '%y %z %b' img)" != "$written" ] ||
			{ [ $len = 5000 ] && ! cmp -s img before; }; then
			diag "$options $size: mb_find $len"
			sed 's/^/# /' find
		else
			held=$((held + 1))
		fi
	done
	equal "$options $size: mb_find finds what is free, and leaves it" $held 5

	can_loop || { skip "$options: Linux" "needs root and loop mounts" 2; continue; }
	mkdir -p mnt
	mount -o loop,ro img mnt 2>.err || { skip "$options: Linux" "it does not mount it" 2; continue; }
	at_end "umount mnt"
	proc=/proc/fs/ext4/$(basename "$(findmnt -n -o SOURCE mnt)")
	if [ -r "$proc/mb_structs_summary" ]; then
		cat "$proc/mb_groups" >want.groups # first: it makes Linux look at all of them
		cat "$proc/mb_structs_summary" >want.summary
		dbg -R "mb_groups --kernel" img >got.groups
		dbg -R "mb_structs_summary --kernel" img >got.summary
		is "$options $size: mb_groups as Linux has it" diff want.groups got.groups
		is "$options $size: mb_structs_summary as Linux has it" diff want.summary got.summary
	else
		skip "$options: Linux" "it does not show its lists" 2
	fi
	umount mnt
done < <(strided 3 <<-'END'
	200M -t ext4 -b 1024
	~700M -t ext4 -b 2048
	~3G -t ext4
	600M -t ext4
	~300M -t ext4 -O ^flex_bg,uninit_bg,^metadata_csum -b 1024
	100M -t ext4 -O ^flex_bg,uninit_bg,^metadata_csum -b 1024
	60M -t ext2 -b 1024
	~600M -t ext4 -O bigalloc -C 8192 -b 1024
	200M -t ext4 -O bigalloc -C 8192 -b 1024
	160M -t ext4 -O meta_bg,^resize_inode -b 1024 -g 4096
END
)

dbg -R "mb_groups 2 3" img >groups
equal "mb_groups FIRST LAST" "$(grep -c '{group: [23],' groups) $(wc -l <groups)" "2 3"
dbg -R "mb_groups 5" img >groups
equal "mb_groups FIRST" "$(grep -c '{group: 5,' groups) $(wc -l <groups)" "1 2"
printf 'mb_find 100\nmb_find 64\nmb_find 1 20000\nmb_stats\n' >r1
dbg -f r1 img >out
equal "mb_stats counts requests of the session" "$(sed -n 's/^  reqs: //p' out)" 3
dbg -R "mb_find 999999999" img >find
is "a request larger than a group gets what there is" grep -q 'whole: false' find
head -c 1048576 /dev/zero | tr '\0' z >big
printf 'write big /big\nmb_structs_summary\n' >r1
cp img changed
before=$(dbg -R mb_structs_summary img | sed -n 's/^free_clusters: //p')
after=$(dbg -w -f r1 changed | sed -n 's/^free_clusters: //p')
is "what a session wrote counts ($before, $after)" [ "$((before - after))" -ge 1024 ]
dbg -R "mb_groups 7" it-is-not-here >/dev/null
is "no image" [ $? = 1 ]

# damage: said, and the rest shown
cp img bad
bitmap=$("$BIN/xw-dump" -g img | awk -F: '$1 == 1 { print $5 }')
printf '\252\252\252' | dd of=bad bs=1 seek=$((bitmap * 1024 + 300)) conv=notrunc status=none
dbg -R mb_groups bad >groups
is "a damaged bitmap: said" grep -q 'group 1: block bitmap: checksum mismatch' .err
is "a damaged bitmap: all groups are shown" [ "$(grep -c '{group:' groups)" = "$(dbg -R mb_groups img | grep -c '{group:')" ]

if command -v debugfs >/dev/null; then
	for verb in "stats" "show_super_stats -h" freefrag "freefrag -c 256"; do
		debugfs -R "$verb" img >want 2>/dev/null
		dbg -R "$verb" img >got
		is "$verb as stock debugfs prints it" cmp want got
	done
else
	skip "verbs as stock debugfs prints them" "debugfs is not installed" 4
fi

# Nobody has read a bitmap, and no free run is long enough: few are read to find that out. A run that is long enough lies where most is
# free.
"$MKFS" -q full 16G && "$BIN/xw-age" -q --fast --profile alternate:1M,1M full
dbg -R "mb_find 512" full >find
is "2 MiB where runs have 1: at most 64 of 128 bitmaps" [ "$(sed -n 's/^bitmaps_read: //p' find)" -le 64 ]
is "considered are those that were read, and no others" \
	[ "$(sed -n 's/.*{groups: \([0-9]*\),.*/\1/p' find | awk '{ n += $1 } END { print n + 0 }')" -le 76 ]
printf 'mb_find -E mb_optimize_scan=0 512\nmb_find -E mb_max_to_scan=3,mb_optimize_scan=1 512\n' >r1
dbg -f r1 full >find
is "mb_find with mb_optimize_scan=0: a linear search" grep -q '^criterion: goal_slow' find
equal "  and then with other settings" "$(grep -c '^request:' find)" 2
dbg -R "mb_find -E offset=1 512" full >find
is "mb_find takes settings of the allocator only" grep -q 'not a setting mb_' .err
victim=$(dbg -R "ls -p /age/000000" full | cut -d / -f 6 | grep file- | tail -n 1)
dbg -w -R "rm /age/000000/$victim" full
dbg -R "mb_find 10240" full >find
is "40 MiB, where one place has them: found" grep -q 'whole: true' find
is "with at most 64 bitmaps" [ "$(sed -n 's/^bitmaps_read: //p' find)" -le 64 ]

# 60 TiB, in memory, without the copies of the descriptors, which would be most of it. What it takes is said; what it needs is
# promised: 64 MiB.
large=/dev/shm/xw-test-$$
at_end "rm -f $large"
if ldd "$MKFS" | grep -q libasan || [ ! -x /usr/bin/time ]; then
	skip "60 TiB" "needs time(1), and no sanitizer" 2
elif ! "$MKFS" -q -O sparse_super2 -E num_backup_sb=0 -J size=4 "$large" 60T 2>.err; then
	skip "60 TiB" "no such file can be made here: $(cat .err)" 2
else
	/usr/bin/time -o cost -f '%e %M' "$debugfs" -R mb_structs_summary "$large" >huge
	diag "60 TiB: $(sed 's/ / s, /' cost) KiB"
	is "60 TiB: 64 MiB at most" [ "$(sed 's/.* //' cost)" -le 65536 ]
	equal "60 TiB: groups" "$(sed -n 's/^groups: //p' huge)" 491520
	rm -f "$large"
fi
done_testing 45
