"""Backups hold the library and what users have beside it, and nothing that is secret; restoring overwrites nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from rag.cli import cli
from rag.errors import InputError, LibraryEmpty, StorageError
from rag.settings import Settings
from rag.store.backup import backup, restore
from rag.store.index import Index
from rag.types import Filters
from tests.fakes import FakeEncoder
from tests.library import fill, in_step, opened, paper
from ui.accounts import Accounts
from ui.conversations import Conversations
from ui.exchange import new_exchange
from ui.preferences import Preferred

COUNT = 24
BELONGINGS = ("conversations.sqlite", "feedback.jsonl", "preferences.json")


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with opened(tmp_path / "whole") as index:
        fill(index, [paper(number) for number in range(COUNT)])
        yield index


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A library of three papers, a conversation that is still open, feedback, preferences, a user and a setting."""
    home = tmp_path / "home"
    with opened(home) as index:
        fill(index, [paper(number) for number in range(3)])
    (home / "feedback.jsonl").write_text('{"reason": "Ångström is right"}\n', encoding="utf-8")
    Preferred(home).keep("anna", venue="ICLR", k=7)
    Accounts(home).add_user("anna", "a-password-of-hers")
    (home / "settings.toml").write_text('llm = "http://127.0.0.1:1/v1"\n')
    return home


@pytest.fixture
def asked(home: Path) -> str:
    with closing(Conversations(home)) as kept:
        begun = kept.begin("anna", "Why do kites fly?")
        kept.save("anna", begun.with_exchange(new_exchange("Why do kites fly?", Filters())))
    return begun.conversation_id


def test_a_restored_backup_is_the_library(index: Index, tmp_path: Path) -> None:
    assert backup(index.settings, tmp_path / "kept.sqlite").papers == COUNT
    papers = index.papers(index.rows())
    there = Settings(home=tmp_path / "there")
    assert restore(there, tmp_path / "kept.sqlite").papers == COUNT
    encoder = FakeEncoder(dimension=64)
    with Index.open(there, encoder) as restored:
        assert restored.papers(restored.rows()) == papers
        assert restored.manifest.library != index.manifest.library
        assert restored.lexical("devicek", 1)
        assert encoder.calls == []
        in_step(restored)


def test_restore_does_not_overwrite_papers(index: Index, tmp_path: Path) -> None:
    backup(index.settings, tmp_path / "kept.sqlite")
    with pytest.raises(InputError, match=f"{COUNT} papers already"):
        restore(index.settings, tmp_path / "kept.sqlite")


def test_restore_moves_a_damaged_library_aside(index: Index, tmp_path: Path) -> None:
    backup(index.settings, tmp_path / "kept.sqlite")
    home = tmp_path / "torn"
    home.mkdir()
    (home / "library.sqlite").write_text("no database " * 1000)
    assert restore(Settings(home=home), tmp_path / "kept.sqlite").papers == COUNT
    assert (home / "library.sqlite.damaged-1").read_text().startswith("no database")
    with opened(home) as restored:
        in_step(restored)


def test_backup_and_restore_refuse_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LibraryEmpty):
        backup(Settings(home=tmp_path / "none"), tmp_path / "kept.sqlite")
    (tmp_path / "letter").write_text("Dear Sir or Madam")
    with pytest.raises(InputError, match="no backup"):
        restore(Settings(home=tmp_path / "home"), tmp_path / "letter")
    assert not (tmp_path / "kept.sqlite").exists()


def test_what_users_have_comes_back_as_it_was(home: Path, asked: str, tmp_path: Path) -> None:
    with closing(Conversations(home)) as in_use:
        in_use.rename("anna", asked, "Kites")  # stands in the write-ahead log while the backup is made
        kept = backup(Settings(home=home), tmp_path / "kept")
    assert (kept.papers, kept.files) == (3, BELONGINGS)
    there = tmp_path / "there"
    restored = restore(Settings(home=there), tmp_path / "kept")
    assert (restored.papers, restored.files, restored.left) == (3, BELONGINGS, ())
    with closing(Conversations(there)) as conversations:
        found = conversations.load("anna", asked)
        assert found is not None
        assert (found.title, [one.text for one in found.exchanges]) == ("Kites", ["Why do kites fly?"])
        assert conversations.load("bert", asked) is None
    assert (there / "feedback.jsonl").read_text(encoding="utf-8") == '{"reason": "Ångström is right"}\n'
    chosen = Preferred(there).of("anna")
    assert (chosen.venue, chosen.k) == ("ICLR", 7)
    with opened(there) as index:
        in_step(index)
    with closing(sqlite3.connect(there / "library.sqlite")) as library:
        assert not library.execute("SELECT 1 FROM sqlite_master WHERE name = 'belongings'").fetchall()


