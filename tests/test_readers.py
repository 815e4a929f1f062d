"""Files, folders, archives and streams, in any encoding; what is wrong with them is said, and the rest is read."""

from __future__ import annotations

import gzip
import io
import os
import stat
import struct
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.errors import InputError
from rag.readers import FileRead, Opened, ReadOptions, encoding, expand, format_names, read, read_opened
from rag.readers import opened as opened_module
from rag.types import Record, Rejected
from tests.formats import opened

LINE = '{"title": "T", "abstract": "We do."}\n'
BIB = "@article{a, title = {On Walls}, year = 2020}\n"


def split(path: Path | str, options: ReadOptions | None = None) -> tuple[list[Record], list[Rejected], list[FileRead]]:
    found = list(read(path, options))
    return (
        [item for item in found if isinstance(item, Record)],
        [item for item in found if isinstance(item, Rejected)],
        [item for item in found if isinstance(item, FileRead)],
    )


def reasons(path: Path | str) -> str:
    return "; ".join(item.reason for item in split(path)[1])


def test_a_file_is_closed_by_its_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(LINE + '{"title": "U"}\n{\n')
    records, rejected, [closing] = split(path)
    assert [record.source.locator for record in records] == ["a.jsonl#1", "a.jsonl#2"]
    assert rejected[0].line == 3
    assert closing == FileRead(str(path), "jsonl", 2, 1, 1)


def test_content_decides_before_the_ending(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(BIB)
    assert split(path)[2][0].format == "bibtex"
    path.write_text("TY  - JOUR\nTI  - On Walls\nER  - \n")
    assert split(path)[2][0].format == "ris"


def test_defaults_and_a_forced_format(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    path.write_text("title,abstract,year\nOne,a,2020\nTwo,b,\n")
    records, _, _ = split(path, ReadOptions(format="csv", venue="ACL", year=1999))
    assert [(record.venue, record.year) for record in records] == [("ACL", 2020), ("ACL", 1999)]
    with pytest.raises(InputError, match="unknown format 'cvs'"):
        list(read(path, ReadOptions(format="cvs")))
    assert "csv" in format_names()


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.jsonl").write_text(LINE)
    (tmp_path / "sub" / "a.bib").write_text(BIB)
    (tmp_path / ".hidden").write_text(LINE)
    (tmp_path / "tool.py").write_text("import this\n")
    (tmp_path / "README.md").write_text("# A tool\n\nIt does things.\n")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (tmp_path / "empty.bib").write_bytes(b"")
    records, rejected, closings = split(tmp_path)
    assert [record.source.locator for record in records] == ["b.jsonl#1", "a.bib#1"]
    assert [(Path(item.file).name, item.reason) for item in rejected] == [("empty.bib", "the file is empty")]
    passed = {Path(item.path).name: item.note for item in closings if item.note}
    assert set(passed) == {".hidden", "tool.py", "README.md", "a.png"}
    assert "hidden" in passed[".hidden"]
    assert "picture" in passed["a.png"]


def test_bad_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        list(read(tmp_path / "none"))
    (tmp_path / "tool.py").write_text("import this\n")
    with pytest.raises(InputError, match="no file with papers"):
        list(read(tmp_path))


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.txt", b"", "empty"),
        ("a.txt", b"hello\n", "too short"),
        ("a.bin", bytes(range(256)) * 4, "binary"),
        ("a.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n\0", "PDF"),
        ("a.gz", b"\x1f\x8bnonsense", "cannot be read"),
        ("a.zip", b"PK\x03\x04nonsense", "cannot be read"),
        ("a.gz", gzip.compress(LINE.encode() * 1000)[:-20], "cannot be read"),
    ],
)
def test_bad_files_are_rejected_in_words(tmp_path: Path, name: str, data: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(data)
    records, rejected, _ = split(tmp_path / name)
    assert said in "; ".join(item.reason for item in rejected)
    assert not records or "gz" in name


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read anything")
def test_a_file_without_leave_to_read(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_text(BIB)
    path.chmod(0)
    assert "Permission denied" in reasons(path)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in reasons(tmp_path / "pipe")


def test_gzip_and_zip(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(LINE.encode()))
    assert split(tmp_path / "a.jsonl.gz")[0][0].source.locator == "a.jsonl.gz#1"
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("deep.bib", BIB)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("refs/b.jsonl", LINE)
        archive.writestr("c.bib.gz", gzip.compress(BIB.encode()))
        archive.writestr("d.zip", inner.getvalue())
        archive.writestr("__MACOSX/._b.jsonl", b"\0")
    records, rejected, closings = split(tmp_path / "a.zip")
    assert [record.source.locator for record in records] == ["c.bib.gz#1", "deep.bib#1", "b.jsonl#1"]
    assert records[2].source.path == f"{tmp_path}/a.zip/refs/b.jsonl"
    assert not rejected
    assert any("hidden" in closing.note for closing in closings)


def test_members_that_lead_outside_or_are_links(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("../../evil.bib", BIB)
        archive.writestr("/etc/evil.bib", BIB)
        archive.writestr("C:\\evil.bib", BIB)
        link = zipfile.ZipInfo("link.bib")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("good.bib", BIB)
    records, rejected, _ = split(tmp_path / "a.zip")
    assert [record.source.locator for record in records] == ["good.bib#1"]
    assert (
        sorted(item.reason for item in rejected)
        == ["a link, not followed"] + ["its path leads outside the archive"] * 3
    )


def test_bombs_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "FREE", 1 << 16)
    monkeypatch.setattr(expand, "RATIO", 20)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"a b " * 1_000_000))
    assert "more than 20-fold" in reasons(tmp_path / "a.txt.gz")
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"a b " * 1_000_000)
    assert "more than 20-fold" in reasons(tmp_path / "a.zip")


