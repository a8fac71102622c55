"""An evaluation as a picture: bars in SVG, written by hand so that nothing has to be installed."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from memstream.schemas.counting import quantity
from memstream.service.evaluating_figures import EvalReport, Scores

_SHOWN = {
    "recall_at_5": "recall@5",
    "recall_at_10": "recall@10",
    "mean_reciprocal_rank": "MRR",
    "recall_in_300_tokens": "in 300 tokens",
    "recall_in_600_tokens": "in 600 tokens",
    "recall_in_1200_tokens": "in 1,200 tokens",
}
_COLOURS = ("#1f6feb", "#8b949e", "#2da44e", "#bf8700", "#8250df", "#cf222e")
_BAR, _GAP, _LEFT, _WIDTH, _TOP = 14, 18, 130, 420, 56


def plotted(report: EvalReport) -> str:
    """An SVG document with three groups of bars: recall beside its baselines, the categories, and
    the ablation where there is one. Every bar carries its value."""
    groups = [
        ("Beside the baselines", {"memstream": report.overall, **report.baselines}),
        ("By category", report.by_category),
    ]
    if report.ablation:
        groups.append(("Ablation", {"all": report.overall, **report.ablation}))
    parts: list[str] = []
    y = _TOP
    for title, series in groups:
        if series:
            drawn, y = _group(title, series, y)
            parts += drawn
    title = f"memstream eval: {report.format}, embedder {report.embedder}"
    under = f"{quantity(report.overall.questions, 'question')}, {quantity(report.turns, 'turn')}"
    width = _LEFT + _WIDTH + 60
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" '
            f'viewBox="0 0 {width} {y}" font-family="sans-serif" font-size="11">',
            f'<rect width="{width}" height="{y}" fill="white"/>',
            _text(16, 22, title, size=14, bold=True),
            _text(16, 40, under),
            *parts,
            "</svg>",
            "",
        ]
    )


def _group(title: str, series: Mapping[str, Scores], y: int) -> tuple[list[str], int]:
    parts = [_text(16, y + 12, title, bold=True)]
    y += 24
    x = 16
    for at, name in enumerate(series):
        colour = _COLOURS[at % len(_COLOURS)]
        wide = 24 + 6.5 * len(name)
        if x > 16 and x + wide > _LEFT + _WIDTH + 40:
            x, y = 16, y + 16
        parts.append(f'<rect x="{x:.0f}" y="{y}" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(x + 14, y + 9, name))
        x += int(wide)
    y += 22
    for figure, label in _SHOWN.items():
        parts.append(_text(16, y + 11, label))
        for at, scores in enumerate(series.values()):
            value = float(getattr(scores, figure))
            colour = _COLOURS[at % len(_COLOURS)]
            width = max(1.0, value * _WIDTH)
            parts.append(
                f'<rect x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR - 3}" '
                f'fill="{colour}"/>'
            )
            parts.append(_text(_LEFT + width + 4, y + 9, f"{value:.3f}", size=9))
            y += _BAR
        y += _GAP - 8
    return parts, y + _GAP


def _text(x: float, y: float, text: str, *, size: int = 11, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}"{weight}>{escape(text)}</text>'
