"""The benchmarks: ``python -m bench`` runs them all and writes ``results.json``."""
