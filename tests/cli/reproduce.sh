#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The same input and options give the same bytes: from a file, from a pipe in odd chunks, for any --jobs,
# compressed or not, whatever umask and time zone.
. "$(dirname "$0")/lib.sh"

make_tree tree
make_tar tree in.tar
export SOURCE_DATE_EPOCH=1700000000
pin=(-U 01234567-89ab-cdef-0123-456789abcdef -E hash_seed=fedcba98-7654-3210-fedc-ba9876543210)

odd_chunks() { # FILE: in pieces that match nothing
	local f=$1 at=0 n size i=0
	local -a lens=(1 511 513 7 10000 4097 65537 3)
	size=$(stat -c %s "$f")
	while [ $at -lt "$size" ]; do
		n=${lens[i % 8]}
		[ $i -lt 64 ] || n=100003
		tail -c +$((at + 1)) "$f" | head -c "$n"
		at=$((at + n)) i=$((i + 1))
	done
}

# same NAME IMAGE: equal to the first image, byte for byte; it goes away.
same() {
	if [ "$RC" = 0 ] && cmp -s first.img "$2"; then pass "$1"; else
		fail "$1"
		diag "status $RC; $(cmp first.img "$2" 2>&1 | head -n 1)"
	fi
	rm -f "$2"
}

for size in "" 64M; do
	label=${size:-no SIZE}
	rm -f first.img
	mkfs -q "${pin[@]}" -d in.tar first.img $size
	works "$label: an image"
	clean first.img "  it is clean"

	mkfs -q "${pin[@]}" -d in.tar a.img $size
	same "$label: again" a.img
	for jobs in 1 2 7; do
		mkfs -q --jobs $jobs "${pin[@]}" -d in.tar a.img $size
		same "$label: --jobs $jobs" a.img
	done
	mkfs_stdin in.tar -q "${pin[@]}" -d - a.img $size
	same "$label: on standard input, a file" a.img
	RC=0
	odd_chunks in.tar | "$MKFS" -q "${pin[@]}" -d - a.img $size >.out 2>.err || RC=$?
	same "$label: through a pipe in odd chunks" a.img
	for z in gzip xz zstd bzip2; do
		if command -v $z >/dev/null; then
			[ -e in.$z ] || $z -1 -c in.tar >in.$z
			mkfs -q "${pin[@]}" -d in.$z a.img $size
			same "$label: $z" a.img
		else
			skip "$label: $z" "it is not installed" 1
		fi
	done
	(
		umask 077
		mkfs -q "${pin[@]}" -d in.tar a.img $size
		exit "$RC"
	)
	RC=$?
	same "$label: umask 077" a.img
	TZ=Pacific/Auckland mkfs -q "${pin[@]}" -d in.tar a.img $size
	same "$label: another time zone" a.img
	LC_ALL=C mkfs -q "${pin[@]}" -d in.tar a.img $size
	same "$label: the C locale" a.img
	sleep 1.1
	mkfs -q "${pin[@]}" -d in.tar a.img $size
	same "$label: a second later" a.img

	mkfs -q "${pin[@]}" -d tree a.img $size
	mkfs -q --jobs 3 "${pin[@]}" -d tree b.img $size
	is "$label: a directory twice" cmp a.img b.img
	rm -f a.img b.img
done

# What is pinned is all there is: another seed, UUID or time does change the image.
mkfs -q "${pin[@]}" -d in.tar first.img
for other in "-U 11234567-89ab-cdef-0123-456789abcdef" \
	"-E hash_seed=01234567-89ab-cdef-0123-456789abcdef" "-L label"; do
	# shellcheck disable=SC2086
	mkfs -q "${pin[@]}" $other -d in.tar a.img
	is "another image with $other" sh -c '! cmp -s first.img a.img'
	rm -f a.img
done
SOURCE_DATE_EPOCH=1700000001 mkfs -q "${pin[@]}" -d in.tar a.img
is "another image with another SOURCE_DATE_EPOCH" sh -c '! cmp -s first.img a.img'

# Access times tell who has read a directory, not what is in it.
mkdir read && echo x >read/file && ln -s file read/link
touch -h -d @1500000000 read/file read/link read
rm -f first.img a.img
mkfs -q "${pin[@]}" --clamp-mtime -d read first.img
touch -h -a -d @1600000000 read/file read/link read
rm -f a.img
mkfs -q "${pin[@]}" --clamp-mtime -d read a.img
is "--clamp-mtime: the same image of a directory that was read meanwhile" cmp first.img a.img
done_testing 39
