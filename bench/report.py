#!/usr/bin/env python3
"""What the benchmarks measured, as one page with tables and plots; bench/run.sh ends with it.

Usage: bench/report.py RESULTS PAGE           RESULTS is a folder of *.json, or one file that --merge wrote
       bench/report.py RESULTS --merge FILE   all rows as one file, to be kept with its date

A plot has a bar for each case of a group: its median time as a multiple of the group's first case, the shorter the better.
The scale is logarithmic, so that half and twice are as far from one. Needs Python alone.
"""

import argparse
import datetime
import html
import json
import math
import pathlib
import textwrap
from dataclasses import dataclass, field

LABEL, BAR, VALUE, LINE = 300, 380, 150, 24
PEERS = ("malloc", "memcpy", "memset", "Rust", "nanobind", "pybind11", "tvm-ffi", "numpy", "NumPy", "torch", "OpenCV", "cv2", "Pillow")
PEERS += ("hand-written", "a bare function", "by hand", "the same by hand", "indices of C", "strides by hand", "plain C", "safetensors")
PEERS += ("read(2)", "write(2)", "O_DIRECT", "system calls", "its own system calls", "simplejpeg", "libjpeg", "libpng", "libwebp")
SIDE_BY_SIDE = ("NumPy", "torch", "OpenCV", "plain C", "half")
MOST_BARS = 60
OURS, THEIRS, TEXT, RULE = "#1f5fa8", "#6b7178", "#101418", "#c9ced6"

STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #101418; --soft: #4d545c; --line: #c9ced6; }
@media (prefers-color-scheme: dark) { :root { --back: #131416; --text: #e3e6ea; --soft: #a9b0b9; --line: #3c4249; } }
body { background: var(--back); color: var(--text); font: 16px/1.5 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; margin: 0.5em 0 1.5em; display: block; overflow-x: auto; }
th, td { text-align: left; padding: 0.15em 1em 0.15em 0; border-bottom: 1px solid var(--line); }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
p.soft { color: var(--soft); } svg { max-width: 100%; height: auto; }
"""


@dataclass
class Group:
    """Cases that took turns: name, median in nanoseconds, ratio to the first where the benchmark gives one (by the rounds,
    which is steadier than that of the medians), and the verdicts on their targets."""

    name: str
    cases: list[tuple[str, float, float | None, list[dict]]] = field(default_factory=list)

    def ratios(self):
        """Each case with its time as a multiple of the first one's."""
        first = self.cases[0][1]
        return [(name, ratio or median / first) for name, median, ratio, _ in self.cases]


@dataclass
class Source:
    """One benchmark's rows: what was measured on, groups, and rows of another shape, as they are."""

    name: str
    machine: str = ""
    groups: list[Group] = field(default_factory=list)
    others: list[dict] = field(default_factory=list)


# ---- Reading ----


def rows_of(text):
    """A list in JSON, or an object a line."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    return found if isinstance(found, list) else [found]


def merged(place):
    """The date, and the rows of each benchmark by its name."""
    if place.is_file():
        kept = json.loads(place.read_text())
        return kept["date"], kept["rows"]
    files = sorted(path for path in place.glob("*.json") if path.read_text().strip())
    if not files:
        raise SystemExit(f"there are no results in {place}")
    newest = max(path.stat().st_mtime for path in files)
    return datetime.date.fromtimestamp(newest).isoformat(), {path.stem: rows_of(path.read_text()) for path in files}


def source(name, rows):
    """Sorted out: rows with a group, a case and a median become groups."""
    made = Source(name)
    groups = {}
    for row in rows:
        median = row["median_ns"] if "median_ns" in row else row.get("median_ms", 0) * 1e6
        if "machine" in row:
            made.machine = ", ".join(str(row[key]) for key in ("machine", "versions") if row.get(key))
        elif "group" in row and "case" in row and median > 0:
            title = row["group"] + (f", rank {row['rank']}" if row.get("rank", 0) > 0 else "")
            group = groups.setdefault(title, Group(title))
            targets = [target for target in row.get("targets", []) if target]
            group.cases.append((row["case"], median, row.get("ratio"), targets))
        else:
            made.others.append(row)
    made.groups = list(groups.values())
    made.groups += fastest(made.others)
    return made


def fastest(rows):
    """Rows that have dlpark and its peers side by side, as multiples of a floor: each gets its ratio to the fastest peer, and
    where they are not too many for one, a plot has them."""
    group = Group("dlpark, as a multiple of the fastest peer", [("the fastest peer", 0.0, 1.0, [])])
    for row in rows:
        peers = [row[key] for key in SIDE_BY_SIDE if isinstance(row.get(key), (int, float)) and row[key] > 0]
        if peers and row.get("dlpark", 0) > 0:
            row["of the fastest peer"] = ratio = round(row["dlpark"] / min(peers), 3)
            group.cases.append((str(row.get("case", f"{row.get('from')} to {row.get('to')}")), 0.0, ratio, []))
    return [group] if 1 < len(group.cases) <= MOST_BARS else []


# ---- Writing ----


def plot(group, note=""):
    """The bars of a group as SVG, with a description for those who do not see them."""
    ratios = group.ratios()
    low = min(math.log2(ratio) for _, ratio in ratios)
    high = max(1.0, max(math.log2(ratio) for _, ratio in ratios))
    scale = BAR / (high - min(low, -1.0))

    def place(ratio):
        return LABEL + (math.log2(ratio) - min(low, -1.0)) * scale

    notes = textwrap.wrap(note, 125)
    height = LINE * (len(ratios) + 2) + 15 * len(notes)
    width = LABEL + BAR + VALUE
    said = "; ".join(f"{name} {ratio:.2f}" for name, ratio in ratios)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'font-family="sans-serif" font-size="13">',
        f"<title>{html.escape(group.name)}</title>",
        f"<desc>Median times as multiples of the first: {html.escape(said)}</desc>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="{LINE - 7}" font-weight="bold" fill="{TEXT}">{html.escape(group.name)}</text>',
        f'<line x1="{place(1):.1f}" y1="{LINE}" x2="{place(1):.1f}" y2="{LINE * (len(ratios) + 1)}" stroke="{RULE}"/>',
    ]
    for i, (name, ratio) in enumerate(ratios):
        top = LINE * (i + 1)
        left, right = sorted((place(1), place(ratio)))
        colour = THEIRS if theirs(name) else OURS
        lines += [
            f'<text x="{LABEL - 10}" y="{top + 17}" text-anchor="end" fill="{TEXT}">{html.escape(name)}</text>',
            f'<rect x="{left:.1f}" y="{top + 5}" width="{max(right - left, 2):.1f}" height="{LINE - 9}" fill="{colour}"/>',
            f'<text x="{right + 6:.1f}" y="{top + 17}" fill="{TEXT}">{ratio:.2f}</text>',
        ]
    for i, text in enumerate(notes):
        below = LINE * (len(ratios) + 2) + 15 * i
        lines.append(f'<text x="8" y="{below}" font-size="11" fill="{TEXT}">{html.escape(text)}</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def theirs(name):
    """Whether a case is a peer's, or a floor, by its name."""
    return name.startswith((*PEERS, "the fastest"))


def table(group):
    lines = ["<table><tr><th>case</th><th>median</th><th>of the first</th><th>targets</th></tr>"]
    for (name, median, _, targets), (_, ratio) in zip(group.cases, group.ratios(), strict=True):
        verdicts = "; ".join(
            f"{'ok' if target['ok'] else 'missed'}: {target['ratio']:.2f} of {target['against']} (at most {target['at_most']:.2f})"
            for target in targets
        )
        shown = time_text(median) if median else ""
        cells = f"<td class=number>{shown}</td><td class=number>{ratio:.2f}</td><td>{html.escape(verdicts)}</td>"
        lines.append(f"<tr><td>{html.escape(name)}</td>{cells}</tr>")
    return "\n".join([*lines, "</table>"])


def time_text(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.1f} ns"


def other_table(rows):
    """Rows of another shape: their keys are the columns."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["<table><tr>" + "".join(f"<th>{html.escape(key)}</th>" for key in keys) + "</tr>"]
    for row in rows:
        cells = (row.get(key, "") for key in keys)
        texts = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells)
        lines.append("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in texts) + "</tr>")
    return "\n".join([*lines, "</table>"])


def page(date, sources):
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>dlpark: what was measured, {date}</title><style>{STYLE}</style>",
        f"<h1>dlpark: what was measured</h1><p class=soft>{date}. A bar is a median time as a multiple of the first row of its "
        "group, on a logarithmic scale: to the left of the line is faster. Blue is dlpark, grey are peers and floors. Compare "
        "within a group only; a lead under 1.2 is noise.</p>",
        "<ul>" + "".join(f"<li><a href='#{item.name}'>{item.name}</a>" for item in sources) + "</ul>",
    ]
    for item in sources:
        parts.append(f"<h2 id='{item.name}'>{item.name}</h2><p class=soft>{html.escape(item.machine)}</p>")
        for group in item.groups:
            parts += [f"<h3>{html.escape(group.name)}</h3>", plot(group), table(group)]
        if item.others:
            parts.append(other_table(item.others))
    return "\n".join(parts) + "</html>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("page", type=pathlib.Path, nargs="?")
    parser.add_argument("--merge", type=pathlib.Path, metavar="FILE", help="all rows as one file")
    options = parser.parse_args()
    date, rows = merged(options.results)
    if options.merge:
        options.merge.write_text(json.dumps({"date": date, "rows": rows}, indent=1) + "\n")
    if options.page:
        options.page.write_text(page(date, [source(name, found) for name, found in rows.items()]))
        print(f"the page is {options.page}")


if __name__ == "__main__":
    main()
