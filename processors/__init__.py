"""Pure decisions: capture, gate, extract, resolve, enrich, and the grammars they read with.

Nothing here reads a clock, randomness, the network or the environment. A processor takes state
and an event and returns events (see ``pipeline``).
"""
