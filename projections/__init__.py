"""Disposable indexes: vectors (``in_edge``, ``in_qdrant``), analytics (``in_duckdb``); embedders,
generations.

Everything here can be deleted and is rebuilt from the log.
"""
