"""The figure of docs/capacity.md: a bar for each stack, drawn as SVG."""

from html import escape
from pathlib import Path

FIGURE = Path(__file__).parents[3] / "docs" / "bench.svg"
WIDTH, LEFT, RIGHT, ROW, TOP = 780, 230, 90, 34, 64

STYLE = """
    text { font: 14px system-ui, sans-serif; fill: #1f2328 }
    .title { font-weight: 600; font-size: 16px }
    .note { font-size: 12px; fill: #59636e }
    .ours { fill: #1a7f37 } .floor { fill: #9a9ea5 } .peer { fill: #4f83cc }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 } .note { fill: #9198a1 }
      .ours { fill: #3fb950 } .floor { fill: #6e7681 } .peer { fill: #6ca0e8 }
    }
"""


def draw(bars, note):
    """Write the figure.

    Args:
        bars: Name, microseconds and class of each.
        note: What stands below the title.
    """
    longest = max(value for _, value, _ in bars)
    height = TOP + ROW * len(bars) + 12
    rows = [
        _row(TOP + ROW * number, name, value, (WIDTH - LEFT - RIGHT) * value / longest, kind)
        for number, (name, value, kind) in enumerate(bars)
    ]
    title = "A request for a guarded view: microseconds, shorter is better"
    FIGURE.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        f' aria-label="{title}">\n  <style>{STYLE}  </style>\n'
        f'  <text class="title" x="16" y="26">{title}</text>\n'
        f'  <text class="note" x="16" y="46">{escape(note)}</text>\n' + "".join(rows) + "</svg>\n",
        encoding="utf-8",
    )


def _row(top, name, value, length, kind):
    return (
        f'  <text x="{LEFT - 10}" y="{top + 19}" text-anchor="end">{escape(name)}</text>\n'
        f'  <rect class="{kind}" x="{LEFT}" y="{top + 4}" width="{max(length, 1):.1f}" height="20"'
        ' rx="2"/>\n'
        f'  <text x="{LEFT + length + 8:.1f}" y="{top + 19}">{value:.0f} µs</text>\n'
    )
