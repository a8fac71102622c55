"""memstream: the memory data plane for LLM agents."""
