"""The log and what runs on it: the log's protocol and its stores, key ring, embedded runtime,
importers, replay, and the clock.
"""
