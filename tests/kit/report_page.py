#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opens pages in a headless Chromium:  report_page.py FILE...

Each in light and dark, 400 and 1400 pixels wide: what the console complains of, whether the page is wider than the window, plots
without data or with text beyond their edges. One line for each problem, and one with the number of plots. Exit 0: no problems.
2: there is no Chromium that starts.
"""
import os
import sys
import tempfile

import chromium

LOOK = """(() => {
  const bad = [], room = document.documentElement;
  if (document.body && room.scrollWidth > innerWidth) bad.push(`the page is ${room.scrollWidth} pixels wide`);
  const seen = s => s.getBoundingClientRect().width > 0;
  for (const f of document.querySelectorAll('figure'))
    if ([...f.querySelectorAll('svg')].filter(seen).length != 1) bad.push(`${f.innerText.slice(0, 60)}: not one drawing`);
  const plots = [...document.querySelectorAll('svg[viewBox]')].filter(s => seen(s) && !s.parentElement?.closest('svg'));
  for (const s of plots) {
    const name = s.getAttribute('aria-label') || s.querySelector('text')?.textContent, view = s.viewBox.baseVal;
    const marks = [...s.querySelectorAll('rect, circle')].filter(m => m.querySelector('title'));
    const drawn = m => { const b = m.getBBox(); return b.width > 0 && b.height > 0 && isFinite(b.x + b.y); };
    if (!marks.length || !marks.every(drawn)) bad.push(`${name}: no data`);
    for (const t of s.querySelectorAll('text')) {
      const b = t.getBBox();
      if (b.x < view.x - 1 || b.x + b.width > view.x + view.width + 1 || b.y < view.y - 1 || b.y + b.height > view.y + view.height + 1)
        bad.push(`${name}: "${t.textContent}" is cut off`);
    }
  }
  return {bad, plots: plots.length};
})()"""


def look(browser, path):
    problems, plots = [], 0
    for width in (400, 1400):
        for dark in (False, True):
            browser.open("file://" + os.path.abspath(path), width, dark=dark)
            found = browser.run(LOOK)
            plots = found["plots"]
            problems += ["%s, %d pixels%s: %s" % (os.path.basename(path), width, ", dark" if dark else "", text) for text in found["bad"] + browser.complaints]
    return problems, plots


def main():
    program, problems = chromium.find(), []
    if not program:
        print("Chromium is not installed")
        return 2
    with tempfile.TemporaryDirectory() as profile:
        try:
            browser = chromium.Browser(program, profile)
        except (OSError, RuntimeError) as e:
            print("Chromium does not start: %s" % e)
            return 2
        with browser:
            for path in sys.argv[1:]:
                found, plots = look(browser, path)
                print("%s: %d plots" % (os.path.basename(path), plots))
                problems += found
    for p in problems:
        print(p)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
