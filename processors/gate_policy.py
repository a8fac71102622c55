"""The gate's policy: its thresholds and weights."""

from __future__ import annotations

import hashlib

import msgspec


class GatePolicy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every threshold and weight of the gate. Part of the pipeline's fingerprint.

    ``admit_at`` is the least score of a turn that is stored; lengths count characters.
    """

    version: str = "gate-1"
    admit_at: float = 0.25
    weight_utility: float = 0.35
    weight_confidence: float = 0.25
    weight_lifetime: float = 0.2
    weight_sensitivity: float = 0.1
    weight_contradiction: float = 0.1
    suspicious_at: float = 0.5
    suspicious_model_text_at: float = 0.8
    """For what a model said or a person pasted: such text asks and advises anyway, so only stock
    phrases of attacks count, and they must be plain."""
    longest_tool_prose: int = 2000
    shared_scopes_wait: bool = True
    served_lines_at_most: int = 64

    def fingerprint(self) -> str:
        """A hash over the whole policy; equal exactly when the policies are."""
        encoded = msgspec.json.encode(self, order="deterministic")
        return hashlib.sha256(encoded).hexdigest()[:16]
