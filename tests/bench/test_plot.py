"""The plot is an SVG that anybody can show."""

import itertools
import math
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.bench import bench_bridge, bench_command, bench_emit, bench_runners, plot
from tests.bench.rows import Row, Section, Who

SVG = "{http://www.w3.org/2000/svg}"


def row(what: str, ratio: float, who: Who = "peer") -> Row:
    return Row(what=what, value=ratio * 0.001, floor=0.001, against="/bin/true", who=who)


def section(*rows: Row, is_drawn: bool = True) -> Section:
    return Section(title="Programs & hooks", about="a", rows=(row("/bin/true", 1.0, "floor"), *rows), is_drawn=is_drawn)


def drawn(*sections: Section) -> ET.Element:
    return ET.fromstring(plot.draw(sections))  # noqa: S314 - our own


def bars(root: ET.Element) -> list[tuple[str, float]]:
    found = [each for each in root.iter(f"{SVG}rect") if each.get("height") == str(plot.BAR)]
    return [(each.get("class", ""), float(each.get("width", ""))) for each in found]


def texts(root: ET.Element) -> list[str]:
    return [each.text or "" for each in root.iter(f"{SVG}text")]


def test_plot_is_well_formed_and_names_stay_what_they_are() -> None:
    root = drawn(section(row("a <b> & 'c'", 20)))

    assert root.tag == f"{SVG}svg"
    assert "a <b> & 'c'" in texts(root)
    assert "Programs & hooks" in texts(root)


def test_bars_are_logarithms_of_the_ratios_the_quickest_first() -> None:
    root = drawn(section(row("slow", 1000), row("ours", 10, "ours"), row("middle", 100)))
    (floor, first), *others = bars(root)

    assert (floor, first) == ("floor", 3.0)
    assert [name for name, _ in others] == ["ours", "peer", "peer"]
    widths = [width for _, width in others]
    assert all(math.isclose(each, widths[0] * power, abs_tol=0.2) for power, each in enumerate(widths, 1))
    assert max(widths) <= plot.WIDTH - plot.LABELS - plot.FIGURES + 0.1


def test_figures_stand_behind_the_bars() -> None:
    said = texts(drawn(section(row("ours", 2.5, "ours"), row("slow", 150))))

    assert "2.5× · 2.5 ms" in said  # noqa: RUF001 - the sign that is shown
    assert "150× · 150 ms" in said  # noqa: RUF001


def test_ratio_below_one_has_room_on_the_axis() -> None:
    root = drawn(section(row("quicker", 0.5, "ours")))

    assert [name for name, width in bars(root) if width > 3] == ["ours", "floor"]


def test_rows_without_figure_or_of_no_side_and_sections_not_to_be_drawn_have_no_bar() -> None:
    hidden = section(row("hidden", 5), is_drawn=False)
    shown = section(Row(what="gone", who="peer", missing="not installed here"), row("a goal", 2, ""))

    assert len(bars(drawn(hidden, shown))) == 1


def test_panels_do_not_overlap_and_the_picture_is_high_enough() -> None:
    root = drawn(section(row("a", 2)), section(row("b", 3), row("c", 4)))
    rows = [each for each in root.iter(f"{SVG}rect") if each.get("height") == str(plot.BAR)]
    heights = [float(each.get("y", "")) for each in rows]

    assert all(after - before >= plot.BAR + plot.GAP for before, after in itertools.pairwise(heights))
    assert heights[-1] + plot.BAR + plot.FOOT <= float(root.get("height", ""))


def test_plot_reads_on_dark_ground_and_has_nothing_that_acts_or_is_fetched() -> None:
    text = plot.draw([section(row("ours", 2, "ours"))])

    assert "prefers-color-scheme: dark" in text
    assert all(word not in text.lower() for word in ("<script", "href", "url(", "@import", "onload", "foreignobject"))


def test_nothing_to_draw_is_still_a_picture() -> None:
    assert bars(drawn()) == []


def test_every_label_of_the_benchmarks_fits_before_the_bars() -> None:
    modules = (bench_bridge, bench_command, bench_emit, bench_runners)
    names = {text for module in modules for key, text in vars(module).items() if key.isupper() and _is_label(text)}
    names |= set(bench_runners.NAMES.values()) - {bench_emit.WRITTEN}

    # seven and a half units are what a letter of this size takes on average
    assert [name for name in names - {bench_emit.WRITTEN} if len(name) * 7.5 > plot.LABELS] == []


def _is_label(value: object) -> bool:
    return isinstance(value, str) and "\n" not in value


def test_committed_plot_is_well_formed() -> None:
    path = Path(__file__).resolve().parent.parent.parent / "docs" / "benchmarks.svg"
    if not path.exists():
        pytest.skip("no run of everything has written one yet")

    assert bars(ET.fromstring(path.read_text("utf-8")))  # noqa: S314 - our own
