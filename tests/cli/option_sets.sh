#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The options of a tool's table are those of its --help, of its manual page with its synopsis, and of the completions. The table is read
# from the preprocessed source, not by what makes the completions.
. "$(dirname "$0")/lib.sh"
compiler=${CC:-cc}
command -v "${compiler%% *}" >/dev/null || skip_all "needs a C compiler's preprocessor"
command -v python3 >/dev/null || skip_all "needs python3"
"$XW_SRC/build-aux/completions" "$XW_SRC" made

source_of() {
	case $1 in
	xw-freefrag | xw-undo) echo "misc/${1#xw-}/main.c" ;;
	xw-fsck) echo e2fsck/args.c ;;
	xw-debugfs) echo debugfs/args.c ;;
	*) echo "misc/${1#xw-}/args.c" ;;
	esac
}
page_of() { if [ -e "$XW_SRC/man/$1.8" ]; then echo "$XW_SRC/man/$1.8"; else echo "$XW_SRC/man/$1.8.in"; fi; }

cat >sets.py <<'PY'
"""sets.py table|short|help|lists|named|synopsis: one option a line from the text on standard input"""
import re
import sys

text = sys.stdin.read()
what = sys.argv[1]
found, rows = set(), []


def table():
    """Rows of {key, has_arg, name, action, ...}: the letter, and the long name."""
    body = text[re.search(r"cli_row rows\[\] = \{", text).end():]
    body = body[:body.index("};")]
    for key, name, action in re.findall(r"\{\s*([^,]+),[^,]+,\s*\"([^\"]+)\"\s*,\s*(\w+)", body):
        names = ["-" + key[1]] if re.match(r"'(.)'", key) else []
        if name.startswith("--"):
            names.append(name)
        if action != "CLI_REFUSED":
            rows.append((action, names))
            found.update(names)


def short():
    """One name of each row that does something by itself."""
    table()
    found.clear()
    for action, names in rows:
        if action not in ("CLI_ALIAS", "CLI_ALWAYS", "CLI_HELP"):
            found.add(names[0])


def shown():
    """Where a line or a column of the help begins, and behind a comma or semicolon there."""
    for word in re.findall(r"(?:^ *|  +|, |; )(--?[A-Za-z0-9][A-Za-z0-9-]*)", text, re.M):
        found.add(word if word.startswith("--") else word[:2])


def flags(line, letters):
    """The arguments of the macro Fl in a line."""
    on = False
    for word in line.lstrip(".").split():
        if word == "Fl":
            on = True
        elif re.fullmatch(r"[A-Z][a-z]", word):
            on = False
        elif on and re.match(r"\\?-?\w", word):
            word = word.replace("\\-", "-")
            if word.startswith("-"):
                found.add("-" + word)
            else:
                found.update("-" + c for c in (word if letters else word[:1]))


def sections():
    return re.findall(r"^\.Sh ([^\n]*)\n(.*?)(?=^\.Sh |\Z)", text, re.M | re.S)


def lists():
    """The lists of options; one within a list is of what a request or a format takes."""
    depth = 0
    for name, body in sections():
        if name in ("SYNOPSIS", "REQUESTS", "COMMANDS", "EXAMPLES"):
            continue
        for line in body.split("\n"):
            depth += line.startswith(".Bl") - line.startswith(".El")
            if depth == 1 and line.startswith(".It Fl"):
                flags(line, False)


def named():
    """Anywhere but in the synopsis: some are told of in a sentence."""
    for name, body in sections():
        if name != "SYNOPSIS":
            for line in body.split("\n"):
                flags(line, False)


def synopsis():
    for name, body in sections():
        if name == "SYNOPSIS":
            for line in body.split("\n"):
                flags(line, True)
            if ".Op Ar options" in body:
                found.add("options")


{"table": table, "short": short, "help": shown, "lists": lists, "named": named, "synopsis": synopsis}[what]()
print("\n".join(sorted(found)))
PY

for tool in xw-age xw-debugfs xw-dump xw-export xw-freefrag xw-fsck xw-import xw-mkfs xw-tune xw-undo; do
	# shellcheck disable=SC2086
	$compiler -E -P -I"$XW_BUILD" -I"$XW_SRC/lib" -I"$XW_SRC/misc" -I"$XW_SRC/e2fsck" -I"$XW_SRC" "$XW_SRC/$(source_of $tool)" 2>.err |
		tee source | python3 sets.py table >table
	python3 sets.py short <source >short
	is "$tool: its table of options" test "$(wc -l <table)" -gt 8
	"$BIN/$tool" --help | python3 sets.py help >help
	is "  --help has the same" diff table help
	python3 sets.py named <"$(page_of $tool)" >named
	equal "  the manual page has all of them" "$(comm -23 table named | tr '\n' ' ')" ""
	python3 sets.py lists <"$(page_of $tool)" >lists
	equal "  and lists no other" "$(comm -13 table lists | tr '\n' ' ')" ""
	bash -c '. "made/bash/$1"; COMP_WORDS=("$1" -) COMP_CWORD=1; "_${1//-/_}"; printf "%s\n" "${COMPREPLY[@]}"' _ $tool | sort -u >offered
	is "  the completions the same" diff table offered
	python3 sets.py synopsis <"$(page_of $tool)" >synopsis
	if grep -qx options synopsis; then
		pass "  its synopsis leaves some out, and says so"
	else
		equal "  its synopsis has each" "$(comm -23 short synopsis | tr '\n' ' ')" ""
	fi
	equal "  and no other" "$(grep -vx options synopsis | comm -13 table - | tr '\n' ' ')" ""
done

# ---- the keys of -E ----

# The rows of these tables are read from the source as it is.
while read -r tool source pattern; do
	sed -nE "s/^\t$pattern.*/\1/p" "$XW_SRC/$source" | sort -u >keys
	is "$tool -E: the table of keys" test "$(wc -l <keys)" -gt 10
	while read -r key; do
		grep -qE "(^\.Cm|^\.It Cm|[ ,]Cm|[ ,]) ?(${key}|${key#no_})([= ,]|$)" "$(page_of "$tool")" || echo "$key"
	done <keys >unnamed
	equal "  the manual page has all of them" "$(tr '\n' ' ' <unnamed)" ""
done <<'TABLE'
xw-mkfs lib/plan/params_ext.c \{"([a-z_0-9-]+)", ARG_
xw-fsck e2fsck/check/extended.c [F{][LAG(]*"([a-z_0-9]+)"
xw-tune lib/tune/option_lists.c \{"([a-z_0-9-]+)", (true|false), set_
TABLE
done_testing 76