def test_a_line_of_blanks_takes_no_time(tmp_path: Path) -> None:
    # Quadratic matching took a minute of 64 Ki blanks, so that a file of them never ended.
    path = tmp_path / "blank.txt"
    path.write_text(" " * 3_000_000)
    [item, _] = list(read(path))
    assert isinstance(item, Rejected)


def test_too_many_members_and_too_deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expand, "MEMBERS", 3)
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(4):
            archive.writestr(f"{number}.bib", BIB)
    assert "at most 3" in reasons(tmp_path / "many.zip")
    data = BIB.encode()
    for _ in range(expand.DEPTH + 1):
        data = gzip.compress(data)
    (tmp_path / "deep.gz").write_bytes(data)
    assert "deep" in reasons(tmp_path / "deep.gz")


def test_a_wrong_size_in_the_archive_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.bib", BIB)
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02") + 24
    data[at : at + 4] = struct.pack("<I", 5)
    path.write_bytes(data)
    assert reasons(path)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(gzip.compress(LINE.encode()))

    monkeypatch.setattr(sys, "stdin", Input())
    records, rejected, _ = split("-")
    assert [record.source.locator for record in records] == ["-#1"]
    assert not rejected


def test_a_file_that_changes_meanwhile_is_said_to(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(LINE * 3)
    items = read(path)
    assert isinstance(next(items), Record)
    path.write_text(LINE * 5)
    rest = list(items)
    assert any(isinstance(item, Rejected) and "changed while it was read" in item.reason for item in rest)


def test_a_line_too_long_is_left_out_and_the_rest_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened_module, "LONGEST_LINE", 100)
    long = '{"title": "T", "abstract": "' + "word " * 100 + '"}\n'
    *items, closing = read_opened(opened(LINE + long + LINE, "a.jsonl"), ReadOptions())
    assert [type(item) for item in items] == [Record, Rejected, Record]
    assert items[1].line == 2  # type: ignore[union-attr]
    assert closing == FileRead("a.jsonl", "jsonl", 2, 1, 0)


def test_a_text_too_large_to_hold_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened_module, "LARGEST_TEXT", 1000)
    [rejected, _] = read_opened(opened("We do this and that, and more. " * 100, "a.txt"), ReadOptions())
    assert "larger than" in rejected.reason  # type: ignore[union-attr]


TEXTS = {
    "latin": "Le café naïve déjà vu, œuvre de Müller — “été” à Besançon, où l'on étudie les phénomènes étranges.",
    "chinese": "本文研究了深度学习方法在医学图像分割中的应用，并给出了实验结果。作者：张三，李四。",
    "greek letters": "We set α = 0.5 and β ≤ 3 for naïve Bayes, as Erdős did.",
}


