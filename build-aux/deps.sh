# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# What quickstart, runtests and .ci/run share: installing the packages that building and testing need, and building.
# Sourced; expects `root` (the checkout) to be set, and sets -eu itself nowhere.

# A step's heading, a remark under it, the end of everything.
step() { printf '\n== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }
die() { printf '\n%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# cc_has_archive NAME-dev: does the compiler find libNAME.a?
cc_has_archive() {
	local name=${1%-dev}
	[ -e "$(cc -print-file-name="lib${name%1}.a")" ]
}

# Print which of the given packages (Debian names) are missing. They are probed by what they provide, so that a
# self-built autoconf or another distribution's package counts too.
deps_missing() {
	local want PATH=$PATH:/usr/sbin:/sbin
	for want in "$@"; do
		case $want in
		build-essential) { command -v cc && command -v make; } ;;
		autoconf) command -v autoreconf ;;
		automake) command -v automake ;;
		libtool) command -v libtoolize ;;
		pkg-config) command -v pkg-config ;;
		libarchive-dev) pkg-config --exists 'libarchive >= 3.4' ;;
		libblkid-dev) pkg-config --exists blkid ;;
		uuid-dev) pkg-config --exists uuid ;;
		check) pkg-config --exists 'check >= 0.13' ;;
		libacl1-dev | liblz4-dev | libzstd-dev) cc_has_archive "${want#lib}" ;;
		xz-utils) command -v xz ;;
		e2fsprogs) command -v e2fsck && command -v filefrag ;;
		debhelper) command -v dh ;;
		libarchive-tools) command -v bsdtar ;;
		libjansson-dev) pkg-config --exists 'jansson >= 2.12' ;;
		nettle-dev) pkg-config --exists 'nettle >= 3.4' ;;
		libedit-dev) pkg-config --exists libedit ;;
		libcap2-bin) command -v setcap ;;
		ncompress) command -v compress ;;
		procps) command -v ps ;;
		squashfs-tools) command -v mksquashfs ;;
		time) [ -x /usr/bin/time ] ;;
		util-linux-extra) command -v fincore ;;
		attr) command -v setfattr ;;
		acl) command -v setfacl ;;
		clang-format-14) command -v clang-format-14 ;;
		*) command -v "$want" ;;
		esac >/dev/null 2>&1 || printf '%s\n' "$want"
	done
}

deps_build=(build-essential autoconf automake libtool pkg-config libarchive-dev libblkid-dev uuid-dev)
# What container images as sources need besides; without these a build has all the rest, and says so.
deps_build_extra=(libjansson-dev nettle-dev)
deps_test=("${deps_build[@]}" check xz-utils)
# What single tests need besides. A test skips, with a reason, where one of these cannot be installed.
deps_test_extra=(acl attr bzip2 cpio e2fsprogs genimage libarchive-tools lz4 lzip lzop ncompress procps python3 skopeo squashfs-tools strace time umoci
	util-linux-extra xxd zip zstd)

# Print the prefix with which this user can install packages ("env" or "sudo -n env"); fails if there is none.
deps_become_root() {
	command -v apt-get >/dev/null || return 1
	if [ "$(id -u)" = 0 ]; then
		echo env
	elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		echo "sudo -n env"
	else
		return 1
	fi
}

# deps_install_once LOG PACKAGE...: 0 if apt-get installed all of them.
deps_install_once() {
	local log=$1 as
	shift
	as=$(deps_become_root) || return 1
	# shellcheck disable=SC2086
	$as DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1 </dev/null
}

# deps_install LOG PACKAGE...: the same; on failure update the package lists, which are often missing or stale on a fresh
# machine or in a container, and try again.
deps_install() {
	local log=$1 as
	deps_install_once "$@" && return 0
	as=$(deps_become_root) || return 1
	# shellcheck disable=SC2086
	$as apt-get update >>"$log" 2>&1 </dev/null && deps_install_once "$@"
}

