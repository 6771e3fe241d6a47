#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Drawings say what the text beside them says, in one set of colors, and do not overwrite the image.
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
dbg() {
	T_TOOL=xw-debugfs
	run_tool "$BIN/xw-debugfs" /dev/null "$@"
}

"$MKFS" -q -O itree -N 8000 img 256M
"$BIN/xw-age" -q --profile pazdera --dirs 2 --files 4000 --ops 12000 --size 0-8k --svg age.svg img
dbg -R "itree_check /age/dir-0000" img
works "an aged directory has an itree"
cat >look.py <<'END'
import re, xml.dom.minidom

class Svg:
    def __init__(self, path):
        d = xml.dom.minidom.parse(path)
        of = lambda name, e=d: e.getElementsByTagName(name)  # noqa: E731
        self.texts = [t.firstChild.data for t in of("text")]
        self.style = of("style")[0].firstChild.data
        self.boxes = [(r.getAttribute("class"), of("title", r)[0].firstChild.data) for r in of("rect") if of("title", r)]
        self.paths = [p.getAttribute("class") for p in of("path")]

    def number(self, pattern):
        return [int(n.replace(",", "")) for n in re.search(pattern, "\n".join(self.texts)).groups()]
END
export PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1

dbg -R "itree_dump --svg tree.svg /age/dir-0000" img
works "itree_dump --svg"
is "  prints nothing" [ ! -s .out ]
dbg --json -R "itree /age/dir-0000" -R "stats" img
is "  levels, nodes, fill, and reads in both orders" python3 - <<'END'
import json, re
from look import Svg
tree, stats = (json.loads(line)["result"] for line in open(".out"))
sb = stats["superblock"] if "superblock" in stats else stats
nodes, names = [], []
def walk(n):
    nodes.append(n)
    for e in n["entries"]:
        walk(e["node"]) if "node" in e else names.append((e["hash"], e["inode"]))
walk(tree)
svg = Svg("tree.svg")
assert svg.number(r"([\d,]+) names in ([\d,]+) nodes") == [len(names), len(nodes)], svg.texts
levels = [int(re.match(r"Level (\d)", t)[1]) for t in svg.texts if t.startswith("Level")]
assert levels == sorted({n["level"] for n in nodes}, reverse=True) and len(levels) > 1
cells = [re.match(r"block (\d+): (\d+) entries, ([\d.]+) % full", t) for _, t in svg.boxes]
cells = {int(m[1]): (int(m[2]), float(m[3])) for m in cells if m}
assert sorted(cells) == sorted(n["block"] for n in nodes)
for n in nodes:
    count, full = cells[n["block"]]
    assert count == n["count"] and abs(full - 100 * n["used"] / n["capacity"]) < .51, n["block"]
per, size = int(sb["inodes_per_group"]), int(sb["inode_size_bytes"])
def reads(order):
    at = [((i - 1) // per, (i - 1) % per * size // sb["block_size_bytes"]) for i in order]
    return sum(1 for k, a in enumerate(at) if not k or a != at[k - 1])
by_tree = [i for _, i in names]
assert by_tree == sorted(by_tree)
assert svg.number(r"of the itree: ([\d,]+) read") == [reads(by_tree)]
assert svg.number(r"of hashes.*: ([\d,]+) read") == [reads([i for _, i in sorted(names)])]
assert len(svg.paths) == 2
END
is "  - goes to standard output" sh -c '"$1" -R "itree --svg - /age/dir-0000" img | cmp - tree.svg' _ "$BIN/xw-debugfs"
dbg -R "itree --svg x.svg /age" -R "itree --svg" -R "itree --svg a --svg b /" img
is "  without an itree, or without a file: said" sh -c 'grep -q "has no itree" .err && [ "$(grep -c "usage: itree_dump \[--svg FILE\] DIR" .err)" = 2 ]'

dbg -R "mb_structs_summary --svg mb.svg" img
works "mb_structs_summary --svg"
dbg --json -R mb_structs_summary -R mb_groups img
is "  groups, and both kinds of lists" python3 - <<'END'
import json, re
from look import Svg
summary, groups = (json.loads(line)["result"] for line in open(".out"))
svg = Svg("mb.svg")
cells = [c for c, t in svg.boxes if re.match(r"group \d+: longest free run", t)]
assert len(cells) == summary["groups"] == len(groups["groups"])
assert [c == "c0" for c in cells] == [g["free_clusters"] == 0 for g in groups["groups"]]
listed = sum(int(re.search(r": (\d+) group", t)[1]) for _, t in svg.boxes if t.startswith("order "))
assert listed == 2 * (summary["groups"] - summary["full_groups"]), listed
END
"$BIN/xw-freefrag" --svg free.svg img >/dev/null
is "one set of colors in all drawings" python3 - <<'END'
from look import Svg
drawings = [Svg(n + ".svg") for n in ("age", "free", "mb", "tree")]
assert len({d.style for d in drawings}) == 1 and "prefers-color-scheme:dark" in drawings[0].style
legends = [[t for t in d.texts if t == "full" or t.startswith("\u2265")] for d in drawings]
assert len(legends[1]) == 9 and legends[1] == legends[2] and legends[0] == 2 * legends[1], legends
END
cp img before
dbg -R "itree --svg img /age/dir-0000" -R "mb_structs_summary --svg img" img
is "a drawing over the image is refused" [ "$(grep -c 'would overwrite the image' .err)" = 2 ]
is "  and the image is what it was" cmp before img
dbg --json -R "mb_structs_summary --svg -" img
is "--json --svg - is refused" grep -q 'exclude each other' .out .err
done_testing 12
