"""PubMed, EndNote, ACL Anthology and arXiv XML, and how records are cut out of XML."""

from __future__ import annotations

import io
import tracemalloc
from types import ModuleType

import pytest

from rag.readers import acl_xml, atom, endnote_xml, pubmed_xml
from rag.readers.opened import Opened
from rag.readers.options import ReadOptions, Unreadable
from rag.readers.xml_records import cut, text_of
from rag.types import Record, Rejected
from tests.formats import items, only, opened, records

ARTICLE = """<PubmedArticle><MedlineCitation><PMID Version="1">123</PMID>
<Article><Journal><JournalIssue><PubDate><MedlineDate>2010 Sep-Oct</MedlineDate></PubDate></JournalIssue>
<Title>Journal of Things</Title></Journal><ArticleTitle>On <i>E. coli</i> &amp; CO<sub>2</sub>.</ArticleTitle>
<ELocationID EIdType="pii">e1</ELocationID><ELocationID EIdType="doi">10.1000/OWN</ELocationID>
<Abstract><AbstractText Label="BACKGROUND">One.</AbstractText>
<AbstractText Label="METHODS">10<sup>-3</sup> mol.</AbstractText></Abstract><AuthorList><Author>
<LastName>Doe</LastName><ForeName>Jane B</ForeName>
<AffiliationInfo><Affiliation>U</Affiliation></AffiliationInfo></Author>
<Author><CollectiveName>The Group</CollectiveName></Author></AuthorList></Article>
<KeywordList><Keyword>one</Keyword></KeywordList>
<MeshHeadingList><MeshHeading><DescriptorName>Humans</DescriptorName></MeshHeading></MeshHeadingList>
<CommentsCorrectionsList><CommentsCorrections><PMID>999</PMID></CommentsCorrections></CommentsCorrectionsList>
</MedlineCitation><PubmedData><History><PubMedPubDate PubStatus="entrez">
<Year>2011</Year><Month>1</Month></PubMedPubDate></History>
<ArticleIdList><ArticleId IdType="pubmed">123</ArticleId></ArticleIdList>
<ReferenceList><Reference><ArticleIdList><ArticleId IdType="doi">10.1000/reference</ArticleId></ArticleIdList>
</Reference></ReferenceList></PubmedData></PubmedArticle>"""
PUBMED = f"""<?xml version="1.0"?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle//EN" "http://dtd.example/pubmed.dtd">
<PubmedArticleSet>
{ARTICLE}
</PubmedArticleSet>"""


def test_pubmed() -> None:
    record = only(pubmed_xml, PUBMED)
    assert record.title == "On E. coli & CO2."
    assert record.abstract == "BACKGROUND: One. METHODS: 10⁻³ mol."
    assert record.authors == ("Jane B Doe", "The Group")
    assert (record.venue, record.year) == ("Journal of Things", 2010)
    assert (record.doi, record.pmid) == ("10.1000/own", "123")
    assert record.keywords == ("one", "Humans")
    assert record.extra["AffiliationInfo/Affiliation"] == "U"
    assert record.extra["ArticleIdList/ArticleId[doi]"] == "10.1000/reference"
    assert record.extra["History/PubMedPubDate[entrez]"] == "2011-1"
    assert record.extra["CommentsCorrections/PMID"] == "999"


def test_the_doi_of_a_reference_is_not_the_articles() -> None:
    assert only(pubmed_xml, PUBMED.replace('<ELocationID EIdType="doi">10.1000/OWN</ELocationID>', "")).doi is None


def test_translated_and_missing_titles() -> None:
    title = "<ArticleTitle>On <i>E. coli</i> &amp; CO<sub>2</sub>.</ArticleTitle>"
    assert only(pubmed_xml, PUBMED.replace(title, "<ArticleTitle>[On things].</ArticleTitle>")).title == "On things"
    vernacular = "<ArticleTitle/><VernacularTitle>Om saker.</VernacularTitle>"
    assert only(pubmed_xml, PUBMED.replace(title, vernacular)).title == "Om saker."


def test_books() -> None:
    text = """<PubmedArticleSet><PubmedBookArticle><BookDocument><PMID>1</PMID><Book><BookTitle>A Book</BookTitle>
    <PubDate><Year>2001</Year></PubDate><AuthorList><Author><LastName>Doe</LastName><Initials>J</Initials></Author></AuthorList>
    </Book><Abstract><AbstractText>Text.</AbstractText></Abstract></BookDocument></PubmedBookArticle></PubmedArticleSet>"""
    record = only(pubmed_xml, text)
    assert (record.title, record.venue, record.year, record.authors) == ("A Book", None, 2001, ("J Doe",))


