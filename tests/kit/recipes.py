#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the commands that README.md and the manuals show, one a line: recipes.py FILE...

README.md: the indented lines that call a tool, without what follows " # ", and the command of the rule for Ninja with its variables.
A manual: what a shell prompt "$ " is before, lines of a list of EXAMPLES, and the command of the rule for Bazel.
"""
import re
import sys


def shown(text):
    """A line of mdoc source as it is printed."""
    text = re.sub(r"\\\((bu|aq)", "'", text)
    return text.replace("\\e", "\\").replace("\\-", "-").replace("\\&", "")


def from_manual(lines):
    block, examples, found = False, False, []
    for line in lines:
        if line.startswith(".Sh "):
            examples = line[4:] == "EXAMPLES"
        elif line.startswith(".Bd -literal"):
            block = True
        elif line.startswith(".Ed"):
            block = False
        elif line.startswith(".Dl ") and (examples or line.startswith(".Dl $ ")):
            found.append(shown(line[4:]))
        elif block and found and found[-1].endswith("\\"):
            found[-1] = found[-1][:-1] + shown(line).strip()
        elif block and line.startswith("$ "):
            found.append(shown(line))
    commands = [re.sub(r"^\$ ", "", f) for f in found]
    rule = re.search(r'\n    cmd = ((?:"[^"]*"(?: \+\n *)?)+),\n', "\n".join(lines))
    if rule:
        command = "".join(re.findall(r'"([^"]*)"', rule.group(1)))
        uuid = "5c0f3f6e-0b64-4d0e-a3a5-7d1b2a1c9f10"
        commands.append(command.replace("$(UUID)", uuid).replace("$<", "rootfs.tar").replace("$@", "rootfs.img"))
    return commands


def from_readme(lines):
    commands, ninja = [], {}
    for line in lines:
        code = line[4:] if line.startswith("    ") else ""
        if re.match(r"(xw-|docker )", code):
            commands.append(re.sub(r"\s+# .*", "", code))
        name = re.match(r" *(command|uuid) = (.*)", code)
        if name:
            ninja[name.group(1)] = name.group(2)
        build = re.match(r"build (\S+): ext4 (\S+)", code)
        if build:
            ninja["out"], ninja["in"] = build.groups()
    if "command" in ninja:
        commands.append(re.sub(r"\$(\w+)", lambda m: ninja[m.group(1)], ninja["command"]))
    return commands


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as f:
        source = f.read().split("\n")
    for command in from_readme(source) if path.endswith(".md") else from_manual(source):
        print(command)
