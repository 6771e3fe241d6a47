#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Completions offer every option that --help lists, and nothing that the tool does not know.
. "$(dirname "$0")/lib.sh"

"$XW_SRC/build-aux/completions" made "$BIN"/xw-{age,debugfs,dump,export,freefrag,fsck,import,mkfs,tune,undo} >.out 2>.err
is "completions are made" test ! -s .err

# listed TOOL: the options that its help begins a line or a column with.
listed() {
	"$BIN/$1" --help | grep -oE '(^ *|  +|, |; )--?[A-Za-z][a-z0-9-]*' | grep -oE -- '--?[A-Za-z][a-z0-9-]*' |
		sed 's/^-\([A-Za-z]\)..*/-\1/' | sort -u
}
# offered TOOL WORD: what bash would offer for that word, one a line.
offered() {
	bash -c '. "made/bash/$1"; COMP_WORDS=("$1" "${@:2}") COMP_CWORD=$(($# - 1)); "_${1//-/_}"; printf "%s\n" "${COMPREPLY[@]}"' \
		_ "$@" | sort -u
}

for tool in xw-age xw-debugfs xw-dump xw-export xw-freefrag xw-fsck xw-import xw-mkfs xw-tune xw-undo; do
	listed $tool >help
	offered $tool - >bash
	is "$tool: --help lists options" test "$(wc -l <help)" -gt 8
	equal "  bash offers all of them" "$(comm -23 help bash | tr '\n' ' ')" ""
	grep -oE -- "\*-[A-Za-z0-9-]+" made/zsh/_$tool | cut -c2- | sort -u >zsh
	sed -n 's/^complete -c [^ ]* -l \([^ ]*\).*/--\1/p; s/^complete -c [^ ]* -s \([^ ]*\).*/-\1/p' made/fish/$tool.fish | sort -u >fish
	is "  zsh the same" cmp bash zsh
	is "  fish the same" cmp bash fish
	while read -r option; do
		"$BIN/$tool" $option </dev/null >.out 2>&1
		! grep -E "unknown option|not supported by this version" .out
	done <bash >unknown
	equal "  the tool knows all of them" "$(cat unknown)" ""
done
equal "a prefix" "$(offered xw-mkfs --free | tr '\n' ' ')" "--free --free-inodes "
equal "values" "$(offered xw-mkfs --whiteouts '' | tr '\n' ' ')" "apply keep overlay "
equal "  and files elsewhere" "$(offered xw-mkfs -d '')" ""
for shell in zsh fish; do
	if command -v $shell >/dev/null; then
		for file in made/$shell/*; do $shell -n "$file" || echo "$file"; done >.out 2>&1
		is "$shell reads its files" test ! -s .out
	else
		skip "$shell reads its files" "$shell is not installed" 1
	fi
done
if command -v fish >/dev/null; then
	equal "fish completes" "$(fish -c 'source made/fish/xw-mkfs.fish; complete -C "xw-mkfs --free-"')" --free-inodes
else
	skip "fish completes" "fish is not installed" 1
fi
done_testing 57
