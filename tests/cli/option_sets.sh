#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The options of a tool's table, as its --help prints them, are those of its manual page with its synopsis, and of the completions; and its
# parser knows them, with and without a value.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "needs python3"
tools=$(echo xw-{age,debugfs,dump,export,freefrag,fsck,import,mkfs,tune,undo})
"$XW_SRC/build-aux/completions" made "$BIN"/xw-{age,debugfs,dump,export,freefrag,fsck,import,mkfs,tune,undo}
page_of() { if [ -e "$XW_SRC/man/$1.8" ]; then echo "$XW_SRC/man/$1.8"; else echo "$XW_SRC/man/$1.8.in"; fi; }

cat >sets.py <<'PY'
"""sets.py table|short|values|lists|named|synopsis: one option a line from the text on standard input"""
import re
import sys

text = sys.stdin.read()
what = sys.argv[1]
found = set()


def rows():
    """The rows of --help: letter, long name, value, text."""
    found = re.findall(r"^  (-\w)?(?:, |    |(?=[ \n]))(--[\w-]+)?(?: (\S+))?(?:$|\s{2,}(.*))", text, re.M)
    return [row for row in found if row[0] or row[1]]


def table():
    for letter, name, _, _ in rows():
        found.update({letter, name} - {""})


def short():
    """One name of each row that does something by itself."""
    for letter, name, _, about in rows():
        if name != "--help" and not re.match("always on|the same$|ignored", about):
            found.add(letter or name)


def values():
    """Each name, with a value behind it if it takes one."""
    for letter, name, value, _ in rows():
        found.update(option + (" 1" if value else "") for option in {letter, name} - {""})


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


{"table": table, "short": short, "values": values, "lists": lists, "named": named, "synopsis": synopsis}[what]()
print("\n".join(sorted(found)))
PY

for tool in $tools; do
	"$BIN/$tool" --help >source
	: >wrong
	for set in table short values; do python3 sets.py $set <source >$set; done
	is "$tool: its table of options" test "$(wc -l <table)" -gt 8
	equal "  it fits in 80 columns" "$(grep -E '.{81}' source | grep -vE '^ +--[a-z-]+ [^ ]+$')" ""
	python3 sets.py named <"$(page_of $tool)" >named
	equal "  the manual page has all of them" "$(comm -23 table named | tr '\n' ' ')" ""
	python3 sets.py lists <"$(page_of $tool)" >lists
	equal "  and lists no other" "$(comm -13 table lists | tr '\n' ' ')" ""
	bash -c '. "made/bash/$1"; COMP_WORDS=("$1" -) COMP_CWORD=1; "_${1//-/_}"; printf "%s\n" "${COMPREPLY[@]}"' _ $tool | sort -u >offered
	is "  the completions the same" diff table offered
	# --version ends the command line, unless it is the value of the option before
	sed -n '/ 1$/d; /^\(-h\|-V\|--help\|--version\)$/d; p' values >bare
	[ "$tool" != xw-dump ] || echo -h >>bare
	# shellcheck disable=SC2046
	"$BIN/$tool" $(cat bare) --version 2>&1 | grep -q '^xw-[a-z]* (' || while read -r option; do
		"$BIN/$tool" "$option" --version 2>&1 | grep -q '^xw-[a-z]* (' || echo "$option"
	done <bare >wrong
	sed -n 's/ 1$//p' values | while read -r option; do
		"$BIN/$tool" "$option" --version </dev/null 2>&1 | grep -q '^xw-[a-z]* (' && echo "$option"
	done >>wrong
	equal "  the parser knows which take a value" "$(cat wrong)" ""
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
done_testing 86