def test_users_keys_and_settings_are_not_in_it(home: Path, asked: str, tmp_path: Path) -> None:
    backup(Settings(home=home), tmp_path / "kept")
    written = (tmp_path / "kept").read_bytes()
    assert b"Why do kites fly?" in written
    for secret in (b"scrypt", b"argon2", b"http://127.0.0.1:1/v1"):
        assert secret not in written
    restore(Settings(home=tmp_path / "there"), tmp_path / "kept")
    assert not {"access.json", "settings.toml"} & {path.name for path in (tmp_path / "there").iterdir()}


def test_what_the_home_has_is_left_as_it_is(home: Path, asked: str, tmp_path: Path) -> None:
    backup(Settings(home=home), tmp_path / "kept")
    there = tmp_path / "there"
    there.mkdir()
    (there / "feedback.jsonl").write_text("newer\n")
    restored = restore(Settings(home=there), tmp_path / "kept")
    assert restored.files == ("conversations.sqlite", "preferences.json")
    assert restored.left == ("feedback.jsonl",)
    assert (there / "feedback.jsonl").read_text() == "newer\n"


def test_a_backup_of_before_brings_back_the_library(home: Path, tmp_path: Path) -> None:
    backup(Settings(home=home), tmp_path / "kept")
    with closing(sqlite3.connect(tmp_path / "kept")) as database, database:
        database.execute("DROP TABLE belongings")
    restored = restore(Settings(home=tmp_path / "there"), tmp_path / "kept")
    assert (restored.papers, restored.files, restored.left) == (3, (), ())


def test_damaged_conversations_are_named(home: Path, asked: str, tmp_path: Path) -> None:
    path = home / "conversations.sqlite"
    path.write_bytes(b"no database " * 1000)
    with pytest.raises(StorageError, match=r"conversations\.sqlite: file is not a database"):
        backup(Settings(home=home), tmp_path / "kept")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["home"]


def renamed(name: str) -> Callable[[sqlite3.Connection], object]:
    return lambda database: database.execute("UPDATE belongings SET name = ? WHERE name = 'feedback.jsonl'", [name])


def with_trigger(database: sqlite3.Connection) -> None:
    with closing(sqlite3.connect(":memory:")) as inner:
        inner.executescript("CREATE TABLE a (b); CREATE TRIGGER c AFTER INSERT ON a BEGIN DELETE FROM a; END")
        put(database, inner.serialize())


def put(database: sqlite3.Connection, content: bytes) -> None:
    database.execute("UPDATE belongings SET content = ? WHERE name = 'conversations.sqlite'", [content])


@pytest.mark.parametrize(
    "change",
    [
        renamed("../outside"),
        renamed("access.json"),
        renamed("/tmp/outside"),
        lambda database: put(database, b"no database"),
        lambda database: put(database, b"SQLite format 3\0" + b"x" * 5000),
        with_trigger,
    ],
)
def test_what_does_not_belong_in_a_backup_is_refused(
    home: Path, asked: str, tmp_path: Path, change: Callable[[sqlite3.Connection], object]
) -> None:
    backup(Settings(home=home), tmp_path / "kept")
    with closing(sqlite3.connect(tmp_path / "kept")) as database, database:
        change(database)
    with pytest.raises(InputError, match="is no backup"):
        restore(Settings(home=tmp_path / "there"), tmp_path / "kept")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["home", "kept"]


def test_the_commands_say_what_went_in_and_came_back(home: Path, asked: str, tmp_path: Path) -> None:
    kept = str(tmp_path / "kept")
    said = CliRunner().invoke(cli, ["backup", kept, "--home", str(home)])
    assert said.output == f"Wrote 3 papers with conversations, feedback, preferences to {kept}.\n"
    there = tmp_path / "there"
    there.mkdir()
    (there / "feedback.jsonl").write_text("newer\n")
    said = CliRunner().invoke(cli, ["restore", kept, "--home", str(there)])
    assert said.output == (
        "Restored 3 papers with conversations, preferences.\nLeft as it was, since the home has it already: feedback.\n"
    )
