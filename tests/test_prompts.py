"""Prompt templates: declared placeholders, checked rendering, and the exact text each renders to."""

from pathlib import Path

import pytest

import prompts

GOLDEN = Path(__file__).parent / "golden"


def test_a_value_is_not_read_for_placeholders():
    template = prompts.parse("t", "# placeholders: question, evidence\n\nQ {{question}} E {{evidence}}")
    assert template.render(question="{{evidence}}", evidence="x") == "Q {{evidence}} E x"


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("no header", "must begin with"),
        ("# placeholders: a\n\n{{b}}", "declares ['a'] but uses ['b']"),
        ("# placeholders: a, b\n\n{{a}}", "declares ['a', 'b'] but uses ['a']"),
    ],
)
def test_a_header_that_does_not_fit_the_text_is_refused(source: str, complaint: str):
    with pytest.raises(ValueError, match="prompt 't'") as caught:
        prompts.parse("t", source)
    assert complaint in str(caught.value)


def test_missing_and_unknown_values_are_named():
    template = prompts.parse("t", "# placeholders: a, b\n\n{{a}}{{b}}")
    with pytest.raises(ValueError, match="needs a value for b"):
        template.render(a="1")
    with pytest.raises(ValueError, match="has no placeholder c"):
        template.render(a="1", b="2", c="3")


@pytest.mark.parametrize("name", prompts.names())
def test_every_template_renders_to_its_golden_text(name: str):
    template = prompts.load(name)
    rendered = template.render(**{slot: f"<{slot}>" for slot in template.placeholders})
    assert rendered == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def test_the_fingerprint_depends_on_the_text_alone():
    one = prompts.parse("one", "# placeholders:\n\nSame")
    other = prompts.parse("other", "# placeholders:\n\nSame")
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != prompts.parse("one", "# placeholders:\n\nOther").fingerprint