ENDNOTE = """<?xml version="1.0" encoding="UTF-8"?><xml><records>
<record><ref-type name="Journal Article">17</ref-type><contributors><authors>
<author><style face="normal">Doe, Jane</style></author><author>Roe, Richard</author></authors>
<secondary-authors><author>Editor, E.</author></secondary-authors></contributors>
<titles><title><style face="normal">On </style><style face="italic">things</style></title>
<secondary-title>Journal of Things</secondary-title></titles>
<periodical><full-title>Journal of Things</full-title></periodical>
<keywords><keyword>one</keyword><keyword>two</keyword></keywords><dates><year><style>2009</style></year></dates>
<urls><related-urls><url>https://example.org/a</url></related-urls></urls>
<electronic-resource-num>10.1000/ABC</electronic-resource-num>
<abstract>Text &lt; 5.</abstract><pages>1-2</pages></record>
<record><ref-type name="Book">1</ref-type><titles/></record>
</records></xml>"""


def test_endnote() -> None:
    record, empty = items(endnote_xml, ENDNOTE)
    assert isinstance(record, Record)
    assert (record.title, record.abstract) == ("On things", "Text < 5.")
    assert (record.authors, record.venue, record.year) == (("Jane Doe", "Richard Roe"), "Journal of Things", 2009)
    assert (record.doi, record.url, record.keywords) == ("10.1000/abc", "https://example.org/a", ("one", "two"))
    assert record.extra["secondary-authors/author"] == "Editor, E."
    assert record.extra["pages"] == "1-2"
    assert isinstance(empty, Rejected)
    assert empty.line == 12


ACL = """<?xml version='1.0' encoding='UTF-8'?>
<collection id="2024.things"><volume id="1"><meta><booktitle>Proceedings of Things</booktitle><year>2024</year></meta>
<frontmatter><url>2024.things-1.0</url></frontmatter>
<paper id="1"><title>On <fixed-case>LLM</fixed-case>s with <tex-math>x_1</tex-math></title>
<author><first>Jane</first><last>Doe</last><affiliation>U</affiliation></author>
<author><last>Mononym</last></author>
<abstract>We study <i>things</i>.</abstract><url hash="x">2024.things-1.1</url>
<doi>10.1000/ABC</doi><bibkey>doe</bibkey></paper>
</volume><volume id="2"><meta><booktitle>Findings</booktitle><year>2025</year></meta>
<paper id="1"><title>Second</title><url>https://example.org/b.pdf</url></paper></volume></collection>"""


def test_acl_anthology() -> None:
    first, second = records(acl_xml, ACL)
    assert first.title == "On LLMs with $x_1$"
    assert (first.abstract, first.authors) == ("We study things.", ("Jane Doe", "Mononym"))
    assert (first.venue, first.year) == ("Proceedings of Things", 2024)
    assert (first.url, first.doi) == ("https://aclanthology.org/2024.things-1.1", "10.1000/abc")
    assert first.extra == {"paper id": "1", "author/affiliation": "U", "bibkey": "doe"}
    assert (second.venue, second.year, second.url) == ("Findings", 2025, "https://example.org/b.pdf")
    assert second.source.position == 2


ATOM = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom"><title>query</title>
<entry><id>http://arxiv.org/abs/2101.00001v2</id><published>2021-01-03T00:00:00Z</published>
<updated>2022-01-01T00:00:00Z</updated>
<title>On
  things</title><summary>  We show $x&lt;y$.
