"""Feeds each reader with damaged files and random bytes, and counts what does not end in papers or rejections.

    python -m eval.fuzz_readers [--inputs N] [--format NAME ...] [--seed S] [--examples FOLDER]

Inputs are small samples of every format, cut, repeated, spliced and sprinkled with the signs that formats are made of.
Every input goes to the reader under test whatever it looks like. Prints a line per format; exit status 1 if any input
raised, or took longer than a second.
"""

from __future__ import annotations

import io
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from rag.readers import FileRead, Opened, ReadOptions, format_names, formats, read_opened
from rag.types import Record, Rejected

LARGEST = 1500
SLOW = 1.0
ABSTRACT = (
    'We study how $x_{1}$ of {\\"o}ther things works, e.g. in Fig. 2. It does, by 3% (p < 0.05); see https://a.org/b.'
)
# One small file per format, divided by lines of equals signs; ABSTRACT stands for a text with all the traps.
_FILES = r"""
ICLR 2025 Papers

ABSTRACT ABSTRACT

1. A Title
Jane Roe, John Doe
ABSTRACT
========
Title: One
Authors: Roe, Jane; Doe, John
Abstract: ABSTRACT

Title: Two
Abstract: ABSTRACT
========
# List 2024

### 1. [One](https://arxiv.org/abs/2401.00001)

**Authors**: Jane Roe

**Abstract**: ABSTRACT
---
| Title | Authors |
|---|---|
| [Two](https://openreview.net/forum?id=abcdef) | John Doe |
- **Three** [[pdf](http://x.org/y.pdf)]
========
Title,Authors,Year,DOI,Abstract
One,"Roe, J.; Doe, K.",2020,10.1000/x,"ABSTRACT ""quoted"" text"
Two,Roe,2021,,b
========
标题;作者;年份;摘要
一;张三;2020;ABSTRACT
========
{"id": "a", "title": "One", "abstract": "It does.", "authors": ["Jane Roe"], "year": 2020}
{"title": NaN, "abstract": "ABS"}
========
{"data": [{"paperId": "x", "title": "One", "authors": [{"name": "J"}], "externalIds": {"DOI": "10.1/x"}}, null, 3]}
========
[{"title": "One", "versions": [{"created": "Mon, 2 Apr 2007"}], "authors_parsed": [["Roe", "J", ""]]}, {"a": [1]}]
========
{"notes": [{"id": "abc", "forum": "abc", "content": {"title": {"value": "T"}, "abstract": {"value": "A"}}, "cdate": 1}]}
========
@article{a, title = {One {B}ig}, author = {Roe, J and Doe, K}, year = 2020, abstract = {ABSTRACT}}
@string{j = {Journal}}
@inproceedings{b, title = "Two" # j, doi = {10.1/x}}
========
TY  - JOUR
TI  - One
AU  - Roe, J
PY  - 2020//
N2  - ABSTRACT
ER  -

TY  - CONF
T1  - Two
ER  -
========
PMID- 12345
TI  - One
      goes on
AU  - Roe J
DP  - 2020 Jan
AB  - ABSTRACT

PMID- 2
TI  - Two
========
FN Clarivate
VR 1.0
PT J
AU Roe, J
   Doe, K
TI One
AB ABSTRACT
PY 2020
ER

PT J
TI Two
ER

EF
========
RT Journal Article
A1 Roe, J
T1 One
AB ABSTRACT
YR 2020

RT Book
T1 Two
========
%0 Journal Article
%T One
%A Roe, J
%X ABSTRACT
%D 2020

%0 Book
%T Two
========
<?xml version='1.0'?><PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>1</PMID><Article>
<ArticleTitle>One <i>x</i></ArticleTitle><Abstract><AbstractText Label='AIM'>We &amp; do.</AbstractText></Abstract>
</Article></MedlineCitation></PubmedArticle></PubmedArticleSet>
========
<?xml version='1.0'?><xml><records><record><titles><title><style>One</style></title></titles>
<dates><year>2020</year></dates><abstract>We do.</abstract></record></records></xml>
========
<?xml version='1.0'?><collection id='2024.x'><volume id='1'><meta><booktitle>B</booktitle></meta>
<paper id='1'><title>One</title><author><first>J</first><last>R</last></author><abstract>We do.</abstract></paper>
</volume></collection>
========
<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'><entry><id>http://arxiv.org/abs/2401.00001v1</id>
<title>One</title><summary>We do.</summary><published>2024-01-01T00:00:00Z</published></entry></feed>
========
<?xml version='1.0'?><dblp><article key='a'><author>Jane Roe</author><title>One.</title><year>2020</year></article>
<inproceedings key='b'><title>Two</title><ee>https://doi.org/10.1000/x</ee></inproceedings></dblp>
========
<?xml version='1.0'?><modsCollection xmlns='http://www.loc.gov/mods/v3'><mods><titleInfo><title>One</title></titleInfo>
<name><namePart type='given'>Jane</namePart><namePart type='family'>Roe</namePart></name><abstract>We do.</abstract>
</mods></modsCollection>
========
{Reference Type}: Journal Article
{Title}: One
{Author}: Roe, J
{Abstract}: ABSTRACT
{Year}: 2020

{Reference Type}: Book
{Title}: Two
========
Title-题名: 一
Author-作者: 张三;李四;
Summary-摘要: ABSTRACT
Year-年: 2020
========
1: Roe J, Doe K. One of them. J Walls. 2019 May;12(3):1-10. doi: 10.1000/abc. PMID: 31234567.

2: Poe A. Two of them. J Doors. 2018;1:2. PMID: 31234568.
========
1. J Walls. 2019 May;12(3):1-10. doi: 10.1000/abc.

One of them.

Roe J(1), Doe K(2).

Author information:
(1)X.

ABSTRACT

DOI: 10.1000/abc
PMID: 31234567

2. J Doors. 2018;1:2.

Two of them.

PMID: 31234568
========
\\
arXiv:2501.00011
Date: Mon, 6 Jan 2025 12:00:00 GMT   (123kb,D)

Title: One of
  them
Authors: Jane Roe (A), Kim Doe (B)
Categories: cs.LG cs.AI
\\
  ABSTRACT
\\ ( https://arxiv.org/abs/2501.00011 ,  123kb)
------------------------------------------------------------------------------
\\
arXiv:2501.00012
Title: Two
Authors: Jane Roe
\\ ( https://arxiv.org/abs/2501.00012 ,  99kb)
"""
SAMPLES = tuple(text.strip().replace("ABSTRACT", ABSTRACT).encode() for text in _FILES.split("========\n"))
_SIGNS = r"""
{ } [ ] ( ) < > " ' ` ~ # % & @ \ | ; , : = - _ * $ / ? ! . "" $$ \begin{equation} \frac{ {\'e} <!-- --> <![CDATA[ ]]>
&lt; &#0; &#xD800; @article{ @string{ PT\x20J %0\x20 Title: Abstract: ** --- |---| null NaN 1e999 \u \ud800 é 中文。 😀
"""
TOKENS = (
    *(token.encode() for token in _SIGNS.split()),
    *(
        b"\n",
        b"\r",
        b"\t",
        b"\0",
        b"\n\n",
        b"\r\n",
        b"\xef\xbb\xbf",
        b"TY  - ",
        b"ER  - \n",
        b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    ),
    *(b"\xff\xfe", b"\xfe\xff", b"\x80", b"\xa1\xa1", b"\xed\xa0\x80", b"\x1f\x8b", b"PK\x03\x04"),
)


