"""Damaged files, a full disk, a read-only folder, and backups that are none: refused in a sentence or made right."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from eval import damage, full_disk
from eval.damage import Case, cases, judged, make, run
from rag.errors import InputError, LibraryError, SettingsError, StorageError
from rag.settings import Settings, load_settings
from rag.store.index import backup, restore
from rag.types import Filters
from tests.library import fill, in_step, opened, paper
from ui.conversations import Conversations
from ui.exchange import new_exchange

PAPERS = 12
SAMPLE = (
    Case("library.sqlite", "random"),
    Case("library.sqlite-wal", "half"),
    Case("library.sqlite-wal", "text"),
    Case("chroma/0/chroma.sqlite3", "half"),
    Case("lexical/0/meta.json", "random"),
    Case("manifest generation", "nonsense"),
    Case("stamps", "nonsense"),
    Case("settings.toml", "unreadable"),
    Case("conversations.sqlite-wal", "random"),
)
EXPECTED = ("refused", "told", "told", "mended", "mended", "refused", "mended", "refused", "refused")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("damage") / "whole", PAPERS)


@pytest.mark.parametrize(("case", "verdict"), zip(SAMPLE, EXPECTED, strict=True), ids=lambda value: str(value))
def test_damage_is_refused_or_mended(whole: Path, tmp_path: Path, case: Case, verdict: str) -> None:
    assert run(case, whole, tmp_path, PAPERS).verdict == verdict


def test_every_file_is_damaged_in_every_way(whole: Path) -> None:
    counted = Counter(case.what for case in cases(whole))
    files = [path.relative_to(whole).as_posix() for path in whole.rglob("*") if path.is_file()]
    assert {"library.sqlite", "library.sqlite-wal", "settings.toml", "chroma/0/chroma.sqlite3"} <= set(files)
    assert all(counted[name] == len(damage.DAMAGES) for name in files)
    assert counted["manifest generation"] == counted["stamps"] == 2


@pytest.mark.parametrize(
    ("sent", "verdict"),
    [
        (("escaped", "the process died with status -11"), "failed"),
        (("refused", "It is damaged; mend it."), "refused"),
        (("refused", "Traceback\n  File"), "failed"),
        (("found", {}), "unharmed"),
        (("found", {"notes": ["The index was made anew."]}), "mended"),
        (("found", {"papers": 3}), "failed"),
        (("found", {"dense": False}), "failed"),
        (("found", {"conversations": 0}), "failed"),
    ],
)
def test_verdicts(sent: tuple[str, object], verdict: str) -> None:
    right = {"k": 7, "papers": 4, "dense": True, "lexical": True, "problems": [], "notes": [], "conversations": 1}
    said = right | sent[1] if isinstance(sent[1], dict) else sent[1]
    assert judged(Case("write.lock", "half"), sent[0], said, 4)[0] == verdict


def test_a_full_and_a_read_only_disk_are_said_and_cost_nothing() -> None:
    if not full_disk.possible():
        pytest.skip("this machine lets no process mount a tmpfs of its own")
    tried = full_disk.run()
    assert [entry for entry in tried if not entry.good] == []
    assert len(tried) == 13


def test_settings_that_are_a_folder_are_refused(home: Path) -> None:
    (home / "settings.toml").mkdir(parents=True)
    with pytest.raises(SettingsError, match=r"settings\.toml cannot be read"):
        load_settings(home)


def test_conversations_that_cannot_be_written_are_a_storage_error(home: Path) -> None:
    with closing(Conversations(home)) as kept:
        kept._db.execute("PRAGMA max_page_count = 20")
        conversation = kept.begin("local", "Why?")
        asked = new_exchange("Why? " * 100_000, Filters())
        with pytest.raises(StorageError, match="is full"):
            kept.save("local", conversation.with_exchange(asked))


# Backups


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    with opened(tmp_path / "first") as index:
        fill(index, [paper(number) for number in range(30)])
        backup(index.settings, tmp_path / "kept.sqlite")
    return tmp_path / "kept.sqlite"


@pytest.mark.parametrize("how", ["empty", "half", "random", "text"])
def test_a_damaged_backup_is_refused_and_leaves_the_home_as_it_was(kept: Path, tmp_path: Path, how: str) -> None:
    damage.DAMAGES[how](kept)
    there = tmp_path / "there"
    with pytest.raises(InputError, match="is no backup"):
        restore(Settings(home=there), kept)
    assert not there.exists()


@pytest.mark.parametrize(
    "statements",
    [
        "CREATE TABLE notes (text)",
        "CREATE TABLE papers (row, state)",
        "CREATE TABLE papers (row, state); CREATE TABLE manifest (key, value); CREATE TABLE stamps (part)",
    ],
)
def test_a_database_of_another_program_is_no_backup(tmp_path: Path, statements: str) -> None:
    with closing(sqlite3.connect(tmp_path / "other.sqlite")) as other:
        other.executescript(statements)
    there = tmp_path / "there"
    with pytest.raises(InputError, match="is no backup"):
        restore(Settings(home=there), tmp_path / "other.sqlite")
    assert not there.exists()


def test_a_backup_with_code_in_it_is_refused(kept: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(kept)) as database:
        database.executescript(
            "CREATE TRIGGER gone AFTER UPDATE ON papers BEGIN DELETE FROM papers; END; PRAGMA user_version = 1"
        )
    with pytest.raises(InputError, match="is no backup"):
        restore(Settings(home=tmp_path / "there"), kept)


def test_a_backup_restores_into_an_empty_library_and_over_a_damaged_one(kept: Path, tmp_path: Path) -> None:
    empty, damaged = tmp_path / "empty", tmp_path / "damaged"
    opened(empty).close()
    damaged.mkdir()
    (damaged / "library.sqlite").write_bytes(b"no library " * 1000)
    for there in (empty, damaged):
        assert restore(Settings(home=there), kept).papers == 30
        with opened(there) as index:
            in_step(index)
    assert (damaged / "library.sqlite.damaged-1").read_bytes().startswith(b"no library")
    with pytest.raises(InputError, match="holds a library of 30 papers"):
        restore(Settings(home=empty), kept)


def test_a_backup_that_cannot_be_written_leaves_nothing(kept: Path, tmp_path: Path) -> None:
    place = tmp_path / "no" / "such" / "folder" / "kept.sqlite"
    with pytest.raises(LibraryError):
        backup(Settings(home=tmp_path / "first"), place)
    assert list(tmp_path.rglob("*.part")) == []
