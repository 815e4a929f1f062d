"""Entries of several papers that an identifier or an empty phrase has in common, read into one library."""

from __future__ import annotations

import json
from pathlib import Path

from rag.ingest.run import IngestOptions, ingest
from rag.papers.identity import plain
from tests.library import in_step, opened

DOI = "10.1234/supplement"
ABSTRACTS = (
    "Old walls were weighed stone by stone. The weight of a stone falls with its height in the wall, and the fall is "
    "the same in every region that was visited during the three years of the survey.",
    "Hinges of barn doors wear with use. Ninety doors gave a curve of wear against age, by which barns without any "
    "written record can be dated to within a decade or so.",
    "Bees prefer blue flowers at dawn. Traps in twelve gardens counted visits each hour, and the preference was gone "
    "by noon on all but the coldest days of spring.",
)
TITLES = ("On Walls of Stone", "Dating Barns by Hinges", "Blue Flowers at Dawn")


def test_abstracts_of_a_supplement_are_papers_of_their_own(tmp_path: Path) -> None:
    entries = "".join(
        f"TY  - ABST\nTI  - {title}\nAB  - {abstract}\nDO  - {DOI}\nER  - \n\n"
        for title, abstract in zip(TITLES, ABSTRACTS, strict=True)
    )
    file, again = tmp_path / "s.ris", tmp_path / "again.ris"
    file.write_text(entries)
    # The same ones from elsewhere, one of them without its abstract, join them.
    again.write_text(entries.replace(f"AB  - {ABSTRACTS[1]}\n", ""))
    with opened(tmp_path / "home") as index:
        first = ingest([file], index, IngestOptions())
        assert (first.added, first.merged, len(index)) == (3, 0, 3)
        second = ingest([again], index, IngestOptions())
        assert (second.added, second.merged, len(index)) == (0, 3, 3)
        for title, abstract in zip(TITLES, ABSTRACTS, strict=True):
            found = index.find(title)
            assert found is not None
            assert (found.abstract, found.doi, len(found.sources)) == (abstract, DOI, 2)
        assert second.files[0].conflicts == []
        in_step(index)


def test_phrases_that_stand_for_an_abstract_join_no_papers(tmp_path: Path) -> None:
    phrases = ("Editorial", "No abstract available.", "n/a", "Withdrawn", "[No abstract available]", "© 2018 IEEE.")
    entries = [
        {"title": f"{title} {number}", "abstract": phrase, "year": 2020}
        for number, phrase in enumerate(phrases)
        for title in TITLES
    ]
    file = tmp_path / "a.jsonl"
    file.write_text("\n".join(map(json.dumps, entries)))
    with opened(tmp_path / "home") as index:
        report = ingest([file], index, IngestOptions())
        assert (report.added, report.merged, report.without_abstract) == (len(entries), 0, len(entries))
        assert len({plain(paper.title) for paper in index.records.papers(range(1, len(entries) + 1)).values()}) == 18
        in_step(index)