def damaged(rng: random.Random, samples: Sequence[bytes]) -> bytes:
    """A sample with one to eight wounds, in one of several encodings; or, one time in ten, random bytes."""
    if rng.random() < 0.1:
        return rng.randbytes(rng.randrange(400))
    data = bytearray(rng.choice(samples)[:LARGEST])
    for _ in range(rng.randint(1, 8)):
        at, to = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        match rng.randrange(6):
            case 0:
                del data[at : min(to, at + 200)]
            case 1:
                data[at:at] = rng.choice(TOKENS) * rng.choice((1, 1, 1, 2, 30))
            case 2:
                data[at:at] = data[at : min(to, at + 300)]
            case 3:
                other = rng.choice(samples)
                cut = rng.randrange(len(other))
                data[at:to] = other[cut : cut + 300]
            case 4:
                data[at : at + 1] = rng.randbytes(1)
            case _:
                del data[to:]
    if rng.random() < 0.1:
        return bytes(data).decode("utf-8", "replace").encode(rng.choice(("utf-16", "gb18030", "utf-8-sig")))
    return bytes(data[: 2 * LARGEST])


def fuzz(name: str, inputs: int, samples: Sequence[bytes], seed: int) -> tuple[int, int, list[str]]:
    """(records, rejections, failures) of `inputs` damaged inputs read as format `name`, or as found out for "any"."""
    rng = random.Random(f"{seed} {name}")
    module = next((module for module in formats() if name == module.NAME), None)
    fitting = [
        sample for sample in samples if module is None or module.sniff(sample.decode("utf-8", "replace"), "") > 0.3
    ]
    options = ReadOptions(format=name if module else None)
    records = rejections = 0
    failures: list[str] = []
    for number in range(inputs):
        data = damaged(rng, samples if rng.random() < 0.3 else fitting)
        began = time.perf_counter()
        try:
            items = list(read_opened(Opened("fuzz", lambda data=data: io.BytesIO(data)), options))  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001 - whatever escapes is what is looked for
            failures.append(f"input {number}: {type(error).__name__}: {error} <- {data[:2000]!r}")
            continue
        took = time.perf_counter() - began
        kinds = [type(item) for item in items]
        if kinds[-1] is not FileRead or set(kinds) - {Record, Rejected, FileRead} or len(kinds) < 2:
            failures.append(f"input {number}: gave {kinds} <- {data!r}")
        if took > SLOW:
            failures.append(f"input {number}: took {took:.1f} s <- {data!r}")
        records += kinds.count(Record)
        rejections += kinds.count(Rejected)
    return records, rejections, failures


@click.command()
@click.option("--inputs", default=100_000, show_default=True, help="Inputs for each format.")
@click.option("--format", "names", multiple=True, help="Only these formats.")
@click.option("--seed", default=0, show_default=True)
@click.option(
    "--examples", type=click.Path(exists=True, file_okay=False, path_type=Path), help="Real files, damaged too."
)
def main(inputs: int, names: tuple[str, ...], seed: int, examples: Path | None) -> None:
    """Fuzz the readers and print one line per format."""
    samples = list(SAMPLES)
    if examples is not None:
        samples += [path.read_bytes()[:LARGEST] for path in sorted(examples.rglob("*")) if path.is_file()]
    failed = False
    for name in names or (*format_names(), "any"):
        began = time.perf_counter()
        records, rejections, failures = fuzz(name, inputs, samples, seed)
        seconds = time.perf_counter() - began
        counts = f"{records} records, {rejections} rejections, {len(failures)} failures"
        click.echo(f"{name:12} {inputs} inputs, {counts}, {seconds:.0f} s")
        for failure in failures[:5]:
            click.echo(f"  {failure}", err=True)
        failed = failed or bool(failures)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
