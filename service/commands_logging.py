"""Where log lines go: standard error, warnings only unless asked, so that answers stay clean."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import structlog

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


def configure_logging(verbose: int, *, as_json: bool = False) -> None:
    """Log lines on standard error: warnings, with 1 also information, with 2 everything."""
    import structlog

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
    if not any(isinstance(each, _OfLibraries) for each in logging.root.handlers):
        logging.root.addHandler(_OfLibraries())
    # Theirs one level less: what is information for them is for whoever debugs here.
    logging.root.setLevel(logging.INFO if verbose >= 2 else logging.WARNING)


class _OfLibraries(logging.Handler):
    """What libraries (Faust, the Kafka clients) log is told as our own lines are, under the name
    of their ``logger``."""

    def emit(self, record: logging.LogRecord) -> None:
        import structlog

        # Levels of their own, between the usual ones, count as the next lower one.
        level = max(logging.DEBUG, min(logging.CRITICAL, record.levelno // 10 * 10))
        structlog.get_logger().log(
            level, record.getMessage(), logger=record.name, exc_info=record.exc_info
        )


def _on_standard_error(*_: Any) -> structlog.PrintLogger:
    """A logger on what standard error is at this moment, not on what it was at the start."""
    import structlog

    return structlog.PrintLogger(sys.stderr)
