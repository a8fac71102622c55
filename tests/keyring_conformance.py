"""What every key ring must do. An implementation runs this suite by subclassing it.

A subclass supplies ``open_ring`` and ``program``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from memstream.schemas.errors import KeyDestroyed, LogUnavailable, SealBroken
from memstream.schemas.sealing import KEY_BYTES, NONCE_BYTES, KeyRing, Sealer
from memstream.streams.clock import Clock, ManualClock, SystemClock

ADA = "acme/user:ada"
BOB = "acme/user:bob"
NO_KEY = "b7a4a6d2-0000-4000-8000-000000000000"
NO_IDS = (NO_KEY, "no id at all", "", "a\0b", "\ud800", "漢", "'; DROP TABLE keys; --")


class KeyRingConformance(ABC):
    """Obligations of ``KeyRing``, one test each."""

    @abstractmethod
    def open_ring(self, directory: Path, clock: Clock) -> KeyRing:
        """The ring of that directory; the same keys when called again."""

    @abstractmethod
    def program(self, directory: Path) -> str:
        """Python source that opens the same keys as ``ring`` in another process."""

    @pytest.fixture
    def opened(self, tmp_path: Path) -> Iterator[Callable[[], KeyRing]]:
        """Opens one more ring on the same keys."""
        rings: list[KeyRing] = []

        def open_one() -> KeyRing:
            rings.append(self.open_ring(tmp_path, SystemClock()))
            return rings[-1]

        yield open_one
        for each in rings:
            each.close()

    @pytest.fixture
    def ring(self, opened: Callable[[], KeyRing]) -> KeyRing:
        return opened()

    def test_a_subject_has_one_key_and_keeps_it(
        self, ring: KeyRing, opened: Callable[[], KeyRing]
    ) -> None:
        key_id, key = ring.key_for(ADA)
        assert UUID(key_id).version == 4
        assert len(key) == KEY_BYTES
        assert ring.key_for(ADA) == (key_id, key)
        assert ring.key_by_id(key_id) == key
        assert ring.key_for(BOB)[1] != key
        ring.close()
        ring.close()
        assert opened().key_for(ADA) == (key_id, key)

    def test_a_subject_of_any_length_and_script_has_a_key(self, ring: KeyRing) -> None:
        long = "acme/user:" + "é漢\N{GRINNING FACE}" * 2_000
        assert ring.key_for(long) == ring.key_for(long)
        assert ring.key_for(long + "x") != ring.key_for(long)

    def test_keys_come_from_the_clock_that_was_given(self, tmp_path: Path) -> None:
        start = datetime(2024, 1, 1, tzinfo=UTC)
        found = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            ring = self.open_ring(tmp_path / name, ManualClock(start, seed=5))
            found.append((ring.key_for(ADA), ring.nonce()))
            ring.close()
        assert found[0] == found[1]

    def test_keys_are_prepared_and_read_in_one_go(
        self, ring: KeyRing, opened: Callable[[], KeyRing]
    ) -> None:
        subjects = [f"acme/user:u{number}" for number in range(300)]
        ring.ensure(subjects)
        ring.ensure([*subjects, *subjects])
        keys = dict(ring.key_for(each) for each in subjects)
        assert len(keys) == 300
        other = opened()
        assert other.keys_by_id(keys) == keys
        assert other.keys_by_id([]) == {}
        ring.ensure([])
        gone = ring.destroy(subjects[7])
        assert opened().keys_by_id([NO_KEY, *keys]) == {
            key_id: key for key_id, key in keys.items() if key_id not in gone
        }

    def test_an_unknown_key_is_no_destroyed_key(self, ring: KeyRing) -> None:
        assert ring.keys_by_id(NO_IDS) == {}
        for key_id in NO_IDS:
            with pytest.raises(SealBroken, match=r"not in key ring.*mend"):
                ring.key_by_id(key_id)

    def test_a_destroyed_key_is_known_to_be_destroyed(
        self, ring: KeyRing, opened: Callable[[], KeyRing]
    ) -> None:
        key_id, _ = ring.key_for(ADA)
        other = ring.key_for(BOB)
        assert ring.destroy(ADA) == [key_id]
        assert ring.destroy(ADA) == []
        assert ring.destroyed(ADA) == [key_id]
        assert ring.destroyed(BOB) == ring.destroy("acme/user:never-seen") == []
        assert ring.key_for(BOB) == other
        again = opened()
        for each in (ring, again):
            assert each.keys_by_id([key_id]) == {}
            with pytest.raises(KeyDestroyed, match="gone for good"):
                each.key_by_id(key_id)
            assert each.key_for(ADA)[0] != key_id

    def test_the_keys_that_are_left_are_listed_in_their_order(self, ring: KeyRing) -> None:
        assert ring.keys(ADA) == []
        made = [ring.key_for(ADA)[0], *(ring.rotate(ADA)[0] for _ in range(3))]
        ring.key_for(BOB)
        assert ring.keys(ADA) == made
        ring.destroy(ADA, key_ids=[made[1], made[3]])
        assert ring.keys(ADA) == [made[0], made[2]]
        ring.destroy(ADA)
        assert ring.keys(ADA) == []

    def test_rotation_keeps_old_keys_readable_until_they_are_destroyed(self, ring: KeyRing) -> None:
        old_id, old = ring.key_for(ADA)
        new_id, new = ring.rotate(ADA)
        assert new_id != old_id
        assert ring.key_for(ADA) == (new_id, new)
        assert ring.key_by_id(old_id) == old
        newest_id, newest = ring.rotate(ADA)
        assert ring.destroy(ADA, older_than=new_id) == [old_id]
        assert ring.key_for(ADA) == (newest_id, newest)
        assert ring.key_by_id(new_id) == new
        with pytest.raises(KeyDestroyed):
            ring.key_by_id(old_id)
        assert ring.destroy(ADA) == [new_id, newest_id]
        assert ring.destroyed(ADA) == [old_id, new_id, newest_id]

    def test_the_first_key_may_come_from_a_rotation(self, ring: KeyRing) -> None:
        assert ring.rotate(ADA) == ring.key_for(ADA)

    def test_named_keys_are_destroyed_and_no_others(self, ring: KeyRing) -> None:
        made = [ring.key_for(ADA), *(ring.rotate(ADA) for _ in range(3))]
        ids = [key_id for key_id, _ in made]
        assert ring.destroy(ADA, key_ids=[]) == []
        assert ring.destroy(ADA, key_ids=[ids[2], ids[0]]) == [ids[0], ids[2]]
        assert ring.destroy(ADA, key_ids={ids[0]}) == []
        assert ring.keys_by_id(ids) == {ids[1]: made[1][1], ids[3]: made[3][1]}
        # Both at once narrow each other.
        assert ring.destroy(ADA, older_than=ids[3], key_ids=[ids[3]]) == []
        assert ring.key_for(ADA) == made[3]
        # The current one too: the subject gets another.
        assert ring.destroy(ADA, key_ids=[ids[3]]) == [ids[3]]
        assert ring.key_for(ADA)[0] not in ids
        assert ring.key_by_id(ids[1]) == made[1][1]

    def test_a_key_that_is_not_the_subjects_destroys_nothing(self, ring: KeyRing) -> None:
        hers, his = ring.key_for(ADA), ring.key_for(BOB)
        for wrong in (*NO_IDS, his[0]):
            with pytest.raises(SealBroken, match="not in key ring"):
                ring.destroy(ADA, older_than=wrong)
            with pytest.raises(SealBroken, match="not in key ring"):
                ring.destroy(ADA, key_ids=[hers[0], wrong])
        assert ring.key_for(ADA) == hers
        assert ring.key_for(BOB) == his

    def test_two_rings_on_the_same_keys_never_use_a_destroyed_or_an_older_one(
        self, ring: KeyRing, opened: Callable[[], KeyRing]
    ) -> None:
        other = opened()
        for _ in range(20):
            old_id, old = other.key_for(ADA)
            assert other.key_by_id(old_id) == old
            ring.destroy(ADA)
            assert other.key_for(ADA)[0] != old_id
            with pytest.raises(KeyDestroyed):
                other.key_by_id(old_id)
        other.key_for(ADA)
        new_id = ring.rotate(ADA)[0]
        assert other.key_for(ADA)[0] == new_id

    def test_another_process_stops_using_a_key_at_once(self, ring: KeyRing, tmp_path: Path) -> None:
        asking = "import sys\nfor line in sys.stdin:\n    print(ring.key_for('acme/user:ada')[0])"
        child = subprocess.Popen(
            [sys.executable, "-u", "-c", self.program(tmp_path) + asking],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdin is not None
        assert child.stdout is not None

        def asked() -> str:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write("?\n")
            child.stdin.flush()
            return child.stdout.readline().strip()

        for _ in range(30):
            mine = ring.key_for(ADA)[0]
            assert asked() == mine
            ring.destroy(ADA)
            assert asked() != mine
        child.stdin.close()
        assert child.wait(timeout=30) == 0

    def test_processes_that_make_the_first_key_at_once_agree(self, tmp_path: Path) -> None:
        asking = "print(*(ring.key_for(f'acme/user:u{n}')[0] for n in range(30)))"
        children = [
            subprocess.Popen(
                [sys.executable, "-c", self.program(tmp_path) + asking],
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(4)
        ]
        answers = {child.communicate(timeout=60)[0] for child in children}
        assert len(answers) == 1
        assert len(answers.pop().split()) == 30

    def test_threads_share_a_ring(self, ring: KeyRing) -> None:
        found: list[tuple[str, bytes]] = []
        nonces: list[bytes] = []

        def work() -> None:
            for number in range(100):
                found.append(ring.key_for(f"acme/user:u{number % 10}"))
                nonces.extend(ring.nonce() for _ in range(20))

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(found)) == 10
        assert len(set(nonces)) == len(nonces) == 12_000
        assert {len(nonce) for nonce in nonces} == {NONCE_BYTES}

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
    def test_a_ring_carried_over_a_fork_gives_no_nonce_and_no_new_key(self, ring: KeyRing) -> None:
        ring.nonce()
        before = ring.key_for(ADA)
        child = os.fork()
        if child == 0:
            refused = 0
            for call in (ring.nonce, lambda: ring.key_for("acme/user:new")):
                try:
                    call()
                except LogUnavailable as error:
                    refused += "fork" in str(error)
            ring.close()
            os._exit(0 if refused == 2 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(ring.nonce()) == NONCE_BYTES
        assert ring.key_for(ADA) == before

    def test_a_closed_ring_says_so(self, ring: KeyRing) -> None:
        ring.close()
        with pytest.raises(LogUnavailable, match=r"closed.*mend: open it again"):
            ring.key_for(ADA)

    def test_a_sealer_on_the_ring_seals_and_after_an_erasure_no_longer_opens(
        self, ring: KeyRing
    ) -> None:
        sealer = Sealer(ring)
        key_id, sealed = sealer.seal(ADA, b"event 1", b"a quiet word")
        assert sealer.open(key_id, b"event 1", sealed) == b"a quiet word"
        with pytest.raises(SealBroken):
            sealer.open(key_id, b"event 2", sealed)
        ring.destroy(ADA)
        sealer.forget()
        with pytest.raises(KeyDestroyed):
            sealer.open(key_id, b"event 1", sealed)
        assert sealer.seal(ADA, b"event 3", b"after")[0] != key_id
