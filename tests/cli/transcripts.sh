#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Sessions with the tools, word for word: each file of transcripts/ is a list of commands, and below each what it writes to
# standard output, then to standard error ("! "), "[N]" where its exit status is N, not 0, and "= IMAGE CHECKSUM" for the states in which it
# left images. All commands of a file run in one shell and one empty directory. XW_TRANSCRIPTS="NAME...": these files. XW_RENEW=1: write what the commands say today into the files;
# then read the difference.
. "$(dirname "$0")/lib.sh"
is_root || skip_all "only root unpacks files with their owners"
[ -x "$XW_BUILD/image_sums" ] || { echo "Bail out! $XW_BUILD/image_sums is not there: build the tests first"; exit 1; }
export SOURCE_DATE_EPOCH=1700000000 MTIME=@1600000000
here=$XW_SRC/tests/cli/transcripts

# ---- what the commands may use ----
tool() {
	local status=0
	"$BIN/xw-$1" "${@:2}" || status=$?
	case $1,${2-} in
	mkfs,* | import,* | tune,* | age,* | fsck,* | debugfs,-w) images ;;
	esac
	return $status
}
# images: a checksum of each image in the directory that has its fixed identifier and has changed since the last call. Each state in
# which a tool leaves one is compared byte by byte, also where no command shows what has changed.
images() { "$XW_BUILD/image_sums" "$T/.stamp" >>"$T/.images"; }
# new_images: what the last command left that no command before it did; where that is much, a checksum of it.
new_images() {
	local line sum name new=()
	images
	while read -r sum _ name; do
		line="$name $sum"
		[ -z "${known[$line]-}" ] || continue
		known[$line]=yes
		new+=("$line")
	done <"$T/.images"
	: >"$T/.images"
	if [ ${#new[@]} -gt 6 ]; then
		echo "  = ${#new[@]} images: $(printf '%s\n' "${new[@]}" | cksum | cut -d ' ' -f 1)"
	elif [ ${#new[@]} -gt 0 ]; then
		printf '  = %s\n' "${new[@]}"
	fi
}
# mkfs OPTION...: with fixed identifiers, over what is there.
mkfs() { make -q "$@"; }
make() { tool mkfs -F -U 01234567-89ab-cdef-0123-456789abcdef -E hash_seed=76543210-ba98-fedc-3210-fedcba987654 "$@"; }
# pack DIRECTORY: DIRECTORY.tar, the same bytes every time.
pack() { make_tar "$1" "$1.tar" --owner 0 --group 0 --mtime @1600000000; }
import() { tool import "$@"; }
export_image() { tool export "$@"; }
debugfs() { tool debugfs "$@"; }
# write IMAGE REQUEST...: of a session that changes the image.
write() {
	printf '%s\n' "${@:2}" >"$T/.requests"
	tool debugfs -w -f "$T/.requests" "$1" 2>&1
}
tune() { tool tune "$@"; }
dump() { tool dump "$@"; }
freefrag() { tool freefrag "$@"; }
age() { tool age "$@"; }
# fsck IMAGE: what xw-fsck finds, without the line of totals.
fsck() { { tool fsck -fn "$@" || echo "status $?"; } 2>&1 | grep -v '^Pass\|^$\|% non-contiguous\|files, ' || :; }
hex() { od -An -v -tx1 "$@"; }
poke() { # FILE OFFSET BYTES
	# shellcheck disable=SC2059
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# told PREFIX FILE: its lines, without what differs from run to run: times, and the directory.
told() {
	[ ! -s "$2" ] ||
		sed -E -e "s|$T|TOP|g" -e 's/[0-9.]+ s, [0-9.]+ ([KMG]i)?B\/s/TIME/; s/"seconds":[^,}]*/"seconds":0/' -e "s/^/$1/; s/ *\$//" -e '$a\' "$2"
}

# play FILE: prints the file as the tools would have it.
play() {
	local line status command
	rm -f "$T/.stamp"
	: >"$T/.images"
	declare -gA known=()
	while IFS= read -r line; do
		case $line in
		'$ '*) ;;
		'#'*) printf '%s\n' "$line"; continue ;;
		*) continue ;;
		esac
		printf '%s\n' "$line"
		command=${line#??}
		status=0
		eval "$command" </dev/null >"$T/.said" 2>"$T/.complained" || status=$?
		told '  ' "$T/.said"
		told '! ' "$T/.complained"
		[ $status = 0 ] || echo "  [$status]"
		new_images
	done <"$1"
}

files=${XW_TRANSCRIPTS:-$(cd "$here" && echo *.txt)}
for file in $files; do
	name=$(basename "$file" .txt)
	mkdir "$T/$name"
	cd "$T/$name" || exit 99
	play "$here/$name.txt" >"$T/.played"
	cd "$T" || exit 99
	chmod -R u+rwx "$name"
	rm -rf "${T:?}/$name"
	[ -z "${XW_RENEW-}" ] || cp "$T/.played" "$here/$name.txt"
	if diff -u "$here/$name.txt" "$T/.played" >"$T/.differs"; then
		pass "$name: $(grep -c '^\$' "$here/$name.txt") commands"
	else
		fail "$name"
		sed 's/^/# /' "$T/.differs" | head -n 60
	fi
done
wanted=13
[ -z "${XW_TRANSCRIPTS-}" ] || wanted=$(wc -w <<<"$files")
done_testing "$wanted"
