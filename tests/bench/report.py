#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One self-contained page from results.json:  report.py RESULTS.json REPORT.html
or its main pictures as files:                report.py --pictures RESULTS.json DIR [PIECE...]

The page says first what each of the four pieces of research brings and where it does not: the question, its picture, this run beside
the kernel, stock tools and the research. Then it shows every table and plot that the benchmarks recorded.
"""
import html
import json
import os
import re
import sys

import record
import svg

HERE = os.path.dirname(os.path.abspath(__file__))
# The four pieces: what they ask, and who asked first.
PIECES = {
    "alloc": ("Finding space in a huge, fragmented filesystem", "group order lists, Harshad Shirwadkar, 2021",
              "A disk of 60 TiB is full of small holes: 491,520 groups, and none has 2 MiB free in one piece. "
              "How many of them must be looked at before a request for 2 MiB is answered?"),
    "xattr": ("Storing equal attributes once", "the mbcache rewrite, Jan Kara, 2016",
              "Many files carry the same extended attributes (labels, ACLs), which could share one block. "
              "What does it cost to find that block, for P processes at a time that set attributes of F files each to V different values?"),
    "untar": ("Writing an archive at the speed of the disk", "Untar unleashed, Daniel Phillips, 2014",
              "An archive is unpacked onto a spinning disk, and metadata has to be written besides the contents. "
              "When and where must it be written, so that the disk never seeks?"),
    "itree": ("Listing a large directory without thrashing", "the inode-ordered tree, Radek Pazdera, 2013",
              "ext4 returns names in the order of hashes, so that whoever looks at each file reads the inode tables criss-cross. "
              "What does a second index, by inode number, save?"),
}


def esc(s):
    return html.escape(str(s), True)


def rich(s):
    """`code` in running text."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", esc(s))


