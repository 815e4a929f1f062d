"""Markdown lists of papers."""

from __future__ import annotations

import pytest

from rag.readers import ReadOptions, markdown, plain
from rag.readers.options import NotLiterature
from tests.formats import opened, records

TEXT = (
    "We weigh stones of old walls, and we find that their weight falls with height, as a mason would expect. It is so."
)


def test_headings_with_labels_and_rules() -> None:
    text = f"""# On Walls

**Authors**: Jane Roe, Kim Doe

**Link**: [PDF](https://arxiv.org/pdf/2511.00001)

**Abstract**: {TEXT}

---
# On Doors

**Authors**: Jim Poe

**Link**: [PDF](https://arxiv.org/pdf/2511.00002)

**Abstract**: {TEXT}
"""
    first, second = records(markdown, text)
    assert (first.title, first.authors, first.abstract) == ("On Walls", ("Jane Roe", "Kim Doe"), TEXT)
    assert (first.arxiv_id, first.year) == ("2511.00001", 2025)
    assert (second.title, second.source.position) == ("On Doors", 2)


def test_chinese_digest_with_coloured_labels_and_quotes() -> None:
    text = f"""# 🧠 大模型 | 2026年04月15日

> 本类共 **1** 篇论文

### 1. [On Walls: A Study](https://arxiv.org/abs/2604.00001)

**<font color=#1a73e8>作者：</font>** Jane Roe, Kim Doe 等 6 位作者
**<font color=#188038>arXiv所属领域：</font>** Masonry

**<font color=#5f6368>摘要：</font>**
> {TEXT}

---
"""
    [record] = records(markdown, text)
    assert (record.title, record.authors, record.abstract) == ("On Walls: A Study", ("Jane Roe", "Kim Doe"), TEXT)
    assert (record.venue, record.year, record.arxiv_id) == (None, 2026, "2604.00001")
    assert record.extra == {"arXiv所属领域": "Masonry"}


def test_an_awesome_list_with_details() -> None:
    text = f"""# **Awesome ICLR 2024 Wall Papers Collection**
This repository holds a comprehensive compilation of papers on walls that were presented in the year 2024.

---

### On Walls
> A short summary of the paper.

<details open>
<summary>Details</summary>

- **Abstract**: {TEXT}
- **OpenReview**: https://openreview.net/pdf?id=abcDEF123

</details>

### On Doors
> Another one.

<details>
<summary>Details</summary>

- **Abstract**: {TEXT}
</details>
"""
    first, second = records(markdown, text)
    assert (first.title, first.abstract, first.openreview_id) == ("On Walls", TEXT, "abcDEF123")
    assert (first.venue, first.year, first.extra) == ("ICLR", 2024, {"summary": "A short summary of the paper."})
    assert second.title == "On Doors"


def test_bullets() -> None:
    text = """# Reading

- [Contents](#contents)
- **On Walls and Their Weight**, Jane Roe, *ICLR 2024* [[paper](https://arxiv.org/abs/2401.00001)] [[code](https://github.com/a/b)]
- [On Doors and Their Hinges](https://aclanthology.org/2023.acl-long.1) - ACL 2023
  - Abstract: Doors are weighed.
- a tool: [link](https://example.org)
"""
    first, second = records(markdown, text)
    assert (first.title, first.venue, first.year, first.arxiv_id) == (
        "On Walls and Their Weight",
        "ICLR",
        2024,
        "2401.00001",
    )
    assert "Jane Roe" in first.extra["listed as"]
    assert (second.title, second.abstract, second.year) == ("On Doors and Their Hinges", "Doors are weighed.", 2023)


def test_tables() -> None:
    text = """## Papers
| Paper | Authors | Venue | Link |
|:--|---|---|---|
| [On Walls](https://openreview.net/forum?id=abcDEF123) | Jane Roe, Kim Doe | NeurIPS 2022 | [code](https://a.org) |
| On Doors | Jim Poe | ACL 2021 | |
"""
    first, second = records(markdown, text)
    assert (first.title, first.authors, first.openreview_id, first.year) == (
        "On Walls",
        ("Jane Roe", "Kim Doe"),
        "abcDEF123",
        2022,
    )
    assert (second.title, second.venue) == ("On Doors", "ACL 2021")


def test_paragraphs_below_a_list_heading_are_untitled_papers() -> None:
    found = records(markdown, f"# ICLR 2025 Papers\n\n{TEXT}\n\n{TEXT.replace('walls', 'doors')}\n")
    assert [(record.title, record.venue, record.year) for record in found] == [(None, "ICLR", 2025)] * 2


def test_a_read_me_is_no_literature() -> None:
    text = f"# A Tool\n\n{TEXT}\n\n## Use\n\n```\npip install tool\n# Abstract: no\n```\n\n"
    text += "- [Docs](https://docs.example.org)\n"
    with pytest.raises(NotLiterature):
        list(markdown.read(opened(text), ReadOptions()))
    assert markdown.sniff(text, "README.md") > plain.sniff(text, "README.md")


def test_a_daily_digest_with_names_in_italics() -> None:
    text = f"""# cs.CL [[Back]](#toc)

### [1] [On Walls](https://arxiv.org/abs/2508.00001)
*Jane Roe,Kim Doe*

Main category: cs.CL

<details>
  <summary>Details</summary>

Motivation: Walls are heavy.

Abstract: {TEXT}

</details>
"""
    [record] = records(markdown, text)
    assert (record.title, record.authors, record.abstract) == ("On Walls", ("Jane Roe", "Kim Doe"), TEXT)
    assert record.extra == {"text": "Main category: cs.CL\nMotivation: Walls are heavy."}


def test_a_dated_table_and_a_venue_in_bold() -> None:
    text = """|Publish Date|Title|Authors|PDF|Code|
|---|---|---|---|---|
|**2024-01-04**|**On Walls**|Jane Roe et.al.|[2401.00001](http://arxiv.org/abs/2401.00001)|**[link](https://a.org/b)**|

- (**ICLR 2024**) On Doors. [[pdf](https://arxiv.org/abs/2401.00002)]
"""
    first, second = records(markdown, text)
    assert (first.title, first.authors, first.arxiv_id) == ("On Walls", ("Jane Roe",), "2401.00001")
    assert first.extra == {"Publish Date": "2024-01-04", "Code": "https://a.org/b"}
    assert (second.title, second.venue, second.year) == ("On Doors", "ICLR", 2024)
