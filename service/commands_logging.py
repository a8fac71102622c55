"""Where log lines go: standard error, warnings only unless asked, so that answers stay clean."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


def configure_logging(verbose: int, *, as_json: bool = False) -> None:
    """Log lines on standard error: warnings, with 1 also information, with 2 everything."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if as_json:
        shared += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        shared.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()))
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[min(verbose, 2)]),
        logger_factory=_on_standard_error,
        cache_logger_on_first_use=False,
    )


def _on_standard_error(*_: Any) -> structlog.PrintLogger:
    """A logger on what standard error is at this moment, not on what it was at the start."""
    return structlog.PrintLogger(sys.stderr)
