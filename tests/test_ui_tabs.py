"""The tabs' tables, plots and chosen values as pure functions; what users have chosen is kept on disk."""

import json
import tomllib
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rag.errors import SettingsError
from rag.settings import Settings
from rag.types import Filters
from tests.fakes_ui import FakeLibrary, make_papers
from tests.test_ui_html import EN, Seen
from ui import evaluation_tab
from ui.cards import dialog
from ui.composer import active_filters, field_values, notice, typed_filters
from ui.feedback import note, rated
from ui.models_table import models_table
from ui.overview import overview
from ui.papers_table import PAGE, View, papers_table
from ui.plots import per_venue, per_year
from ui.preferences import Preferences, Preferred, keep_model
from ui.text import Words


@pytest.mark.parametrize(
    ("view", "order", "meant"),
    [
        (View(), "title", View("title")),
        (View("title"), "title", View("title", descending=True)),
        (View("title", descending=True), "title", View("title")),
        (View("title", descending=True, page=3), "year", View("year")),
        (View("title", page=3), "abstract; DROP TABLE", View("title", page=3)),
    ],
)
def test_sorting_by_a_column(view, order, meant):
    assert view.sorted_by(order) == meant


@given(st.integers(-3, 50), st.integers(0, 1000))
def test_a_page_that_is_there(page, total):
    at = View().at(page, total).page
    assert at >= 0
    assert at == 0 or at * PAGE < total


def test_the_table_names_what_it_shows():
    papers = make_papers()
    seen = Seen(papers_table(papers, 2 * PAGE + 6, View("year", True, 2), EN))
    assert "101–106 of 106" in seen.text
    assert "Page 3 of 3" in seen.text
    assert seen.attributes.count(("aria-sort", "descending")) == 1
    assert [value for name, value in seen.attributes if name == "data-paper"].count("p3") == 2
    assert seen.attributes.count(("disabled", None)) == 2  # nothing is ticked, and there is no page after the last
    assert "script" not in seen.tags
    assert seen.open == []


def test_a_dialog_holds_the_abstract_as_text():
    document = dialog(make_papers()[2], EN, "1")
    assert not {"script", "img"} & set(Seen(document).tags)
    assert "window.broken=1" in Seen(document).text


def test_filters_in_force_can_be_taken_back():
    seen = Seen(active_filters("ICLR <b>", "2020", "", 8, 5, EN))
    fields = [value for name, value in seen.attributes if name == "data-field"]
    assert fields == ["venue", "first", "k"]
    assert "ICLR <b>" in seen.text
    assert "b" not in seen.tags
    assert active_filters("", "", "", 5, 5, EN) == ""
    assert typed_filters(" ICLR ", "2020", "soon") == Filters("ICLR", 2020, None)


def test_choices_are_kept_for_each_user(tmp_path):
    kept = Preferred(tmp_path)
    kept.keep("ann", k=8, venue="ICLR", theme="dark")
    kept.keep("bob", language="zh")
    kept.keep("ann", venue=None, year_from=2020)
    again = Preferred(tmp_path)
    assert again.of("ann") == Preferences(k=8, year_from=2020, theme="dark")
    assert again.of("bob") == Preferences(language="zh")
    assert again.of("eve") == Preferences()
    assert field_values(again.of("ann"), 5) == ("", "2020", "", 8)
    assert field_values(again.of("eve"), 5) == ("", "", "", 5)
    assert [path.name for path in tmp_path.iterdir()] == ["preferences.json"]


@pytest.mark.parametrize("text", ["", "[]", "{torn", '{"ann": {"k": 900}}', '{"ann": 3}'])
def test_choices_that_cannot_be_read_are_none(tmp_path, text):
    (tmp_path / "preferences.json").write_text(text)
    assert Preferred(tmp_path).of("ann") == Preferences()


def test_a_choice_out_of_range_is_not_kept(tmp_path):
    kept = Preferred(tmp_path)
    with pytest.raises(ValidationError):
        kept.keep("ann", k=900)
    assert kept.of("ann") == Preferences()


