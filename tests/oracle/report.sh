#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The report of the benchmarks as people see it: the page of the results that are in the repository, opened by a browser; and the
# pictures in RESULTS.md, which are those of these results.
. "$(dirname "$0")/../cli/lib.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
export PYTHONDONTWRITEBYTECODE=1
bench=$XW_SRC/tests/bench
pictures=$bench/pictures

# Each benchmark has its place on the page, also those that these results lack.
python3 - "$bench" "$pictures/results.json" <<'END' >all.json
import json, re, sys
names = re.search(r'^NAMES = \((.*)\)', open(sys.argv[1] + "/run").read(), re.M)[1].replace('"', "").split(", ")
results = json.load(open(sys.argv[2]))
have = {b["name"]: b for b in results["benches"]}
results["benches"] = [have.get(name, dict(have["fill"], name=name)) for name in names]
json.dump(results, sys.stdout)
END
is "results in the repository make a page" python3 "$bench/report.py" all.json report.html
is "each piece has a picture, a table beside others, and a word on where we lose" python3 - "$pictures/results.json" <<'END'
import json, sys
benches = {b["piece"]: b for b in json.load(open(sys.argv[1]))["benches"]}
for piece in ("alloc", "xattr", "untar", "itree"):
    b = benches[piece]
    assert [i["kind"] for i in b["items"] if i.get("main")] == ["plot"] and b["beside"] and b["losses"], piece
    assert any(isinstance(c, dict) and c["q"] for row in b["beside"] for c in row), piece
END
is "the page needs nothing from elsewhere" sh -c '! grep -E "<script|<link|<img|url\(|@import|src=" report.html'
mkdir again
python3 "$bench/report.py" --pictures "$pictures/results.json" again alloc untar
for picture in "$pictures"/*.svg; do
	is "$(basename "$picture") is of these results, and in RESULTS.md" sh -c \
		'cmp "$1" "again/$(basename "$1")" && grep -q "(pictures/$(basename "$1"))" "$2"' _ "$picture" "$XW_SRC/tests/bench/RESULTS.md"
done

# What the browser's look must notice.
cat >bad.html <<'END'
<!doctype html><title>x</title><div style="width: 900px">wide</div>
<figure><svg viewBox="0 0 100 20" aria-label="Empty" width="90"><text x="90" y="10">beyond the edge</text></svg></figure>
<script>console.error("complaint")</script>
END
python3 "$XW_SRC/tests/kit/report_page.py" bad.html report.html "$pictures"/*.svg >seen 2>.err
if [ $? = 2 ]; then
	skip "in a browser" "$(cat seen)" 3
else
	grep '^bad.html, ' seen >bad
	is "a page that is too wide, a complaint, an empty plot, text beyond its edge are noticed" sh -c \
		'grep -q "400 pixels: the page is 9.. pixels wide" bad && grep -q "1400 pixels, dark: complaint" bad &&
		grep -q "Empty: no data" bad && grep -q "cut off" bad && ! grep -q "1400.*pixels wide" bad'
	is "the page has plots, and so have the pictures of RESULTS.md" sh -c \
		'grep -q "^report.html: [1-9][0-9]* plots" seen && [ "$(grep -c "svg: 1 plots" seen)" = 2 ]'
	equal "no complaint, nothing too wide, all plots have data, no text is cut off" "$(grep ', .* pixels' seen | grep -v '^bad.html' ; cat .err)" ""
fi
done_testing 8