# deps_need LOG PACKAGE...: install what is missing, or say exactly what to install and stop. What is said includes the packages for
# container images, so that the build that follows has all features.
deps_need() {
	local log=$1 missing
	shift
	mapfile -t missing < <(deps_missing "$@")
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ -n "${XW_NO_INSTALL-}" ]; then
		note "not installing anything (XW_NO_INSTALL is set)"
	elif deps_become_root >/dev/null; then
		note "installing ${missing[*]}"
		deps_install "$log" "${missing[@]}" || tail -n 15 "$log" >&2
	fi
	mapfile -t missing < <(deps_missing "$@")
	[ ${#missing[@]} -eq 0 ] && return 0
	mapfile -t missing < <(deps_missing "$@" "${deps_build_extra[@]}")
	printf '\n%s needs packages that are not installed and that it cannot install. Run:\n\n' "${0##*/}" >&2
	printf '    sudo apt-get install %s\n\n' "${missing[*]}" >&2
	printf 'and start it again (on another distribution: the same things under its names).\n' >&2
	exit 1
}

# deps_want LOG CONSEQUENCE PACKAGE...: install what is missing as far as possible. What stays missing is named, with the consequence,
# and fails nothing.
deps_want() {
	local log=$1 so=$2 missing want why=
	shift 2
	mapfile -t missing < <(deps_missing "$@")
	if [ -n "${XW_NO_INSTALL-}" ]; then
		why="XW_NO_INSTALL is set"
	elif ! deps_become_root >/dev/null; then
		why="no right to install packages"
	elif [ ${#missing[@]} -gt 0 ]; then
		note "installing ${missing[*]}"
		# One package that the mirror does not have must not keep out the others.
		deps_install "$log" "${missing[@]}" || for want in "${missing[@]}"; do
			deps_install_once "$log" "$want"
		done
		mapfile -t missing < <(deps_missing "$@")
		why=$(grep '^E: ' "$log" | tail -n 1)
	fi
	[ ${#missing[@]} -eq 0 ] || note "missing, $so: ${missing[*]} (${why:-see $log})"
}

# logged LOG WHAT COMMAND...: run quietly; on failure show the end of the log and stop.
logged() {
	local log=$1 what=$2
	shift 2
	printf '\n$ %s\n' "$*" >>"$log"
	"$@" >>"$log" 2>&1 </dev/null && return 0
	{
		printf '\n%s failed. The end of %s:\n\n' "$what" "$log"
		tail -n 30 "$log"
	} >&2
	return 1
}

# Processors to use, at least one and without starving a small machine of memory.
deps_jobs() {
	nproc 2>/dev/null || echo 1
}

# build_configure DIR LOG [CONFIGURE-ARGUMENT...]: an up-to-date configured build tree in DIR.
build_configure() {
	local dir=$1 log=$2 stamp
	shift 2
	if [ ! -e "$root/configure" ] || [ ! -e "$root/Makefile.in" ] ||
		[ ! -e "$root/build-aux/tap-driver.sh" ] ||
		[ -n "$(find "$root/configure.ac" "$root/Makefile.am" "$root/m4/xw.m4" "$root"/*/Makemodule.am \
			"$root"/lib/*/Makemodule.am -newer "$root/configure")" ]; then
		(cd "$root" && logged "$log" "autoreconf" autoreconf -fi) || return 1
	fi
	mkdir -p "$dir"
	stamp="$dir/.configured-with"
	# What configure finds is a part of it: quickstart may have configured before runtests installed Check.
	set -- "$@" "with check $(pkg-config --modversion check 2>/dev/null), libedit $(pkg-config --modversion libedit 2>/dev/null), oci $(
		pkg-config --modversion jansson nettle 2>/dev/null | xargs)"
	if [ ! -e "$dir/config.status" ] || [ "$root/configure" -nt "$dir/config.status" ] ||
		[ "$(cat "$stamp" 2>/dev/null)" != "$*" ]; then
		(cd "$dir" && logged "$log" "configure" "$root/configure" "${@:1:$#-1}") || return 1
		printf '%s\n' "$*" >"$stamp"
	fi
}
