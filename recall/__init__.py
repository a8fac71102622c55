"""The read path: query to evidence.

``engine`` runs it top down: analyse, search the index (or scan, degraded), floor, look up
surroundings, score, collapse, pack under a token budget, render as fenced evidence. Reading
never writes; the caller records ``context.served``.
"""
