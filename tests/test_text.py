"""What is stored of a text, where its sentences end, and what an untitled abstract is called."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.texts.text import clean_text, clean_title, label_from, split_sentences

PIECES = st.sampled_from(
    [
        *(
            "We",
            "compu-\ntation",
            "self-\nsupervised",
            "e.g.",
            "et al.",
            "Fig. 3",
            "0.5",
            "$x_{1}$",
            "$5",
            "$p < 0.05$",
            "A.",
        ),
        *(
            "\\emph{a}",
            "\\textbf{$k$-b}",
            "{\\'e}",
            '\\"o',
            "\\ours",
            "\\hat{x}",
            "\\bar\\theta",
            "x_{i}",
            "{\\cal O}(n)",
            "$ f(x) $",
            "$\\sim$",
            "\\textit{y {z}}",
            "\\say{",
            "\\$5",
            "---",
            "--",
            "\\%",
            "``q''",
            "~",
            "&amp;lt;",
            "<b>x</b>",
            "<p>",
            "a<b",
        ),
        *(
            "<sub>2</sub>",
            "**B**",
            "\\(y\\)",
            "https://a.org/b.",
            "。",
            "！",
            "？",
            "中文",
            "(",
            ")",
            "[1]",
            ".",
            "?",
            "\n",
            "\u00ad",
        ),
        *("ﬁne", "\u200b", "Abstract: ", "{", "}", "\\", "$", "*", "- ", "1.", "é", "\ue0000\ue001"),
    ]
)
TEXTS = st.one_of(
    st.text(max_size=80), st.lists(st.tuples(PIECES, st.sampled_from(["", " "])).map("".join), max_size=15).map("".join)
)


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        (
            'Schr\\"odinger, P\\\'olya, {\\L}ojasiewicz, na\\"{\\i}ve, Erd\\H{o}s, Gau{\\ss}',
            "Schrödinger, Pólya, Łojasiewicz, naïve, Erdős, Gauß",
        ),
        ("a \\emph{very \\textbf{bold}} {\\em claim}", "a very bold claim"),
        ("hold for \\emph{$k$-saturated} nets", "hold for $k$-saturated nets"),
        ("76\\% of AT\\&T, item \\#2", "76% of AT&T, item #2"),
        ("see \\url{http://a.org/b_c} or \\href{http://x.org}{here}", "see http://a.org/b_c or here (http://x.org)"),
        ("by \\citet{roe2020}, \\eg in Fig.~1", "by [roe2020], e.g. in Fig. 1"),
        ("we call it \\ours, unknown", "we call it \\ours, unknown"),
        ("5.7{\\deg} and $2\\times$ and $\\textbf{Name}$ and $93.5\\%$", "5.7° and 2× and Name and 93.5%"),
        ("keep $\\frac{a}{b}$ and \\(x^2\\) and $$y$$", "keep $\\frac{a}{b}$ and \\(x^2\\) and $$y$$"),
        ("``quoted'' words", "“quoted” words"),
        ("costs $5 and $10", "costs $5 and $10"),
        ("costs \\$5 and \\$10", "costs $5 and $10"),
        ("set $HOME and $PATH of $5 or $ 6", "set $HOME and $PATH of $5 or $ 6"),
        ("only 5% of 10~20 and ~30", "only 5% of 10~20 and ~30"),
    ],
)
def test_latex_becomes_unicode_and_mathematics_stays(raw: str, stored: str) -> None:
    assert clean_text(raw) == stored


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("the \\bar\\theta and \\hat{x}, \\sqrt{n}/2.", "the $\\bar\\theta$ and $\\hat{x}$, $\\sqrt{n}/2$."),
        ("in \\cal{O}(n) or {\\cal O}(n \\log n) time", "in $\\mathcal{O}(n)$ or $\\mathcal{O}(n \\log n)$ time"),
        ("\\mathcal{O}(\\log n) rounds for \\mathbb R^d", "$\\mathcal{O}(\\log n)$ rounds for $\\mathbb R^d$"),
        ("O(n^{1/2}) and 10^{-3} of x_{i}", "$O(n^{1/2})$ and $10^{-3}$ of $x_{i}$"),
        ("with $ f(x, y) $, where $ f $ is", "with $f(x, y)$, where $f$ is"),
        ("about $\\sim$10 and $\\times$3 at 30$^\\circ$C", "about ∼10 and ×3 at 30°C"),
        ("up to $4.5$$\\times$ faster", "up to 4.5× faster"),
        ("(\\emph{the \\hat{x} of it})", "(the $\\hat{x}$ of it)"),
    ],
)
def test_mathematics_outside_dollars_is_set_between_them(raw: str, stored: str) -> None:
    assert clean_text(raw) == stored


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("\\textit{y {z}} in \\emph{a {bc {e}} d}", "y z in a {bc e} d"),
        ("of \\algname{FedNL} and \\method{}, by \\say{experts}", "of FedNL and \\method, by “experts”"),
        ("L \\la 3 and M \\ga 4 in 90^\\circ", "L ≲ 3 and M ≳ 4 in 90°"),
        ("a---b, pages 3--5, Erdős--Rényi -- and", "a—b, pages 3–5, Erdős–Rényi – and"),
        ("run --help, x --> y, https://a.org/b--c", "run --help, x --> y, https://a.org/b--c"),
        ("Table~3 and Section~4 of 10~20", "Table 3 and Section 4 of 10~20"),
        ("by D\\écoret, Schr\\odinger, na\\ive ones", "by Décoret, Schrödinger, naïve ones"),
        ("m\\textsuperscript{2} of CO\\textsubscript{2}, 4\\textsuperscript{th}", "m² of CO₂, 4th"),
        ("at \\href{https://a.org} and \\url{https://b.org", "at https://a.org and https://b.org"),
        ("in {\\color{blue} blue} and \\textcolor{red}{red}, see \\ref{fig}", "in blue and red, see [fig]"),
        ("the Fourier{–}Stieltjes transform", "the Fourier–Stieltjes transform"),
    ],
)
def test_macros_in_prose_are_resolved(raw: str, stored: str) -> None:
    assert clean_text(raw) == stored


def test_macros_in_titles_lose_their_braces() -> None:
    assert clean_title("\\textit{y {z}} of {T}he \\emph{B}ar") == "y z of The Bar"
    assert clean_title("Rate n^{-1/2} of \\bar\\theta") == "Rate $n^{-1/2}$ of $\\bar\\theta$"


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("p < 0.05 and a<b and c>d, also x<y>z", "p < 0.05 and a<b and c>d, also x<y>z"),
        ("<p>One <i>two</i></p><p>three</p>", "One two three"),
        ("tokens <EOS> and <image> stay", "tokens <EOS> and <image> stay"),
        ("CO<sub>2</sub> at 10<sup>-3</sup>", "CO2 at 10⁻³"),
        ("&lt;p&gt;x&lt;/p&gt; &amp;amp; y &mdash; z&#x27;s", "x & y — z's"),
        ("<jats:p>We <jats:italic>do</jats:italic>.</jats:p>", "We do."),
        ("R&D at AT&T; <b>bold</b>", "R&D at AT&T; bold"),
        ("**H**e**u**ristic and *gentle* A* search of a * b", "Heuristic and gentle A* search of a * b"),
    ],
)
def test_html_goes_and_comparisons_stay(raw: str, stored: str) -> None:
    assert clean_text(raw) == stored


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        ("compu-\ntation", "computation"),
        ("a self-\nsupervised model-\nlevel view", "a self-supervised model-level view"),
        ("state-of-the-\nart", "state-of-the-art"),
        ("the well known score-\nbased one", "the well known score-based one"),
        ("con-\nformers like conformers", "conformers like conformers"),
        ("on con- former data, each conformer", "on conformer data, each conformer"),
        ("pre- and post-training", "pre- and post-training"),
        ("one\r\ntwo\n\n three\tfour", "one two three four"),
    ],
)
def test_line_ends_are_healed(raw: str, stored: str) -> None:
    assert clean_text(raw) == stored


def test_unicode_is_composed_and_invisible_signs_go() -> None:
    assert clean_text("Pe\u0301rez\u200b of\u00a0ﬁne soft\u00adware\x00\x07") == "Pérez of fine software"


def test_a_heading_that_only_says_abstract_goes() -> None:
    assert clean_text("Abstract: We do.") == clean_text("ABSTRACT We do.") == "We do."
    assert clean_text("摘要：本文研究。") == "本文研究。"
    assert clean_text("Abstract reasoning is hard.") == "Abstract reasoning is hard."


def test_braces_group_in_titles_only() -> None:
    assert clean_title("The {B}ayesian {LSTM} of $x_{1}$") == "The Bayesian LSTM of $x_{1}$"
    assert clean_text("the set {1, 2}") == "the set {1, 2}"


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_cleaning_again_changes_nothing(raw: str) -> None:
    for clean in (clean_text, clean_title):
        once = clean(raw)
        assert clean(once) == once
        assert unicodedata.is_normalized("NFC", once)
        assert "\n" not in once
        assert once == once.strip()


def sentences(text: str) -> list[str]:
    return [span.text for span in split_sentences(text)]


@pytest.mark.parametrize(
    "parts",
    [
        ["We use e.g. BERT, i.e. an encoder.", "It works."],
        ["Smith et al. (2020) did.", "Others, cf. Fig. 3 and Eq. 2, did not."],
        ["We follow Roe et al.", "However, we differ."],
        ["It gains 0.5 points over v1.5 of the U.S. system.", "J. Roe agreed."],
        ["See https://a.org/b.c?d for code.", "Next."],
        ["Is it so?", "Yes!", "Good."],
        ["这是第一句。", "这是第二句！", "是吗？", "是。"],
        ["He said “It works.”", "We (see e.g. A. B. C.) agree."],
        ["With $a. B$ in it.", "Then $x > 0.$", "Done."],
        ["Batches, metrics, etc. are used.", "We use batches, etc.", "The end."],
        ["1. First comes one.", "2. Second comes two."],
        ["It is shown [3]. [4]", "Then more.", "Done. [1][2]"],
        ["vLLM is fast.", "mT5 is not.", "iBOT is."],
        ["First line", "- a bullet", "- another"],
    ],
)
def test_sentences_end_where_they_should(parts: list[str]) -> None:
    chinese = parts[0][-1] == "。"
    lines = parts[0] == "First line"
    assert sentences(("" if chinese else "\n" if lines else " ").join(parts)) == parts


def test_a_missing_blank_is_seen_before_a_word_that_begins_sentences() -> None:
    assert sentences("It gives good results.However, it is slow. Use torch.Tensor here.") == [
        "It gives good results.",
        "However, it is slow.",
        "Use torch.Tensor here.",
    ]


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_sentences_cover_the_text_in_order(text: str) -> None:
    end = 0
    for span in split_sentences(text):
        assert text[span.start : span.end] == span.text == span.text.strip() != ""
        assert not text[end : span.start].strip()
        end = span.end
    assert not text[end:].strip()


@pytest.mark.parametrize(
    ("abstract", "label"),
    [
        (
            "Nets are big. Unlike Damage (OBD), we introduce Frugal Net Pruning (FNP), a method.",
            "Frugal Net Pruning (FNP)",
        ),
        (
            "Maps are hard. We present OX-Maps, a novel self-aligning mapper for indoor use.",
            "OX-Maps: self-aligning mapper for indoor use",
        ),
        (
            "We propose FOOBAR (Fast Online Object Bounding And Ranking) here.",
            "Fast Online Object Bounding And Ranking (FOOBAR)",
        ),
        ("In this paper, we design a new sorting method, namely BO-SORT, for it.", "BO-SORT: sorting method"),
        (
            "Much is known of LSTMs. We prove that the training of one-layer nets is hard in general.",
            "Training of one-layer nets is hard in general",
        ),
        ("本文提出了一种新的图像分割方法，并给出实验。", "一种新的图像分割方法"),
        ("Only an opening is here, and nothing else is said.", "Only an opening is here, and nothing else is said"),
    ],
)
def test_labels_name_what_is_introduced(abstract: str, label: str) -> None:
    assert label_from(abstract) == label


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_labels_are_short_lines(text: str) -> None:
    label = label_from(clean_text(text))
    assert len(label) <= 111
    assert "\n" not in label
