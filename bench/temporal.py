"""How well dates are understood: right, wrong and unresolved on recorded expressions.

    PYTHONPATH=src:. python bench/temporal.py [--failures] [FILE ...]

Each file is a JSON list of cases: `input`, `observed_at` (taken as UTC) and `expect`, a list of
`{text, any_of}` where `any_of` holds the accepted `[start, end)` days; an end of null is the one
day. The language comes from the file's name (`*_en.json`, `*_zh.json`).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.measures import SHARED, Row, row, shared
from memstream.processors.dates import DateSpan, find_dates

MEASURES = SHARED / "data" / "temporal"


def measure(path: str | Path) -> dict[str, float]:
    """Shares of right, wrong and unresolved expectations (0 to 1), and their total number."""
    verdicts = [verdict for verdict, _ in judged(Path(path))]
    total = len(verdicts)
    shares = {name: verdicts.count(name) / max(total, 1) for name in _VERDICTS}
    return shares | {"total": total}


_VERDICTS = ("right", "wrong", "unresolved")


def rows() -> Iterator[Row]:
    """The shares of right and wrong, for each language."""
    for language in ("en", "zh"):
        shares = measure(shared("data", "temporal", f"dev_{language}.json"))
        yield row(f"dates right, {language}", shares["right"], "share", at_least=0.85)
        yield row(f"dates wrong, {language}", shares["wrong"], "share", at_most=0.05)


def judged(path: Path) -> Iterator[tuple[str, str]]:
    """Each expectation's verdict, with a line that explains it."""
    language = path.stem.rsplit("_", 1)[-1]
    for case in json.loads(path.read_text(encoding="utf-8")):
        anchor = datetime.fromisoformat(case["observed_at"]).replace(tzinfo=UTC)
        spans = find_dates(case["input"], anchor, language)
        for expected in case["expect"]:
            verdict = _verdict(case["input"], expected, spans)
            yield verdict, _explained(verdict, case, expected, spans)


def _verdict(text: str, expected: dict[str, Any], spans: list[DateSpan]) -> str:
    accepted = {_interval(pair) for pair in expected["any_of"]}
    if any((span.start, span.end) in accepted for span in spans):
        return "right"
    at = text.lower().find(expected["text"].lower())
    for span in spans:
        overlaps = at < 0 or (span.start_char < at + len(expected["text"]) and span.end_char > at)
        if overlaps and span.unresolved is None:
            return "wrong"
    return "unresolved"


def _interval(pair: list[str | None]) -> tuple[datetime, datetime]:
    assert pair[0] is not None
    start = datetime.fromisoformat(pair[0]).replace(tzinfo=UTC)
    if pair[1] is None:
        return start, start + timedelta(days=1)
    return start, datetime.fromisoformat(pair[1]).replace(tzinfo=UTC)


def _explained(
    verdict: str, case: dict[str, Any], expected: dict[str, Any], spans: list[DateSpan]
) -> str:
    wanted = " or ".join(f"{a}..{b or ''}" for a, b in expected["any_of"])
    got = "; ".join(
        f"{span.text!r} {span.unresolved or f'{_day(span.start)}..{_day(span.end)}'}"
        for span in spans
    )
    return (
        f"{verdict:10} {case['observed_at'][:10]} {case['input']!r}\n"
        f"           wanted {expected['text']!r} {wanted}\n           got    {got or 'nothing'}"
    )


def _day(moment: datetime | None) -> str:
    return moment.isoformat()[:16].removesuffix("T00:00") if moment else ""


def speed(text: str, rounds: int = 2000) -> float:
    """Microseconds for one call on `text`."""
    anchor = datetime(2024, 3, 1, tzinfo=UTC)
    find_dates(text, anchor)
    begun = time.perf_counter()
    for _ in range(rounds):
        find_dates(text, anchor)
    return (time.perf_counter() - begun) / rounds * 1e6


_SPEED_TEXTS = {
    "no date, en": "The cat slept under the old kitchen table while birds sang outside the house.",
    "no date, zh": "那只猫安静地趴在厨房的旧桌子底下，看着窗外的小鸟。",
    "dated, en": "We moved here two weeks ago and I start the new job on the 3rd of June 2024.",
    "dated, zh": "我们两周前搬到了里斯本，2024年6月3日开始上班。",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--failures", action="store_true", help="print what is not right")
    arguments = parser.parse_args()
    for path in arguments.files or [MEASURES / "dev_en.json", MEASURES / "dev_zh.json"]:
        if not path.exists():
            print(f"{path}: not here, skipped")
            continue
        if arguments.failures:
            for verdict, line in judged(path):
                if verdict != "right":
                    print(line)
        result = measure(path)
        shares = "  ".join(f"{name} {100 * result[name]:5.1f} %" for name in _VERDICTS)
        print(f"{path.name}: {shares}  of {result['total']:.0f}")
    for name, text in _SPEED_TEXTS.items():
        print(f"{name}: {speed(text):.1f} µs")


if __name__ == "__main__":
    main()
