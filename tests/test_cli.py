"""The commands as a user meets them: what they print, what they say when something is wrong, and the exit status."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rag.cli import main

ABSTRACTS = """ICLR 2031 Papers

We present PuffinMap, a method that counts puffins on cliffs from photographs. PuffinMap finds 91% of the birds on \
the cliffs of three islands. Counting by hand takes a week and disturbs the birds.

We introduce SnowDrum, a sensor for avalanches that hangs from a tree. SnowDrum warns 40 seconds before the snow \
arrives in a valley. Sensors on the ground are buried when they are needed most.
"""


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, object]:
        return dict(json.loads(self.out))


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny_encoder_folder: Path, home: Path
) -> Callable[..., Ran]:
    monkeypatch.setenv("ABSTRACT_QA_EMBEDDER", str(tiny_encoder_folder))
    monkeypatch.setenv("ABSTRACT_QA_LLM", "none")

    def call(*arguments: str | Path) -> Ran:
        monkeypatch.setattr("sys.argv", ["abstract-qa", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = int(end.code or 0)
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return call


@pytest.fixture
def abstracts(tmp_path: Path) -> Path:
    path = tmp_path / "list.txt"
    path.write_text(ABSTRACTS, encoding="utf-8")
    return path


def one_clear_sentence(ran: Ran) -> bool:
    return (
        ran.status == 1
        and "Traceback" not in ran.err
        and 1 <= len(ran.err.strip().splitlines()) <= 2
        and ran.err.startswith("abstract-qa: ")
    )


def test_reading_twice_changes_nothing_and_the_report_says_so(run: Callable[..., Ran], abstracts: Path):
    first = run("ingest", abstracts, "--json")
    assert first.status == 0
    assert {key: first.json[key] for key in ("added", "unchanged", "replaced", "merged", "rejected", "papers")} == {
        "added": 2, "unchanged": 0, "replaced": 0, "merged": 0, "rejected": [], "papers": 2,
    }  # fmt: skip
    again = run("ingest", abstracts)
    assert again.status == 0
    assert "0 added, 2 unchanged, 0 replaced, 0 merged, 0 rejected" in again.out
    assert "The library holds 2 papers" in again.out


def test_a_changed_file_replaces_what_changed(run: Callable[..., Ran], abstracts: Path):
    run("ingest", abstracts)
    abstracts.write_text(ABSTRACTS.replace("91%", "94%"), encoding="utf-8")
    changed = run("ingest", abstracts, "--json").json
    assert (changed["added"], changed["unchanged"], changed["replaced"], changed["papers"]) == (0, 1, 1, 2)
    assert "94%" in run("papers", "show", "list.txt#1").out


def test_search_prints_ranked_papers_with_their_place(run: Callable[..., Ran], abstracts: Path):
    run("ingest", abstracts)
    found = run("search", "PuffinMap counts puffins", "--json").json
    papers = found["papers"]
    assert isinstance(papers, list)
    assert papers[0]["locator"] == "list.txt#1"
    assert (papers[0]["venue"], papers[0]["year"]) == ("ICLR", 2031)
    assert papers[0]["quote"] in ABSTRACTS
    assert "list.txt#1" in run("search", "PuffinMap counts puffins").out


def test_ask_prints_the_answer_and_then_its_sources(run: Callable[..., Ran], abstracts: Path):
    run("ingest", abstracts)
    ran = run("ask", "What share of the birds does PuffinMap find?")
    assert ran.status == 0
    answer, sources = ran.out.split("\nSources\n")
    assert "91%" in answer
    assert "[1]" in answer
    assert sources.startswith("[1] ")
    assert "list.txt#1" in sources


def test_the_home_may_stand_before_or_after_the_command(run: Callable[..., Ran], abstracts: Path, tmp_path: Path):
    run("ingest", abstracts, "--home", tmp_path / "other")
    assert "2 papers" in run("--home", tmp_path / "other", "papers", "list").err
    # The default home was not made, and reading does not make it.
    for command in (("papers", "list"), ("search", "walls"), ("ask", "What of walls?", "--no-llm")):
        missing = run(*command)
        assert (missing.status, missing.out) == (1, "")
        assert "There is no library at" in missing.err
        assert not (tmp_path / "home").exists()


def test_export_reads_back_to_the_same_papers(run: Callable[..., Ran], abstracts: Path, tmp_path: Path):
    run("ingest", abstracts)
    for format_ in ("bibtex", "ris", "csv", "jsonl"):
        exported = tmp_path / f"out.{format_}"
        assert run("papers", "export", "--format", format_, "-o", exported).status == 0
        report = run("ingest", exported, "--json").json
        assert (report["papers"], report["rejected"]) == (2, []), format_


def test_remove_and_prune(run: Callable[..., Ran], abstracts: Path):
    run("ingest", abstracts)
    assert run("papers", "remove", "list.txt#2").out == "Removed 1 paper.\n"
    run("ingest", abstracts)
    abstracts.write_text(ABSTRACTS.split("We introduce")[0], encoding="utf-8")
    assert run("ingest", abstracts, "--prune", "--json").json["papers"] == 1


def test_backup_and_restore(run: Callable[..., Ran], abstracts: Path, tmp_path: Path):
    run("ingest", abstracts)
    assert run("backup", tmp_path / "saved").status == 0
    restored = tmp_path / "new"
    assert run("restore", tmp_path / "saved", "--home", restored).status == 0
    assert "2 papers" in run("papers", "list", "--home", restored).err
    assert run("search", "avalanches", "--home", restored).status == 0


def test_doctor_names_what_is_missing_and_the_command_that_mends_it(run: Callable[..., Ran], abstracts: Path):
    empty = run("doctor")
    assert empty.status == 1
    assert "abstract-qa ingest" in empty.out
    run("ingest", abstracts)
    filled = run("doctor")
    assert "2 papers" in filled.out
    assert filled.status == 0


def test_another_embedder_is_refused_with_the_command_that_mends_it(
    run: Callable[..., Ran], abstracts: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
):
    from tests import tiny

    run("ingest", abstracts)
    other = tiny.encoder_folder(tmp_path_factory.mktemp("other"), max_tokens=24)
    monkeypatch.setenv("ABSTRACT_QA_EMBEDDER", str(other))
    refused = run("search", "puffins")
    assert one_clear_sentence(refused)
    assert "abstract-qa reindex" in refused.err
    assert run("reindex").status == 0
    assert run("search", "puffins").status == 0


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.txt", b""),
        ("blank.txt", b"\n \n\n"),
        ("one.txt", b"Just one line.\n"),
        ("binary.pdf", b"%PDF-1.7\x00\x01\x02" + bytes(range(256)) * 20),
        ("binary.txt", bytes(range(256)) * 50),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(
    run: Callable[..., Ran], abstracts: Path, tmp_path: Path, name: str, content: bytes
):
    run("ingest", abstracts)
    refused = run("ingest", write(tmp_path / name, content))
    assert one_clear_sentence(refused)
    assert name in refused.err
    assert "2 papers" in run("papers", "list").err


def test_a_missing_path_and_a_folder_of_nothing(run: Callable[..., Ran], tmp_path: Path):
    missing = run("ingest", tmp_path / "nowhere.bib")
    assert one_clear_sentence(missing)
    assert "nowhere.bib" in missing.err
    (tmp_path / "folder").mkdir()
    write(tmp_path / "folder" / "picture.png", b"\x89PNG\r\n\x1a\n" + bytes(64))
    assert one_clear_sentence(run("ingest", tmp_path / "folder"))


@pytest.mark.parametrize("question", ["", "   ", "x" * 100_000])
def test_what_is_no_question_is_refused(run: Callable[..., Ran], abstracts: Path, question: str):
    run("ingest", abstracts)
    assert one_clear_sentence(run("ask", question))
    assert one_clear_sentence(run("search", question))


def test_an_empty_library_names_the_next_step(run: Callable[..., Ran]):
    for command in ("ask", "search"):
        refused = run(command, "Which papers are about puffins?")
        assert one_clear_sentence(refused)
        assert "abstract-qa ingest" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("frobnicate",),
        ("ask",),
        ("ingest",),
        ("ingest", "x", "--sample"),
        ("ask", "q", "--year", "soon"),
        ("ask", "q", "--year", "2024-2020"),
        ("ask", "q", "--llm", "a", "--no-llm"),
        ("models", "pull"),
    ],
)
def test_wrong_usage_has_status_two(run: Callable[..., Ran], arguments: tuple[str, ...]):
    ran = run(*arguments)
    assert ran.status == 2
    assert "Usage" in ran.err


def test_an_unknown_setting_is_named(run: Callable[..., Ran], home: Path):
    home.mkdir()
    write(home / "settings.toml", b"colour = 'red'\n")
    refused = run("search", "x")
    assert one_clear_sentence(refused)
    assert "colour" in refused.err


def test_history_that_is_none_is_refused(run: Callable[..., Ran], abstracts: Path, tmp_path: Path):
    run("ingest", abstracts)
    for content in (b"not json", b'[{"role": "robot", "content": "x"}]', b'{"role": "user"}'):
        assert one_clear_sentence(run("ask", "q?", "--history", write(tmp_path / "h.json", content)))


def test_history_makes_a_follow_up_whole(run: Callable[..., Ran], abstracts: Path, tmp_path: Path):
    run("ingest", abstracts)
    history = [
        {"role": "user", "content": "What is PuffinMap?"},
        {"role": "assistant", "content": "It counts puffins."},
    ]
    path = write(tmp_path / "h.json", json.dumps(history).encode())
    answer = run("ask", "What share of the birds does it find?", "--history", path, "--json").json
    assert "PuffinMap" in str(answer["standalone_question"])