class Page:
    def __init__(self, results):
        self.results, self.benches, self.parts = results, results["benches"], []
        self.sources = []

    def add(self, *parts):
        self.parts += parts

    def source(self, name):
        if name not in self.sources:
            self.sources.append(name)
        return self.sources.index(name) + 1

    # ---- pieces of a bench ----

    def cell(self, c, words=False):
        if isinstance(c, dict):
            n = self.source(c["q"])
            return '<td class="q" title="quoted: %s">%s&thinsp;<a href="#source%d">†%d</a></td>' % (esc(c["q"]), esc(record.plain(c["v"])), n, n)
        words = words or isinstance(c, str) and len(c) > 14 and not c[:1].isdigit()
        return "<td%s>%s</td>" % (' class="words"' if words else "", rich(record.plain(c)))

    def table(self, t):
        is_words = lambda c: isinstance(c, str) and not re.match(r"[-\d.]", c)  # noqa: E731
        # a column of text is read from the left
        words = [any(column) and all(is_words(c) for c in column) for column in zip(*t["rows"])]
        rows = ["<tr>%s</tr>" % "".join(self.cell(c, w) for c, w in zip(row, words)) for row in t["rows"]]
        body = '<div class="scroll"><table><thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>' % (
            "".join("<th%s>%s</th>" % (' class="words"' if w else "", rich(h)) for h, w in zip(t["head"], words or [False] * len(t["head"]))),
            "".join(rows))
        if t["note"]:
            body += '<p class="note">%s</p>' % rich(t["note"])
        if t["fold"]:
            return "<details><summary>%s (%d rows)</summary>%s</details>" % (rich(t["title"]), len(rows), body)
        return "<h3>%s</h3>%s" % (rich(t["title"]), body)

    def item(self, i):
        if i["kind"] == "table":
            return self.table(i)
        if i["kind"] == "plot":
            note = "<figcaption>%s</figcaption>" % rich(i["note"]) if i["note"] else ""
            return "<figure><b>%s</b>%s%s%s</figure>" % (rich(i["title"]), svg.draw(i), svg.draw(i, svg.NARROW), note)
        return "<p>%s</p>" % rich(i["text"])

    def lists(self, b):
        return "".join('<ul class="%s">%s</ul>' % (k, "".join("<li>%s</li>" % rich(t) for t in b[k])) for k in ("gains", "losses") if b[k])

    def tiles(self, b):
        return '<div class="tiles">%s</div>' % "".join(
            "<div><b>%s</b><span>%s</span></div>" % (esc(h["value"]), rich(h["label"])) for h in b["headlines"])

    def goals(self, b):
        rows = []
        for g in b["goals"]:
            state = {None: ("", "not measured"), True: ("met", "met"), False: ("missed", "missed")}[g["met"]]
            rows.append('<tr><td>%s</td><td>%s %s</td><td>%s</td><td class="%s">%s</td></tr>' % (
                rich(g["what"]), esc(record.plain(g["got"])), esc(g["unit"] if g["got"] is not None else ""),
                esc(("at least " if g["at_least"] else "at most ") + record.plain(g["wanted"]) + " " + g["unit"]), *state))
        if not rows:
            return ""
        return ("<h3>What was to be reached</h3><div class=\"scroll\"><table><thead><tr><th></th><th>measured</th><th>wanted</th>"
                "<th></th></tr></thead><tbody>%s</tbody></table></div>" % "".join(rows))

    # ---- the page ----

    def beside(self, b):
        """This run, the peers in it, and the research, in one table."""
        rows = b.get("beside", [])
        if not rows:
            return ""
        head = ("", "extwright", "Linux, stock tools", "the research")
        return '<h3>Side by side</h3><div class="scroll"><table class="beside"><thead><tr>%s</tr></thead><tbody>%s</tbody></table></div>' % (
            "".join("<th>%s</th>" % h for h in head),
            "".join("<tr>%s</tr>" % "".join(self.cell(c, not i) for i, c in enumerate(row)) for row in rows))

    def in_short(self):
        """A line for each piece: what it brings most, and where it does not."""
        rows = []
        for piece, (title, _, _) in PIECES.items():
            b = next((b for b in self.benches if b["piece"] == piece), None)
            if b and b["headlines"]:
                h = b["headlines"][0]
                rows.append('<tr><td><a href="#piece-%s">%s</a></td><td><b>%s</b> %s</td><td>%s</td></tr>' % (
                    piece, esc(title), esc(h["value"]), rich(h["label"]), rich(b["losses"][0]) if b["losses"] else "nothing found in this run"))
        if rows:
            self.add('<table class="short"><thead><tr><th>question</th><th>what it brings</th><th>where it does not, or where we lose</th></tr></thead>'
                     "<tbody>%s</tbody></table>" % "".join(rows))

    def piece(self, piece):
        title, who, question = PIECES[piece]
        b = next((b for b in self.benches if b["piece"] == piece), None)
        self.add('<div class="piece" id="piece-%s"><h2>%s <span>%s</span></h2><p>%s</p>' % (piece, esc(title), esc(who), esc(question)))
        if b:
            self.add(self.tiles(b), *[self.item(i) for i in b["items"] if i.get("main")], self.beside(b),
                     self.lists(dict(b, gains=b["gains"][:3], losses=b["losses"][:3])),
                     '<p class="note"><a href="#%s">All tables of this experiment</a></p>' % b["name"])
        else:
            self.add("<p>Not measured in this run.</p>")
        self.add("</div>")

    def head(self):
        m = self.results["machine"]
        quick = [b.get("quick", self.results["quick"]) for b in self.benches]
        goals = [g for b in self.benches for g in b["goals"]]
        missed = [(b, g) for b in self.benches for g in b["goals"] if g["met"] is False]
        met = sum(g["met"] is True for g in goals)
        self.add("<h1>extwright: what four pieces of ext4 research bring, measured</h1>",
                 "<p>extwright makes, changes and reads ext4 images offline. Its allocator, attribute sharing, write order and inode-ordered "
                 "directories come from four published pieces of work. This page repeats their experiments with extwright on real images, beside "
                 "the Linux kernel and the stock tools on the same machine in the same run.</p>",
                 '<p class="soft">%s run of %s, extwright %s, %s, processors: %s, %s of memory; %s. <b>+</b> is what a piece brings, <b>&minus;</b> where it '
                 "does not or where we lose. Seconds on a spinning disk are of a model that "
                 "gets the reads and writes that were made. Counts of our tools and seconds of the model repeat in each run (within 1 %%; the number of writes, by several threads, within 5 %%); seconds "
                 "here are not, on a busy machine by a factor of two and more. A figure with † was not measured here: it is quoted from the source that the mark links to.</p>" % (
                     "Quick" if all(quick) else "Partly quick" if any(quick) else "Full", esc(m["date"]), esc(m["extwright"]), esc(m["kernel"]), esc(m["processors"]),
                     esc(m["memory"]), esc(m["load"])))
        self.in_short()
        for piece in PIECES:
            self.piece(piece)
        self.add("<p>Of %d figures that were to be reached, %d were met and %d were missed%s.</p>" % (
            len(goals), met, len(missed), ", %d not measured in this run" % (len(goals) - met - len(missed)) if met + len(missed) < len(goals) else ""))
        if missed:
            self.add('<ul class="losses">%s</ul>' % "".join('<li><a href="#%s">%s</a>: %s: %s instead of %s %s</li>' % (
                b["name"], esc(b["name"]), rich(g["what"]), esc(record.plain(g["got"])), esc(record.plain(g["wanted"])), esc(g["unit"]))
                for b, g in missed))
        self.add("<nav>All tables: %s</nav>" % " ".join('<a href="#%s">%s</a>' % (b["name"], esc(b["name"])) for b in self.benches))

    def bench(self, b):
        self.add('<section id="%s"><h2>%s</h2>' % (b["name"], esc(b["title"])),
                 '<p class="soft">A quick run: a sample, one round or few.</p>' if b.get("quick") else "", "<p>%s</p>" % rich(b["intro"]) if b["intro"] else "")
        self.add(self.lists(b), *[self.item(i) for i in b["items"] if not i.get("main")], self.goals(b), "</section>")

    def tail(self):
        rows = "".join("<tr><td>%s</td><td class=\"words\">%s</td></tr>" % (esc(k), esc(v)) for k, v in self.results["machine"].items())
        self.add("<h2>Machine and versions</h2><table>%s</table>" % rows)
        took = ", ".join("%s %.0f s" % (b["name"], b["seconds"]) for b in self.benches)
        self.add('<p class="note">Time taken: %s. The same figures for programs: results.json. Made by tests/bench/report.py, '
                 'plots by svg.py beside it: no library, no script, nothing from elsewhere.</p>' % esc(took))
        if self.results.get("failed"):
            self.add("<p>Not finished in this run: %s.</p>" % esc(", ".join(self.results["failed"])))
        if self.sources:
            self.add("<h2>† Quoted figures</h2><ol>%s</ol>" % "".join(
                '<li id="source%d">%s</li>' % (i + 1, rich(s)) for i, s in enumerate(self.sources)))

    def render(self):
        self.head()
        for b in self.benches:
            self.bench(b)
        self.tail()
        with open(os.path.join(HERE, "report.css")) as f:
            css = f.read()
        return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
                "<title>extwright: benchmark report</title><style>\n%s</style></head><body><main>\n%s\n</main></body></html>\n" % (
                    css, "\n".join(self.parts)))


def pictures(results, out, pieces):
    """DIR/PIECE.svg: its main picture. results: what results.json holds."""
    for b in results["benches"]:
        plot = next((i for i in b["items"] if i.get("main")), None)
        if plot and b["piece"] in (pieces or PIECES):
            when = "%s, extwright %s" % (results["machine"]["date"][:10], results["machine"]["extwright"].split()[0])
            with open(os.path.join(out, b["piece"] + ".svg"), "w") as f:
                f.write(svg.alone(plot, when))


def main():
    as_files = sys.argv[1:2] == ["--pictures"]
    with open(sys.argv[2 if as_files else 1]) as f:
        results = json.load(f)
    if as_files:
        pictures(results, sys.argv[3], sys.argv[4:])
        return
    page = Page(results).render()
    with open(sys.argv[2], "w") as f:
        f.write(page)


if __name__ == "__main__":
    main()
