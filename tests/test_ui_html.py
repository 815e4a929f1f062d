"""Answers as HTML: nothing of a paper or a model becomes markup, numbers lead to their cards, formulas are drawn."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.types import AnswerSentence, Filters, Paper, Span
from tests.fakes_ui import FakeLibrary, make_papers
from ui.cards import link_of, safe_url, sources
from ui.exchange import EXCHANGE, Exchange, new_exchange
from ui.html import PAGE, exchange_html
from ui.maths import mathml, pieces
from ui.prose import inline, marked, plain
from ui.text import LANGUAGES, Words
from ui.years import year

EN = Words("en")
SIDES = (("Kite", 1), ("Kite", 2), ("Loom", 3))


class Seen(HTMLParser):
    """Tags, attributes and text of a document, and whether every tag is closed in order."""

    def __init__(self, document):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = [], [], [], []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


def answered(question, tmp_path, filters=Filters()):  # noqa: B008
    exchange = new_exchange(question, filters)
    for event in FakeLibrary(tmp_path).stream(question, filters=filters):
        exchange = exchange.after(event)
    return exchange


def test_both_languages_say_the_same_things():
    assert set(LANGUAGES["en"]) == set(LANGUAGES["zh"])
    for key, text in LANGUAGES["en"].items():
        assert text.count("{") == LANGUAGES["zh"][key].count("{"), key


@pytest.mark.parametrize("question", ["How does KiteNet steer?", "list the papers", "is there nothing?"])
def test_hostile_abstract_stays_text(question, tmp_path):
    seen = Seen(exchange_html(answered(question, tmp_path), EN))
    assert not {"script", "img", "iframe", "object", "style"} & set(seen.tags)
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert not [value for name, value in seen.attributes if name in ("href", "src") and "javascript:" in (value or "")]
    assert seen.open == []


def test_nothing_of_a_paper_or_a_model_is_markup(tmp_path):
    hostile = "<script>x</script><img src=x onerror=y> ![i](javascript:z) [t](javascript:z) <a href='javascript:z'>"
    paper = Paper(
        "p<1>\"'",
        hostile,
        f"One. {hostile} Two.",
        authors=(hostile, "مثال"),
        venue=hostile,
        year=2024,
        url="javascript:alert(1)",
    )
    library = FakeLibrary(tmp_path, [paper])
    for question in (f"How? {hostile}", f"list {hostile}", f"nothing {hostile}"):
        exchange = new_exchange(question, Filters())
        for event in library.stream(question):
            exchange = exchange.after(event)
        written = [replace(sentence, text=hostile) for sentence in exchange.sentences]
        exchange = replace(exchange, sentences=tuple(written), draft=hostile)
        seen = Seen(exchange_html(exchange, EN))
        assert not {"script", "img", "iframe", "style"} & set(seen.tags)
        assert not [name for name, _ in seen.attributes if name.startswith("on")]
        assert not [value for name, value in seen.attributes if name in ("href", "src")]
        assert "<script>x</script>" in seen.text
        assert seen.open == []


def test_comparison_in_quotations_is_a_table(tmp_path):
    exchange = answered("How does KiteNet steer?", tmp_path)
    asked = replace(exchange.question, kind="compare")
    said = [AnswerSentence(f"{side}: “It has <b>{n}</b>: {side}.”", (), "supported", ()) for side, n in SIDES]
    seen = Seen(exchange_html(replace(exchange, question=asked, sentences=tuple(said)), EN))
    assert (seen.tags.count("th"), seen.tags.count("tr"), seen.tags.count("td")) == (2, 3, 4)
    assert "b" not in seen.tags
    assert "“It has <b>2</b>: Kite.”" in seen.text
    prose = [*said, AnswerSentence("Both of them fly.", (), "supported", ())]
    assert "table" not in Seen(exchange_html(replace(exchange, question=asked, sentences=tuple(prose)), EN)).tags
    assert "table" not in Seen(exchange_html(replace(exchange, sentences=tuple(said)), EN)).tags


@pytest.mark.parametrize(
    ("typed", "meant"), [("", None), (None, None), (" 2024 ", 2024), ("0", None), ("soon", None), ("-3", None)]
)
def test_year_typed(typed, meant):
    assert year(typed) == meant


@given(st.text(max_size=200))
def test_any_text_stays_text(text):
    seen = Seen(plain(text).replace("\r", " "))
    assert set(seen.tags) <= {"math", "code"} or "math" in seen.tags
    assert "script" not in seen.tags
    assert Seen(inline(text)).open == []


@given(st.text(alphabet="a$\\(){}^_ 15.<\n", max_size=60))
def test_pieces_lose_nothing(text):
    joined = "".join(piece.text for piece in pieces(text))
    assert sorted(joined.replace("$", "")) == sorted(c for c in joined if c != "$")
    if "$" not in text and "\\" not in text:
        assert joined == text


@pytest.mark.parametrize("text", ["It costs $5 and $10.", "from $1,000 to $2,000 a year", "US$5 or AU$6", "$5"])
def test_money_stays_money(text):
    assert "<math" not in plain(text)
    assert Seen(plain(text)).text == text


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("a $k$-NN", "k"),
        (r"time \(O(n)\)", "O"),
        (r"$$\alpha + 1$$", "α"),
        (r"with $\epsilon < 0.1$.", "ϵ"),
        (r"\[x^2\]", "x"),
    ],
)
def test_formulas_are_drawn(text, symbol):
    drawn = plain(text)
    assert "<math" in drawn
    assert symbol in drawn
    assert "$" not in drawn


def test_a_formula_cannot_carry_a_link():
    assert "javascript" not in mathml(r"\href{javascript:alert(1)}{x}")


def test_what_is_no_formula_is_shown_as_it_is():
    assert Seen(mathml(r"\frac{a")).text in (r"\frac{a", "a")


def test_marks_stand_on_their_offsets():
    assert marked("One. Two.", [(5, 9)]) == 'One. <mark data-start="5" data-end="9">Two.</mark>'


def test_overlapping_marks_are_joined():
    assert marked("abcdef", [(3, 5), (1, 4)]).count("<mark") == 1


def test_every_chip_has_its_card_and_its_sentence(tmp_path):
    exchange = answered("How does KiteNet steer?", tmp_path)
    seen = Seen(exchange_html(exchange, EN))
    chips = [value for name, value in seen.attributes if name == "data-n" and value]
    # Three sentences cite papers 1, 2 and 3; each number stands on one chip and one card.
    assert sorted(chips) == ["1", "1", "2", "2", "3", "3"]
    starts = [value for name, value in seen.attributes if name == "data-starts"]
    assert starts == ["0", "0", "0"]


def test_support_is_said_and_unsupported_is_no_fact(tmp_path):
    exchange = answered("How does KiteNet steer?", tmp_path)
    first, second, third = exchange.sentences
    exchange = replace(exchange, sentences=(first, second, replace(third, support="unsupported")))
    drawn = exchange_html(exchange, EN)
    assert 'data-support="partial"' in drawn
    assert "1 sentence left out" in drawn
    assert 'data-support="unsupported"' not in drawn


def test_refusal_shows_the_nearest_papers(tmp_path):
    exchange = answered("is there nothing?", tmp_path)
    assert "The library does not say" in exchange_html(exchange, EN)
    assert "Nearest papers" in sources(exchange, EN)


def test_long_lists_are_shown_a_page_at_a_time(tmp_path):
    papers = [Paper(f"q{n}", f"Paper {n}", "An abstract. More.") for n in range(23)]
    exchange = new_exchange("list them", Filters())
    for event in FakeLibrary(tmp_path, papers).stream("list them"):
        exchange = exchange.after(event)
    drawn = exchange_html(exchange, EN)
    assert "23 papers match" in drawn
    assert drawn.count("<li hidden>") == 23 - PAGE


def test_what_was_searched_is_said_where_it_differs(tmp_path):
    exchange = answered("How?", tmp_path, Filters(venue="LOOMS", year_from=2022, year_to=2024))
    drawn = exchange_html(exchange, EN)
    assert "LOOMS" in drawn
    assert "2022–2024" in drawn
    assert 'data-act="drop-venue"' in drawn


@pytest.mark.parametrize(
    ("changes", "english", "chinese"),
    [
        ({"language": "de", "standalone": "Wie?", "search_text": "Wie?"}, "Searched as it was asked", "按原文检索"),
        ({"standalone": "a b c d", "search_text": "a b c"}, "Only the first 71% of the question", "只检索了前 71%"),
        ({"standalone": "a b c d", "search_text": "a b c d"}, None, None),
        # A year that became a filter is not a question cut short.
        ({"standalone": "a b since 2022", "search_text": "a b", "filters": Filters(year_from=2022)}, None, None),
    ],
)
def test_notes_are_in_the_language_of_the_page(tmp_path, changes, english, chinese):
    exchange = answered("How?", tmp_path)
    question = replace(exchange.question, notes=("An English note.",), **changes)
    for language, note in (("en", english), ("zh", chinese)):
        drawn = exchange_html(replace(exchange, question=question), Words(language))
        assert "An English note." not in drawn
        assert ('<span class="aqa-note"' in drawn) == (note is not None)
        assert note is None or note in drawn


def test_an_exchange_is_read_back_exactly(tmp_path):
    exchange = answered("How does KiteNet steer?", tmp_path)
    again = EXCHANGE.validate_json(EXCHANGE.dump_json(exchange))
    assert again == exchange
    assert exchange_html(again, EN) == exchange_html(exchange, EN)


def test_an_answer_that_was_cut_short_says_so(tmp_path):
    exchange = answered("How does KiteNet steer?", tmp_path)
    note = "The model was stopped after 3 s."
    cut = replace(exchange, answer=replace(exchange.answer, notes=(note,)))
    assert note not in exchange_html(exchange, EN)
    assert f">{note}</p>" in exchange_html(cut, EN)


def test_stopped_and_failed_say_so():
    exchange = new_exchange("What?", Filters())
    assert "Stopped" in exchange_html(exchange.ended("stopped"), EN)
    assert "No such thing." in exchange_html(exchange.ended("failed", "No such thing."), EN)
    assert isinstance(exchange, Exchange)


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "/etc/passwd", "https://", "http://[", None]
)
def test_addresses_that_are_no_web_address(url):
    assert safe_url(url) is None


def test_a_link_is_made_of_what_is_known():
    paper = make_papers()[0]
    assert link_of(paper) == "https://example.org/kitenet"
    assert link_of(replace(paper, url=None, doi="10.1/a b")) == "https://doi.org/10.1/a%20b"
    assert link_of(replace(paper, url=None)) is None
    assert Span(0, 1, "a").text == "a"