@pytest.mark.parametrize(
    ("text", "name"),
    [(text, name) for text in TEXTS for name in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be")]
    + [("latin", "cp1252"), ("chinese", "gb18030"), ("chinese", "gbk")],
)
def test_encodings(text: str, name: str) -> None:
    prefix = "plain ascii words for a while\n" * 20
    data = (prefix + TEXTS[text] * 3).encode(name)
    assert opened(data).text() == prefix + TEXTS[text] * 3
    assert "\n".join(line for _, line in opened(data).lines()) == prefix + TEXTS[text] * 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cp1250", "Práce se zabývá rozpoznáváním řeči. Žádná předchozí metoda toho nedosáhla, tvrdíme však opak."),
        ("cp1250", "Zaproponowane podejście zmniejsza błąd o jedną trzecią. Żadna metoda tego nie osiągnęła."),
        ("cp1250", "Egy új beszédfelismerő módszert mutat be; az adatok elérhetők, a hiba kisebb."),
        ("cp1250", "author = {Šimůnek, Petr and Dvořák, Tomáš and Wiśniewski, Łukasz}, title = {Deep nets}"),
        ("iso8859_2", "Zaproponowane podejście zmniejsza błąd o jedną trzecią. Żadna metoda tego nie osiągnęła."),
        ("cp1254", "Bu çalışmada yeni bir konuşma tanıma yöntemi önerilmiştir; veriler erişime açıktır."),
        ("cp1252", "Lýsir nýrri aðferð til að þekkja íslenskt talmál; tilraunir voru gerðar með fólki."),
        ("cp1252", "Töö käsitleb kõne tuvastamist; õppimine on võimalik. Šokk."),
        ("cp1252", "Author: Škoda and José Muñoz and François, René and Günther and Hélène, André"),
        ("cp1252", "Um método de aprendizado; a solução não é nova, mas eficaz. Ações põem."),
        ("cp1252", "El nº 1 de 5 m³, £5, by Jane Roe¹ and Kim Doe², ± 2 µm"),
        ("mac_roman", "L’étude présente déjà une méthode où l’élève apprend."),
        ("shift_jis", "本論文では、深層学習に基づく新しい音声認識手法を提案する。"),
        ("euc_jp", "本論文では、深層学習に基づく新しい音声認識手法を提案する。"),
        ("euc_kr", "본 논문에서는 심층 신경망에 기반한 새로운 음성 인식 방법을 제안한다."),
        ("big5", "本文提出一種新的語音辨識方法，使用深度類神經網路，錯誤率降低三分之一。"),
        ("koi8_r", "Предложен новый метод распознавания речи, основанный на глубоких сетях. Ошибка снижается."),
        ("cp1253", "Στην εργασία προτείνεται μια νέα μέθοδος αναγνώρισης ομιλίας με βαθιά δίκτυα."),
    ],
)
def test_older_encodings_are_told_apart(name: str, text: str) -> None:
    assert opened(text.encode(name)).text() == text


def test_latin_1_and_stray_bytes() -> None:
    assert encoding.decode("Müller und Gößwein über Äpfel, öfter für Übung".encode("latin-1")) == (
        "Müller und Gößwein über Äpfel, öfter für Übung"
    )
    mixed = "déjà vu, été, naïve, où, café ".encode() * 3 + b"it\x92s 5\x80"
    assert encoding.decode(mixed).endswith("it’s 5€")


def test_the_encoding_is_found_far_into_a_file() -> None:
    data = b"plain ascii line\n" * 200_000 + "été à Besançon, déjà, où, Müller".encode("cp1252")
    last = list(opened(data).lines())[-1]
    assert last == (200_001, "été à Besançon, déjà, où, Müller")


def test_newlines_of_all_systems() -> None:
    assert [line for _, line in opened(b"a\r\nb\rc\nd").lines()] == ["a", "b", "c", "d"]


MINE = ("plain", "markdown", "csv", "jsonl", "json")
SIGNS = st.sampled_from(
    [
        *(
            "Title: a",
            "Abstract: b",
            "# h",
            "- x",
            "1. y",
            "|",
            "---",
            '{"title": "t"}',
            "[",
            "]",
            "{",
            "}",
            '"',
            ",",
            ";",
        ),
        *("\t", "\n", "\r", "title,abstract", "null", "NaN", "\\", "$", "<b>", "&lt;", "本文。", "é", "\0", "\ufeff"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.binary(max_size=200), st.lists(SIGNS, max_size=40).map(lambda parts: "".join(parts).encode("utf-8")))
)
def test_any_bytes_give_records_or_rejections(data: bytes) -> None:
    for name in (*MINE, None):
        *items, closing = read_opened(Opened("a.txt", lambda: io.BytesIO(data)), ReadOptions(format=name))
        assert isinstance(closing, FileRead)
        assert items
        assert all(isinstance(item, Record | Rejected) for item in items)
        assert closing.read + closing.rejected == len(items)
