from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.answering.claims import key, name_source, names, numbers


def _values(text: str) -> list[tuple[float, str]]:
    return [(round(number.value, 6), number.unit) for number in numbers(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("by 19.6% here", [(19.6, "%")]),
        ("by 19.6\\% here", [(19.6, "%")]),
        ("by 19.6 percent", [(19.6, "%")]),
        ("with 1,000 trees", [(1000.0, "")]),
        ("about 760K hours and 4.1B words", [(760_000.0, ""), (4.1e9, "")]),
        ("over 7 million videos", [(7e6, "")]),
        ("on six kettles", [(6.0, "")]),
        ("one hundred and nine residents", [(109.0, "")]),
        ("thirty-five cups", [(35.0, "")]),
        ("1.1-3× faster", [(1.1, "x"), (3.0, "x")]),
        ("2.5% to 18.7%", [(2.5, "%"), (18.7, "%")]),
        ("twice as fast", [(2.0, "x")]),
        ("a two-fold gain", [(2.0, "x")]),
        ("$9$ gardens, $p < 0.05$", [(9.0, ""), (0.05, "")]),
        ("四个花园省水 31%，快两倍", [(4.0, ""), (31.0, "%"), (2.0, "x")]),
        ("700万张照片", [(7e6, "")]),
        ("one of the first", []),
        ("ResNet50, CIFAR-10, ViT-B/16 and GPT-4 in 3D", []),
        ("(1) valves; (2) pipes", []),
    ],
)
def test_numbers_are_values_with_units(text: str, expected: list[tuple[float, str]]) -> None:
    assert _values(text) == expected


def test_a_missing_unit_is_no_contradiction_but_another_unit_is() -> None:
    (percent,), (bare,), (times,) = numbers("5%"), numbers("5"), numbers("5x")
    assert percent.equals(bare)
    assert bare.equals(times)
    assert not percent.equals(times)


def test_a_hedged_number_may_be_rounded() -> None:
    (exact,) = numbers("37.61% of beds")
    (hedged,) = numbers("about 37.6% of beds")
    (bold,) = numbers("37.6% of beds")
    assert hedged.equals(exact)
    assert not bold.equals(exact)


@given(st.integers(min_value=0, max_value=10**9))
def test_separators_do_not_change_a_number(value: int) -> None:
    (plain,), (separated,) = numbers(f"{value} cups"), numbers(f"{value:,} cups")
    assert plain.value == separated.value == value


@given(st.text(max_size=80))
def test_offsets_lie_in_the_text_in_order(text: str) -> None:
    found = numbers(text)
    assert all(0 <= number.start < number.end <= len(text) for number in found)
    assert [number.start for number in found] == sorted(number.start for number in found)


def test_names_are_acronyms_camel_case_and_words_with_digits() -> None:
    found = [
        (name.text, name.sure) for name in names("We compare KettleNet, K-FAC and TD3+BC on D4RL with Bregman terms.")
    ]
    assert found == [("KettleNet", True), ("K-FAC", True), ("TD3+BC", True), ("D4RL", True), ("Bregman", False)]


def test_a_word_that_opens_a_sentence_is_no_name_for_that() -> None:
    assert [name.text for name in names("Boiling is slow. Self-supervised kettles help.")] == []


def test_an_address_is_one_name() -> None:
    assert [name.text for name in names("Code: https://example.org/KettleNet.")] == ["https://example.org/KettleNet"]


def test_keys_drop_case_hyphens_and_the_plural() -> None:
    assert key("Kettle-Net") == key("KETTLENET")
    assert key("LLMs") == key("LLM")


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("KettleNet", "we call it Kettle-Net", True),
        ("SGD", "by stochastic gradient descent", True),
        ("SteamCast", "by a forecast of steam", False),
        ("RLs", "uses RL", True),
        ("https://example.org/a", "at https://example.org/b", False),
    ],
)
def test_where_a_name_is_found(name: str, text: str, found: bool) -> None:
    (wanted,) = names(f"see {name}")
    assert name_source((text,)).has(wanted) is found
