"""Sealing: the typed data of every event is encrypted under its subject's data key.

An immutable log cannot be edited, so what may have to be erased is sealed when it is written;
destroying the key erases it. AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce before the
ciphertext; the envelope (id, subject, type) is authenticated with it, so sealed data cannot be
moved to another event. The codec is the only caller.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memstream.schemas.errors import SealBroken

ALGORITHM = "A256GCM"
KEY_BYTES = 32
NONCE_BYTES = 12


class KeyRing(Protocol):
    """Holds the data keys, one current key per subject. Implementations are durable.

    ``key_for`` returns the (key id, key) to seal one event of the subject with; it is made and
    stored durably first where there is none. A ring may bound how many events one key seals: it
    then goes on to a new key by itself and keeps the old one readable. ``ensure`` prepares
    ``key_for`` for many subjects at once.

    ``key_by_id`` raises ``KeyDestroyed`` for a key that was destroyed and ``SealBroken`` for one it
    never had. ``keys_by_id`` gives many keys in one query, without the destroyed and the unknown;
    ``key_by_id`` then answers for them from memory.

    ``keys`` lists the ids of the subject's keys that were not destroyed, in the order in which they
    were made.

    ``rotate`` gives the subject a new current key and keeps the old ones readable. ``destroy``
    takes every key of the subject; ``older_than`` narrows it to keys made before that one, and
    ``key_ids`` to the keys named, of which there may be none. A key named in either that is none
    of the subject's raises ``SealBroken`` and nothing is destroyed. It is durable before it
    returns, removes the keys' bytes, and returns the ids of the keys it destroyed. ``destroyed``
    lists all that ever were. After either has returned, no call of any process that starts then
    gets a key that was destroyed, or seals with one older than the new one.

    ``nonce`` is fresh randomness.
    """

    def key_for(self, subject: str) -> tuple[str, bytes]: ...

    def ensure(self, subjects: Iterable[str]) -> None: ...

    def key_by_id(self, key_id: str) -> bytes: ...

    def keys_by_id(self, key_ids: Iterable[str]) -> dict[str, bytes]: ...

    def keys(self, subject: str) -> list[str]: ...

    def rotate(self, subject: str) -> tuple[str, bytes]: ...

    def destroy(
        self,
        subject: str,
        *,
        older_than: str | None = None,
        key_ids: Collection[str] | None = None,
    ) -> list[str]: ...

    def destroyed(self, subject: str) -> list[str]: ...

    def nonce(self) -> bytes: ...

    def close(self) -> None: ...


def may_be_key_id(text: str) -> bool:
    """Whether a ring can look for the text at all. Ids come out of envelopes, so a hostile one may
    hold what a store refuses; such a key is unknown, and no fault of the store."""
    return text.isascii() and text.isprintable()


class Sealer:
    """Seals and opens bytes with the keys of a key ring."""

    def __init__(self, ring: KeyRing) -> None:
        self.ring = ring
        self._ciphers: dict[bytes, AESGCM] = {}

    def seal(self, subject: str, bound: bytes, plain: bytes) -> tuple[str, bytes]:
        """(key id, nonce + ciphertext + tag) of ``plain``, bound to the bytes ``bound``."""
        key_id, cipher = self.current(subject)
        nonce = self.ring.nonce()
        return key_id, nonce + cipher.encrypt(nonce, plain, bound)

    def current(self, subject: str) -> tuple[str, AESGCM]:
        """The id of the subject's current key, and what seals with it."""
        key_id, key = self.ring.key_for(subject)
        return key_id, self._ciphers.get(key) or self._cipher(key)

    def open(self, key_id: str, bound: bytes, sealed: bytes) -> bytes:
        """The plain bytes. Raises ``KeyDestroyed`` after an erasure, ``SealBroken`` if altered."""
        key = self.ring.key_by_id(key_id)
        try:
            return self._cipher(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], bound)
        except (InvalidTag, ValueError) as error:
            raise SealBroken(
                f"key {key_id}: sealed data does not open: it was altered, or belongs to "
                "another event; restore the log from a copy"
            ) from error

    def forget(self) -> None:
        """Drops cached ciphers; called after a key was destroyed."""
        self._ciphers.clear()

    def _cipher(self, key: bytes) -> AESGCM:
        cipher = self._ciphers.get(key)
        if cipher is None:
            if len(self._ciphers) > 10_000:
                self._ciphers.clear()
            cipher = self._ciphers[key] = AESGCM(key)
        return cipher