def test_the_model_is_kept_beside_other_settings(tmp_path):
    path = tmp_path / "settings.toml"
    path.write_text("# mine\nk = 7\n")
    keep_model(tmp_path, "none")
    assert tomllib.loads(path.read_text()) == {"k": 7, "llm": "none"}
    assert path.read_text().startswith("# mine\n")
    path.write_text("k = = 7")
    with pytest.raises(SettingsError, match="not valid TOML"):
        keep_model(tmp_path, "none")
    assert path.read_text() == "k = = 7"


def desk(home: Path, llm: str, problem: str | None = None):
    settings = Settings(home=home, llm=llm)
    return SimpleNamespace(llm=llm, problem=problem, library=SimpleNamespace(settings=settings))


def test_models_that_are_missing_can_be_fetched(tmp_path):
    seen = Seen(models_table(desk(tmp_path, "none"), EN))
    acts = [value for name, value in seen.attributes if name == "data-act"]
    assert "use" not in acts  # none is here, and the one in use is that without a model
    assert acts.count("pull") == 4  # automatic and the three known ones
    assert "491 MB" in seen.text
    assert seen.text.count("in use") == 1


def test_a_model_of_the_users_own_is_listed_as_text(tmp_path):
    seen = Seen(models_table(desk(tmp_path, "http://localhost:1/<i>"), EN))
    assert "http://localhost:1/<i>" in seen.text
    assert "i" not in seen.tags


def test_notice_of_a_missing_model(tmp_path):
    assert notice(desk(tmp_path, "auto"), EN) == ""
    seen = Seen(notice(desk(tmp_path, "x", "x is not on this machine; fetch it"), Words("zh")))
    assert "x is not on this machine; fetch it" in seen.text
    assert ("data-act", "settings") in seen.attributes


def test_plots_count_every_paper(tmp_path):
    papers = [
        replace(make_papers()[0], paper_id=f"q{number}", venue=f"V{number % 25:02d} <b>", year=2000 + number % 3)
        for number in range(5000)
    ]
    held = overview(FakeLibrary(tmp_path, papers))
    years = json.loads(per_year(held, EN).plot)["data"][0]
    assert (years["x"], sum(years["y"])) == ([2000, 2001, 2002], 5000)
    venues = json.loads(per_venue(held, EN).plot)
    assert sum(venues["data"][0]["x"]) == 20 * 200
    assert all("<" not in name for name in venues["layout"]["yaxis"]["ticktext"])


def test_runs_begun_in_one_second_are_kept_apart(tmp_path, monkeypatch):
    class Clock:
        @staticmethod
        def now(zone):
            return datetime(2026, 3, 4, 5, 6, 7, tzinfo=zone)

    monkeypatch.setattr(evaluation_tab, "datetime", Clock)
    places = []
    for _ in range(3):
        places.append(evaluation_tab.new_run(tmp_path, "kites"))
        places[-1].mkdir()
    assert [place.name for place in places] == [
        "2026-03-04-050607-kites",
        "2026-03-04-050607-kites-2",
        "2026-03-04-050607-kites-3",
    ]


def test_feedback_of_one_user(tmp_path):
    from tests.test_ui_html import answered

    exchange = answered("How does KiteNet steer?", tmp_path)
    for user in ("ann", "bob"):
        note(tmp_path, user, "c", replace(exchange, exchange_id=user), (), "up", "")
    assert len(list(rated(tmp_path))) == 2
    assert len(list(rated(tmp_path, "ann"))) == 1
    assert list(rated(tmp_path, "eve")) == []


def test_feedback_that_cannot_be_read_is_told(tmp_path):
    from tests.test_ui_html import answered

    exchange = answered("How does KiteNet steer?", tmp_path)
    note(tmp_path, "ann", "c", exchange, (), "up", "")
    with (tmp_path / "feedback.jsonl").open("ab") as file:
        file.write(b'{"id": "half\n\xff\xfe\n')
    note(tmp_path, "ann", "c", replace(exchange, exchange_id="later"), (), "up", "")
    unread: list[int] = []
    assert len(list(rated(tmp_path, "ann", unread))) == 2
    assert unread == [2, 3]