</summary><author><name>Jane Doe</name><arxiv:affiliation>U</arxiv:affiliation></author>
<arxiv:doi>10.1000/ABC</arxiv:doi>
<arxiv:comment>3 pages</arxiv:comment><arxiv:journal_ref>J. Things 1</arxiv:journal_ref>
<link href="http://arxiv.org/abs/2101.00001v2" rel="alternate"/>
<link title="pdf" href="http://arxiv.org/pdf/2101.00001v2" rel="related"/>
<category term="cs.CL"/><category term="cs.IR"/></entry></feed>"""


def test_arxiv_atom() -> None:
    record = only(atom, ATOM)
    assert (record.title, record.abstract, record.authors) == ("On things", "We show $x<y$.", ("Jane Doe",))
    assert (record.year, record.venue, record.doi) == (2021, "J. Things 1", "10.1000/abc")
    assert (record.arxiv_id, record.url) == ("2101.00001", "http://arxiv.org/abs/2101.00001v2")
    assert record.extra["comment"] == "3 pages"
    assert record.extra["categories"] == "cs.CL cs.IR"


ALL = [(pubmed_xml, PUBMED), (endnote_xml, ENDNOTE), (acl_xml, ACL), (atom, ATOM)]


@pytest.mark.parametrize(("module", "text"), ALL)
def test_each_format_is_known_by_its_content(module: ModuleType, text: str) -> None:
    scores = {other.NAME: other.sniff(text, "x") for other, _ in ALL}
    assert scores.pop(module.NAME) >= 0.9
    assert set(scores.values()) == {0.0}


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE x [<!ENTITY % remote SYSTEM "http://example.org/x.dtd">]>',
    ],
)
@pytest.mark.parametrize(("module", "text"), ALL)
def test_entities_of_the_files_own_are_refused(module: ModuleType, text: str, declaration: str) -> None:
    body = text.split("?>", 1)[1].replace("On", "&secret;&b;")
    with pytest.raises(Unreadable, match="entities") as refused:
        items(module, f'<?xml version="1.0"?>\n{declaration}{body}')
    assert refused.value.line == 2


def test_an_entity_declared_within_a_record_is_refused() -> None:
    with pytest.raises(Unreadable, match="entities"):
        items(atom, ATOM + '<!DOCTYPE x [<!ENTITY a "b">]>')


def test_a_truncated_file_gives_its_complete_records_and_a_rejection() -> None:
    whole = PUBMED.replace("</PubmedArticleSet>", "") + ARTICLE[: len(ARTICLE) // 2]
    good, cut_off = items(pubmed_xml, whole)
    assert isinstance(good, Record)
    first_line = 3 + len(ARTICLE.splitlines()) + 1
    assert cut_off == Rejected("file", first_line, "entry 2: not closed: the file ends within it")


def test_a_file_cut_between_records_is_said_to_end_early() -> None:
    text = PUBMED.replace("</PubmedArticleSet>", "")
    stream = pubmed_xml.read(opened(text), ReadOptions())
    assert isinstance(next(stream), Record)
    with pytest.raises(Unreadable, match="ends early"):
        next(stream)


def test_a_damaged_record_costs_only_itself() -> None:
    text = (
        "<feed xmlns='http://www.w3.org/2005/Atom'>\n<entry><title>A</title></entry>\n<entry><title>B</ttle></entry>\n"
    )
    first, second, third, fourth = items(atom, text + "<entry><title>C</title>\n<entry><title>D</title></entry></feed>")
    assert (first.title, fourth.title) == ("A", "D")  # type: ignore[union-attr]
    assert isinstance(second, Rejected)
    assert second.line == 3
    assert second.reason.startswith("entry 2: not well-formed XML")
    assert third == Rejected("file", 4, "entry 3: not closed: another begins before it is closed")


def test_characters_and_entities_that_xml_does_not_have_are_seen_to() -> None:
    text = "<feed><entry><title>caf&eacute; &amp; R&D \x0bx &unknown; &#233;</title></entry></feed>"
    assert only(atom, text).title == "café & R&D x &unknown; é"


def test_marks_within_comments_and_cdata_begin_no_record() -> None:
    text = "<feed><!-- <entry><title>no</title></entry> --><![CDATA[<entry>]]><entry><title>A</title>"
    text += "<summary><![CDATA[</entry> x < 1]]></summary></entry></feed>"
    assert only(atom, text).abstract == "</entry> x < 1"


def test_prefixes_may_be_undeclared() -> None:
    assert only(atom, "<feed><entry><title>A <mml:math>x</mml:math></title></entry></feed>").title == "A x"


def test_encodings() -> None:
    text = '<?xml version="1.0" encoding="{}"?><feed><entry><title>Café żółw</title></entry></feed>'
    for encoding in ("utf-8", "utf-16", "iso-8859-2"):
        data = text.format(encoding).replace("é", "e" if encoding == "iso-8859-2" else "é").encode(encoding)
        assert text_of(next(iter(cut(opened(data), ["title"]))).element).endswith("żółw")  # type: ignore[arg-type]


def test_memory_stays_flat_while_a_large_file_streams() -> None:
    entry = f"<entry><title>A</title><summary>{'word ' * 2000}</summary></entry>\n".encode()
    size = 800

    class Endless(io.RawIOBase):
        left = size

        def read(self, amount: int = -1) -> bytes:
            self.left -= 1
            return b"" if self.left < -1 else b"</feed>" if self.left < 0 else entry

    tracemalloc.start()
    file = Opened("x", Endless)
    count = sum(1 for _ in atom.read(file, ReadOptions()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == size
    assert peak < size * len(entry) / 4
