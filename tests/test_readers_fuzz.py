"""Any bytes give records or rejections, never an exception that a user would see as a traceback."""

from __future__ import annotations

from contextlib import suppress
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.readers import acl_xml, atom, bibtex, endnote_xml, medline, pubmed_xml, refer, refworks, ris, wos
from rag.readers.options import ReadOptions, Unreadable
from rag.types import Record, Rejected
from tests.formats import opened

MODULES = (acl_xml, atom, bibtex, endnote_xml, medline, pubmed_xml, refer, refworks, ris, wos)
_PIECES = """
@article{ @string{ @comment{ @ { } " , = # \\ \\\\ title author year crossref abstract-qa-id abstract-qa-extra %T %A
%0 TY ER AU TI AB U5 PMID OWN PT FN RT A1 T1 abstract-qa
<record> </record> <entry> </entry> <entry/> <paper> </paper> <meta> </meta>
<title> </title> <PubmedArticle> </PubmedArticle> <MedlineCitation> <Article> <!-- --> <![CDATA[ ]]> <!ENTITY <!DOCTYPE
&amp; &nbsp; &#0; &#55296; < > & / </ $x$ \\'{e} {\\"o} 2021 10.1/x and
"""
PIECES = st.sampled_from(_PIECES.split())
SPACES = st.sampled_from([" ", "\n", "\n\n", "  - ", "- ", " ", "", "\r", "\ufeff", "\x00", "\t"])
NEARLY = st.lists(st.tuples(PIECES, SPACES).map("".join), max_size=40).map("".join)
DATA = st.one_of(st.binary(max_size=200), NEARLY.map(lambda text: text.encode("utf-8", "replace")))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.NAME)
@settings(max_examples=150, deadline=None)
@given(DATA)
def test_any_bytes_give_records_or_rejections(module: ModuleType, data: bytes) -> None:
    file = opened(data)
    assert 0 <= module.sniff(file.head, file.name) <= 1
    with suppress(Unreadable):
        for item in module.read(file, ReadOptions()):
            assert isinstance(item, Record | Rejected)
