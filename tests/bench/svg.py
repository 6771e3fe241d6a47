# SPDX-License-Identifier: MIT
"""Plots as SVG: in the page, where they follow its light and dark, and as files of their own.

No library: a page without scripts needs bars and lines only, each of them twice, for a wide and for a narrow screen.
"""
import html
import math
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
WIDE, NARROW = 760, 350  # user units; a letter is about LETTER of them wide
LETTER = 7
COLORS = 7  # --c0 .. --c6 in report.css


def number(v):
    if v is None:
        return ""
    a = abs(v)
    if a >= 1e6:
        return "%.3g M" % (v / 1e6)
    if a >= 10000:
        return "%.3g k" % (v / 1e3)
    if a >= 100 or v == int(v):
        return "%.0f" % v
    return "%.3g" % v


def text(x, y, s, anchor="start", cls=""):
    return '<text x="%.1f" y="%.1f" text-anchor="%s" class="%s">%s</text>' % (x, y, anchor, cls, html.escape(str(s)))


def wrap(width, height, label, parts):
    return '<svg class="%s" viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg>' % (
        "wide" if width == WIDE else "narrow", width, height, html.escape(label, True), "".join(parts))


def broken(label, letters):
    """A label in lines of at most so many letters, as far as its words allow."""
    lines = [""]
    for word in str(label).split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > letters:
            lines.append("")
        lines[-1] = (lines[-1] + " " + word).strip()
    return lines


def legend(series, y, width):
    """Colored squares; nothing where the title says it all."""
    if len(series) < 2:
        return [], y
    parts, x = [], 4
    for i, s in enumerate(series):
        long = 18 + LETTER * len(s["name"]) + 12
        if x > 4 and x + long > width:
            x, y = 4, y + 18
        parts.append('<rect x="%.1f" y="%.1f" width="11" height="11" rx="2" class="f%d"/>' % (x, y, i % COLORS))
        parts.append(text(x + 16, y + 10, s["name"]))
        x += long
    return parts, y + 28


def scale(values, log):
    """From a value to 0..1, and the values of the grid."""
    known = [v for v in values if v is not None and (v > 0 or not log)]
    if not known:
        return (lambda v: 0), []
    high = max(known)
    if log:
        lo, hi = math.floor(math.log10(min(known))), math.ceil(math.log10(high) - 1e-9)
        if 10 ** lo == min(known):
            lo -= 1
        hi = max(hi, lo + 1)
        step = max(1, (hi - lo) // 6)
        return (lambda v: (math.log10(v) - lo) / (hi - lo) if v and v > 0 else 0), [10 ** k for k in range(lo, hi + 1, step)]
    step = 10 ** math.floor(math.log10(high)) if high > 0 else 1
    for part in (0.2, 0.5, 1, 2):
        if high / (step * part) <= 6:
            step *= part
            break
    top = step * math.ceil(high / step) if high > 0 else 1
    return (lambda v: v / top), [k * step for k in range(int(round(top / step)) + 1)]


def bars(p, width):
    """Horizontal, a group for each x. Labels stand at the left, or above their bars where there is no room."""
    series, x = p["series"], p["x"]
    ours = [bool(re.search(r"extwright|xw-|^itree$", str(v))) for v in x]
    above = width == NARROW
    left = 6 if above else min(330, max(90, 16 + LETTER * max(len(str(v)) for v in x)))
    right = width - 62
    to, grid = scale([v for s in series for v in s["values"]], p["log"])
    parts, y = legend(series, 4, width)
    if above and len(grid) > 5:
        grid = grid[::2]
    top, bar = y, 17 if len(series) == 1 else 13
    body = []
    for i, label in enumerate(x):
        lines = broken(label, (width if above else left) / LETTER - 2)
        if above:
            for line in lines:
                body.append(text(left, y + 12, line))
                y += 16
        else:
            high = max(bar * len(series), 14 * len(lines))
            first = y + high / 2 + 4 - 7 * (len(lines) - 1)
            body += [text(left - 8, first + 14 * k, line, "end") for k, line in enumerate(lines)]
            y += (high - bar * len(series)) / 2
        for k, s in enumerate(series):
            v = s["values"][i]
            if v is not None:
                w = max(1.5, to(v) * (right - left))
                cls = "f%d" % ((k if len(series) > 1 else 0 if ours[i] or not any(ours) and i == 0 else 1) % COLORS)
                body.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2" class="%s"><title>%s %s: %s %s</title></rect>' % (
                    left, y + k * bar, w, bar - 2, cls, html.escape(str(label)), html.escape(s["name"]), number(v), html.escape(p["unit"])))
                body.append(text(left + w + 5, y + k * bar + bar - 4, number(v), "start", "value"))
        y += bar * len(series) + 9 + (0 if above else (high - bar * len(series)) / 2)
    for g in grid:
        gx = left + to(g) * (right - left)
        parts.append('<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="grid"/>' % (gx, gx, top, y))
        if gx < width - 22 - LETTER * len(p["unit"]):
            parts.append(text(gx, y + 14, number(g), "middle" if gx > 12 else "start", "axis"))
    parts.append(text(width - 4, y + 14, p["unit"], "end", "axis"))
    return wrap(width, y + 24, p["title"], parts + body)


