"""Identifiers in the forms in which files and addresses have them."""

from __future__ import annotations

import pytest

from rag.papers.identifiers import arxiv_of, arxiv_year, doi_of, openreview_of, pmid_of, url_in


@pytest.mark.parametrize(
    ("text", "doi"),
    [
        ("10.1109/MCSE.2013.95", "10.1109/mcse.2013.95"),
        ("https://doi.org/10.1000/ABC-1", "10.1000/abc-1"),
        ("doi: 10.1016/S0027-9684(15)31340-7.", "10.1016/s0027-9684(15)31340-7"),
        ("(10.1000/x)", "10.1000/x"),
        ("http://dx.doi.org/10.1002%2Fcpp.2398", "10.1002/cpp.2398"),
        ("10.3", None),
        ("", None),
        (None, None),
    ],
)
def test_doi(text: str | None, doi: str | None) -> None:
    assert doi_of(text) == doi


@pytest.mark.parametrize(
    ("text", "arxiv"),
    [
        ("https://arxiv.org/abs/2401.01234v3", "2401.01234"),
        ("https://arxiv.org/pdf/2401.01234.pdf", "2401.01234"),
        ("arXiv:hep-th/9901001", "hep-th/9901001"),
        ("10.48550/arXiv.2401.01234", "2401.01234"),
        ("https://example.org/2401.01234", None),
        ("2401.01234", None),
    ],
)
def test_arxiv(text: str, arxiv: str | None) -> None:
    assert arxiv_of(text) == arxiv


def test_a_bare_id_counts_where_it_is_expected() -> None:
    assert arxiv_of(" 2401.01234v2 ", bare=True) == "2401.01234"
    assert arxiv_of("abc", bare=True) is None
    assert pmid_of("0012345", bare=True) == "12345"
    assert pmid_of("12345") is None
    assert pmid_of("https://pubmed.ncbi.nlm.nih.gov/12345/") == "12345"


def test_the_year_in_an_arxiv_id() -> None:
    assert arxiv_year("2401.01234") == 2024
    assert arxiv_year("hep-th/9901001") == 1999
    assert arxiv_year(None) is None


def test_openreview_and_addresses_in_text() -> None:
    assert openreview_of("https://openreview.net/pdf?id=aB_c-123") == "aB_c-123"
    assert url_in("Code is at https://github.com/a/b_c. Next.") == "https://github.com/a/b_c"
    assert url_in("代码见https://a.org/x。") == "https://a.org/x"
    assert url_in("none") is None
