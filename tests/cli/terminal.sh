#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a terminal gets: names, labels, link targets and attributes from an image, and names that were typed, cannot control it. No control
# characters of C0 but tab and newline, no DEL, none of C1, neither as bytes nor as UTF-8, and none that turns the direction of
# text around, so that a name looks like another one. Elsewhere the bytes are those of stock tools.
. "$(dirname "$0")/lib.sh"

python3 - <<'P'
import io, tarfile
tar = tarfile.open("x.tar", "w", format=tarfile.PAX_FORMAT)
def add(name, kind=tarfile.REGTYPE, data=b"", link="", **pax):
    t = tarfile.TarInfo(name)
    t.type, t.size, t.linkname, t.mode = kind, len(data), link, 0o755
    t.pax_headers = {"SCHILY.xattr." + k.replace("_", ".", 1): v for k, v in pax.items()}
    tar.addfile(t, io.BytesIO(data))
raw = lambda b: b.decode("utf-8", "surrogateescape")
add("dir\x1b[2J", tarfile.DIRTYPE)
add("red\x1b]0;title\x07\x1b[31m", data=b"x")
add("c1\u009b31m", data=b"x")
add(raw(b"byte\x9b31m"), data=b"x")
add("del\x7f\r", data=b"x")
add("link\x1b[6m", tarfile.SYMTYPE, link="to\x1b[5m\u009b")
add("slow\x1b[6m", tarfile.SYMTYPE, link="\x1b[5m" + 100 * "x")
add("attr", data=b"x", **{"user_a\x1b[7m": "\x1b[8m", "user_b": "\u009b\x7f"})
add("gone\x1b[1m", data=b"x")
bidi = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
add("exe\u202etxt" + bidi, tarfile.SYMTYPE, link=bidi)
add("hard\x1b[3m", tarfile.LNKTYPE, link="attr")
tar.close()
P
img=$'i\e[5m\x9b\x7f.img' undo=$'u\e[5m.undo'
mkfs -q -L $'l\e[4m\x9b' -M $'/m\e[4m' -d x.tar "$img" 8M
works "an image"
"$BIN/xw-tune" -q -z "$undo" -E mount_opts=$'a\e[1m' "$img" 2>.err || diag "$(cat .err)"
cp "$img" damaged
"$BIN/xw-debugfs" -w -R $'clri gone\e[1m' damaged >.out 2>.err

# shown COMMAND...: the output of the command on a terminal has no control characters; with --json each line of it is JSON.
shown() {
	export NO_COLOR=1
	python3 "$XW_SRC/tests/cli/on_tty.py" '' "$@" </dev/null >seen 2>seen.err
	unset NO_COLOR
	is "${*//[^ -~]/.}" python3 - "$@" <<'P'
import json, sys
data = open("seen", "rb").read().replace(b"\x1b[K", b"")  # of the progress bar
text = data.decode("utf-8", "surrogateescape")
bad = sorted({hex(ord(c)) for c in text if (c < " " and c not in "\t\n") or 0x7f <= ord(c) <= 0x9f or 0xdc80 <= ord(c) <= 0xdcff
              or c in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"})
if bad:
    print("a terminal gets", bad, repr(text[:300]))
    sys.exit(1)
if "--json" in sys.argv:
    count = 0
    while (at := text.find("{")) >= 0:
        value, end = json.JSONDecoder().raw_decode(text[at:])
        text = text[at + end:]
        count += 1
    sys.exit(not count)
P
}
verbs=('ls' 'ls -l' 'ls -p' 'ls -d' 'ls -r' 'ls -c' 'ncheck 12 13 14 15 16 17' 'ea_list attr' $'ea_get attr user.a\e[7m' 'ea_get -V attr user.b' 'stat attr'
	$'stat link\e[6m' $'stat slow\e[6m' 'show_super_stats' 'lsdel' $'dirsearch / red\e' $'hash red\e[31m' $'cat none\e[31m' $'blocks dir\e[2J' 'htree_dump /' 'filefrag -r /'
	$'cd dir\e[2J' $'supported_features f\e[1m' 'params' $'no\e[1m' 'logdump' 'list_deleted_inodes' 'print_working_directory')
for v in "${verbs[@]}"; do shown "$BIN/xw-debugfs" -R "$v" "$img"; done
for v in 'ls -l' 'ls -p' 'ncheck 13' 'ea_list attr' 'show_super_stats' $'stat link\e[6m'; do shown "$BIN/xw-debugfs" --json -R "$v" "$img"; done
printf 'cd dir\e[2J\npwd\nls -p\n' >requests
shown "$BIN/xw-debugfs" -f requests "$img"
for o in -t -tv '-t --json' '-t --json -v' '-xv x' '-v -o /dev/null' '-o /dev/null --json'; do
	# shellcheck disable=SC2086 # the options are words
	shown "$EXPORT" $o "$img"
done
shown "$EXPORT" -o $'none\e[1m/x' "$img"
shown "$EXPORT" -o /dev/null "$img" $'no\e[1m'
shown "$BIN/xw-dump" -h "$img"
shown "$BIN/xw-dump" --json "$img"
shown "$BIN/xw-freefrag" "$img"
shown "$BIN/xw-tune" -l "$img"
shown "$BIN/xw-tune" -l --json "$img"
shown "$BIN/xw-tune" -L $'n\e[4m' "$img"
shown "$BIN/xw-tune" -E mount_opts=$'b\e[1m' "$img"
shown "$BIN/xw-tune" -z $'v\e[5m.undo' -c 7 "$img"
shown "$BIN/xw-tune" -O $'n\e[4m' "$img"
shown "$BIN/xw-undo" -n "$undo" "$img"
shown "$BIN/xw-undo" $'none\e[4m' "$img"
shown "$MKFS" -v -d x.tar $'o\e[1m.img'
shown "$MKFS" --json -d x.tar $'o\e[1m.json.img'
shown "$MKFS" $'o\e[1m.img' 1M
shown "$MKFS" -z $'w\e[1m' -F $'o\e[1m.img' 4M
shown "$MKFS" $'--no\e[1m' new.img 4M
shown "$IMPORT" -v "$img" x.tar
shown "$IMPORT" --json "$img" x.tar
shown "$IMPORT" --dry-run "$img" $'none\e[1m.tar'
shown "$BIN/xw-fsck" -fn "$img"
shown "$BIN/xw-fsck" -n $'none\e[1m'
shown "$BIN/xw-fsck" -fn damaged
shown "$BIN/xw-fsck" -fn --json damaged
shown "$BIN/xw-fsck" -fy -C 0 "$img"
shown "$BIN/xw-fsck" -p "$img"
shown "$BIN/xw-age" --measure "$img"
shown "$BIN/xw-age" --json --measure "$img"

# Not on a terminal.
equal "ls -p, not on a terminal" "$("$BIN/xw-debugfs" -R 'ls -p' "$img" 2>.err | grep -ac $'^/[0-9]*/100755/0/0/red\e]0;title\a\e\\[31m/1/$')" 1
equal "  nor directions of text, not on a terminal" "$("$BIN/xw-debugfs" -R 'ls -p' "$img" 2>.err | grep -ac $'/exe\u202etxt\u061c')" 1
equal "ea_get -V, not on a terminal" "$("$BIN/xw-debugfs" -R 'ea_get -V attr user.b' "$img" 2>.err)" $'\u009b\x7f'
done_testing 75
