"""Draw ratios as bars on a logarithmic axis, as one SVG that reads well on light and on dark ground."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from xml.sax.saxutils import escape

from tests.bench.rows import Row, Section, text_of

WIDTH: Final = 920
LABELS: Final = 400  # where the bars begin
FIGURES: Final = 120  # what is kept free behind the longest bar
TIMES: Final = "\N{MULTIPLICATION SIGN}"
BAR, GAP, HEAD, FOOT = 16, 8, 54, 34

STYLE: Final = """\
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328; }
.title { font-weight: 600; font-size: 15px; }
.soft, .tick { fill: #59636e; font-size: 11px; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.ground { fill: #ffffff; }
.floor { fill: #8c959f; } .ours { fill: #0969da; } .peer { fill: #bc4c00; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; } .soft, .tick { fill: #9198a1; } .grid { stroke: #3d444d; } .ground { fill: #0d1117; }
  .floor { fill: #656c76; } .ours { fill: #4493f8; } .peer { fill: #f0883e; }
}
"""


def drawn_rows(section: Section) -> list[Row]:
    """Give the rows that have a bar: those of the comparison itself, the quickest first."""
    rows = [row for row in section.rows if row.who and row.ratio is not None]
    return sorted(rows, key=lambda row: row.ratio or 0.0)


def draw(sections: Iterable[Section]) -> str:
    """Draw every section that is to be drawn, one below the other."""
    panels = [(section, drawn_rows(section)) for section in sections if section.is_drawn]
    body: list[str] = []
    top = 44.0
    for section, rows in panels:
        if rows:
            body += panel(section, rows, top)
            top += HEAD + len(rows) * (BAR + GAP) + FOOT
    height = math.ceil(top)
    size = f'width="{WIDTH}" height="{height}"'
    names = "; ".join(section.title for section, _ in panels)
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(f'How many times as long as the floor: {names}')}</title>",
            f"<style>\n{STYLE}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
            *legend(),
            *body,
            "</svg>\n",
        )
    )


def legend() -> Iterator[str]:
    """Say what the colours stand for."""
    x = 16
    for name, text in (("ours", "Hookline"), ("peer", "others"), ("floor", "the floor")):
        yield f'<rect class="{name}" x="{x}" y="15" width="12" height="12" rx="2"/>'
        yield f'<text class="soft" x="{x + 18}" y="25">{text}</text>'
        x += 90
    yield f'<text class="soft" x="{WIDTH - 16}" y="25" text-anchor="end">p10, logarithmic axis; shorter is better</text>'


def panel(section: Section, rows: Sequence[Row], top: float) -> Iterator[str]:
    """Draw one section: its title, the axis and its bars."""
    floor = next((row.what for row in rows if row.who == "floor" and row.what == row.against), rows[0].against)
    ratios = [row.ratio or 1.0 for row in rows]
    low = min(0, math.floor(math.log10(min(ratios))))
    high = max(1, math.ceil(math.log10(max(ratios))))
    scale = (WIDTH - LABELS - FIGURES) / (high - low)
    first, last = top + HEAD - 10, top + HEAD + len(rows) * (BAR + GAP)
    yield f'<text class="title" x="16" y="{top + 18:g}">{escape(section.title)}</text>'
    yield f'<text class="soft" x="16" y="{top + 35:g}">{escape(f"times as long as {floor}")}</text>'
    for power in range(low, high + 1):
        x = LABELS + (power - low) * scale
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{first:g}" y2="{last:g}"/>'
        yield f'<text class="tick" x="{x:.1f}" y="{last + 14:g}" text-anchor="middle">{10.0**power:,g}{TIMES}</text>'
    for number, (row, ratio) in enumerate(zip(rows, ratios, strict=True)):
        y = top + HEAD + number * (BAR + GAP)
        # what is as quick as the floor still has a bar that can be seen
        width = max(3.0, (math.log10(ratio) - low) * scale)
        figure = f"{_times(ratio)} · {text_of(row.value, row.unit)}"
        yield f'<text x="{LABELS - 8}" y="{y + 12.5:g}" text-anchor="end">{escape(row.what)}</text>'
        yield f'<rect class="{row.who}" x="{LABELS}" y="{y:g}" width="{width:.1f}" height="{BAR}" rx="2"/>'
        yield f'<text class="soft" x="{LABELS + width + 6:.1f}" y="{y + 12.5:g}">{escape(figure)}</text>'


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}{TIMES}" if ratio >= 100 else f"{ratio:.3g}{TIMES}"