def lines(p, width):
    """The x axis is logarithmic if what is compared grows tenfold, else linear (p["xlog"] False)."""
    series, xs = p["series"], p["x"]
    left, right, height = 56, width - 20, 250
    to, grid = scale([v for s in series for v in s["values"]], p["log"])
    lx = [math.log(v) for v in xs] if p.get("xlog", True) else xs
    span = (max(lx) - min(lx)) or 1
    at_x = lambda i: left + 14 + (lx[i] - min(lx)) / span * (right - left - 28)  # noqa: E731
    parts, top = legend(series, 4, width)
    parts.append(text(4, top + 4, p["unit"], "start", "axis"))
    top += 18
    bottom = top + height
    at_y = lambda v: bottom - to(v) * height  # noqa: E731
    for g in grid:
        parts.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" class="grid"/>' % (left, right, at_y(g), at_y(g)))
        parts.append(text(left - 6, at_y(g) + 4, number(g), "end", "axis"))
    last = -99
    for i, v in enumerate(xs):
        if at_x(i) - last > 34:
            last = at_x(i)
            parts.append(text(last, bottom + 16, number(v), "middle", "axis"))
    for k, s in enumerate(series):
        points = [(at_x(i), at_y(v), v, xs[i]) for i, v in enumerate(s["values"]) if v is not None]
        parts.append('<polyline points="%s" class="l%d"/>' % (" ".join("%.1f,%.1f" % at[:2] for at in points), k % COLORS))
        parts += ['<circle cx="%.1f" cy="%.1f" r="3.5" class="f%d"><title>%s, %s: %s %s</title></circle>' % (
            a, b, k % COLORS, html.escape(s["name"]), number(x), number(v), html.escape(p["unit"])) for a, b, v, x in points]
    parts.append(text(right, bottom + 32, p["xlabel"], "end", "axis"))
    return wrap(width, bottom + 40, p["title"], parts)


def draw(p, width=WIDE):
    return {"bars": bars, "lines": lines}[p["plot"]](p, width)


def alone(p, source):
    """A file of its own: the page's colors, a title, and where it is from."""
    with open(os.path.join(HERE, "report.css")) as f:
        css = f.read()
    css = css[:css.index("/* page */")]
    whole = draw(p)
    high = int(re.search(r'viewBox="0 0 \d+ (\d+)"', whole)[1])
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="-12 -34 %d %d" width="%d" height="%d" role="img" aria-label="%s" font-family="sans-serif">\n'
            "<style>\n%s</style>\n"
            '<rect x="-12" y="-34" width="%d" height="%d" fill="var(--page)"/>\n<text x="0" y="-12" style="font-size:15px;font-weight:bold">%s</text>\n'
            "%s\n%s\n</svg>\n" % (
                WIDE + 24, high + 62, WIDE + 24, high + 62, html.escape(p["title"], True), css, WIDE + 24, high + 62, html.escape(p["title"]),
                re.sub("(?<=>)(?=<(?:rect|text|line|polyline|circle))", "\n", whole[whole.index(">") + 1:-len("</svg>")]),
                text(WIDE, high + 18, source, "end", "axis")))
