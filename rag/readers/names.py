"""Which field a column or key holds, by its name, in the languages and dialects that exports use."""

from __future__ import annotations

import functools
import re
import unicodedata

_NAMES = """
title: title titles documenttitle articletitle papertitle itemtitle primarytitle titleprimary displayname ti
title: 标题 题名 篇名 论文标题 论文题目 题目 中文题名 文献标题 論文名 標題 題名 タイトル 제목
title: titel titre titulo titolo название заглавие
abstract: abstract abstracts summaries abstractnote abstracttext paperabstract documentabstract summary ab
abstract: 摘要 内容摘要 论文摘要 中文摘要 文摘 要旨 抄録 要約 초록
abstract: zusammenfassung kurzfassung resume resumen resumo riassunto sommario аннотация
authors: authorsparsed authorfullnames authorlist af authors author authornames authorships creators
authors: creator au authorstring authfullnames authorshipsauthordisplayname authorssurnamefirst
authors: 作者 全部作者 著者 저자 autor autoren verfasser auteur auteurs autores autori авторы
venue: venue sourcetitle publicationtitle journaltitle journal journalname journalbook conference conferencename
venue: conferencetitle booktitle containertitle journalref hostvenue publicationname publication publicationvenue
venue: journaltitles primarylocation primarylocationsourcedisplayname sourcedisplayname
venue: source so 刊名 期刊 文献来源 来源 会议 会议名称 期刊名称 zeitschrift quelle revue revista rivista журнал
year: year publicationyear pubyear py 年 年份 出版年 年度 jahr erscheinungsjahr annee ano anno год 연도
year: publishedyear yearpublished produceddateyi
year: publicationdate pubdate publishedat date published publisheddate issued coverdate datepublished
year: 发表时间 出版日期 发表日期
year: datum onlinedate issuedate earlyaccessdate created pdate cdate updated
url: url link articleurl paperurl weburl abs absurl abstracturl arxivurl htmlurl openreviewurl forum
url: uris s2url landingpageurl documentlink 链接 网址 pdf pdfurl pdflink
doi: doi doiids documentdoi itemdoi articledoi doilink doiurl di
arxiv_id: arxivid arxivids arxiv arxivnumber eprint
pmid: pmid idspmid pubmedid pubmed medlinepmid pubmedpmid
openreview_id: openreviewid forumid
keywords: authorkeywords keywordlist keywords keyword fieldsofstudy tags manualtags indexkeywords ieeeterms
keywords: 关键词 关键字 schlagworter stichworter motscles palabrasclave parolechiave
id: id paperid
"""
# Of several names of one field in one file the one that stands first here is preferred.
_RANKS = {
    name: (field, rank)
    for rank, line in enumerate(_NAMES.split("\n"))
    for field, _, names in [line.partition(": ")]
    for rank, name in enumerate(names.split(), start=100 * rank)
}
FIELDS = frozenset(field for field, _ in _RANKS.values())
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


@functools.lru_cache(maxsize=4096)
def field_of(name: str) -> tuple[str, int] | None:
    """(field, rank; smaller is preferred) for a column's name, or None. "Title-题名" and "Résumé" are understood."""
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    plain = "".join(char for char in decomposed if char.isalnum() and not unicodedata.combining(char))
    return _RANKS.get(plain) or _RANKS.get("".join(_CJK.findall(plain)))
