# SPDX-License-Identifier: MIT
"""Plots as inline SVG, colored by the page's CSS variables so that they follow light and dark."""
import html
import math
import re

WIDTH = 760
LABEL = 12  # font size of all text
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


def wrap(height, label, parts):
    return '<svg viewBox="0 0 %d %d" role="img" aria-label="%s">%s</svg>' % (WIDTH, height, html.escape(label, True), "".join(parts))


def legend(series, y):
    """One line of colored squares; nothing where the title says it all."""
    if len(series) < 2:
        return [], y
    parts, x = [], 8
    for i, s in enumerate(series):
        width = 22 + 6.6 * len(s["name"]) + 14
        if x + width > WIDTH:
            x, y = 8, y + 18
        parts.append('<rect x="%.1f" y="%.1f" width="11" height="11" rx="2" class="f%d"/>' % (x, y, i % COLORS))
        parts.append(text(x + 16, y + 10, s["name"]))
        x += width
    return parts, y + 26


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


def bars(p):
    """Horizontal, a group for each x."""
    series, x = p["series"], p["x"]
    ours = [bool(re.search(r"extwright|xw-|^itree$", str(v))) for v in x]
    left = min(320, max(90, 16 + 6.9 * max(len(str(v)) for v in x)))
    right = WIDTH - 80
    to, grid = scale([v for s in series for v in s["values"]], p["log"])
    parts, y = legend(series, 4)
    top, bar = y, 17 if len(series) == 1 else 13
    body = []
    for i, label in enumerate(x):
        body.append(text(left - 8, y + bar * len(series) / 2 + 4, label, "end"))
        for k, s in enumerate(series):
            v = s["values"][i]
            if v is not None:
                w = max(1.5, to(v) * (right - left))
                cls = "f%d" % ((k if len(series) > 1 else 0 if ours[i] or not any(ours) and i == 0 else 1) % COLORS)
                body.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2" class="%s"><title>%s %s: %s %s</title></rect>' % (
                    left, y + k * bar, w, bar - 2, cls, html.escape(str(label)), html.escape(s["name"]), number(v), html.escape(p["unit"])))
                body.append(text(left + w + 5, y + k * bar + bar - 5, number(v), "start", "value"))
        y += bar * len(series) + 9
    for g in grid:
        gx = left + to(g) * (right - left)
        parts.append('<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" class="grid"/>' % (gx, gx, top, y))
        parts.append(text(gx, y + 14, number(g), "middle", "axis"))
    parts.append(text(WIDTH - 4, y + 14, p["unit"], "end", "axis"))
    return wrap(y + 24, p["title"], parts + body)


def lines(p):
    """A logarithmic x axis: the sizes that are compared grow tenfold."""
    series, xs = p["series"], p["x"]
    left, right, height = 62, WIDTH - 24, 250
    to, grid = scale([v for s in series for v in s["values"]], p["log"])
    lx = [math.log(v) for v in xs]
    span = (max(lx) - min(lx)) or 1
    at_x = lambda i: left + 14 + (lx[i] - min(lx)) / span * (right - left - 28)  # noqa: E731
    parts, top = legend(series, 4)
    bottom = top + height
    at_y = lambda v: bottom - to(v) * height  # noqa: E731
    for g in grid:
        parts.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" class="grid"/>' % (left, right, at_y(g), at_y(g)))
        parts.append(text(left - 6, at_y(g) + 4, number(g), "end", "axis"))
    for i, v in enumerate(xs):
        parts.append(text(at_x(i), bottom + 16, number(v), "middle", "axis"))
    for k, s in enumerate(series):
        points = [(at_x(i), at_y(v), v) for i, v in enumerate(s["values"]) if v is not None]
        parts.append('<polyline points="%s" class="l%d"/>' % (" ".join("%.1f,%.1f" % (a, b) for a, b, _ in points), k % COLORS))
        parts += ['<circle cx="%.1f" cy="%.1f" r="3.5" class="f%d"><title>%s: %s %s</title></circle>' % (
            a, b, k % COLORS, html.escape(s["name"]), number(v), html.escape(p["unit"])) for a, b, v in points]
    parts.append(text(4, top - 4 if top > 20 else 12, p["unit"], "start", "axis"))
    parts.append(text(right, bottom + 32, p["xlabel"], "end", "axis"))
    return wrap(bottom + 38, p["title"], parts)


def draw(p):
    return {"bars": bars, "lines": lines}[p["plot"]](p)
