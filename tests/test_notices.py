"""Copyright notices go from the ends of abstracts, sentences of the abstract never do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.texts.notices import is_no_abstract, says_nothing, without_notices

ABSTRACT = "We study nets. They work well."


@pytest.mark.parametrize(
    "notice",
    [
        "© 2018 IEEE.",
        "© 2018 IEEE. All rights reserved.",
        "(C) 2005 Elsevier B.V. All rights reserved.",
        "((C) 2019 Society of Testers. Published by Elsevier Inc. All rights reserved.)",
        "(c) 2015 Wiley Periodicals, Inc.",
        "Copyright (C) 2012 John Wiley & Sons, Ltd.",
        "Copyright 2009 ACM.",
        "© 2012 ACM 978-1-0000-0000-0/12/05...$15.00.",
        "© 2020 The Authors. Published by Elsevier Ltd. This is an open access article under the CC BY-NC-ND license "
        "(http://creativecommons.org/licenses/by-nc-nd/4.0/).",
        "© 2019, Springer Nature Switzerland AG.",
        "© 2020, Springer Science+Business Media, LLC, part of Springer Nature.",
        "© The Author(s), under exclusive licence to Springer Nature B.V. 2022",
        "© Springer-Verlag Berlin Heidelberg 2013.",
        "© 2021 Association for Computing Machinery.",
        "© 2021 Copyright held by the owner/author(s).",
        "Copyright © 2016, Association for the Advancement of Things (www.example.org). All rights reserved.",
        "Crown Copyright © 2013 Published by Elsevier Ltd. All rights reserved.",
        "© 2020 by the authors. Licensee MDPI, Basel, Switzerland.",
        "(PsycINFO Database Record (c) 2018 APA, all rights reserved).",
        "[Abstract copyright: Copyright © 2023 Elsevier Ltd. All rights reserved.]",
        "This article is protected by copyright. All rights reserved.",
        "[ABSTRACT FROM AUTHOR] Copyright of Journal of Tests is the property of Springer Nature and its content may "
        "not be copied or emailed to multiple sites without permission. However, users may print, download, or email "
        "articles for individual use.",
    ],
)
def test_a_notice_at_the_end_goes(notice: str) -> None:
    assert without_notices(f"{ABSTRACT} {notice}") == ABSTRACT
    assert without_notices(notice) == ""


@pytest.mark.parametrize(
    "notice",
    [
        "© 2018 IEEE.",
        "© 2018 IEEE. ",
        "© 2017 Elsevier B.V. All rights reserved. ",
        "© 2017 Elsevier Ltd",
        "© 2016 The Authors.",
        "© 2014 Taylor & Francis Group, LLC. ",
        "© 2020 The Author(s). ",
        "© 2016 by the authors; licensee MDPI, Basel, Switzerland.",
        "© 2013 The Authors. Published by Elsevier B.V. ",
    ],
)
def test_a_notice_at_the_beginning_goes(notice: str) -> None:
    assert without_notices(notice + ABSTRACT) == ABSTRACT


@pytest.mark.parametrize(
    "sentence",
    [
        "We study copyright law of models (c) and (d).",
        "This paper asks how Copyright 2020 reforms changed models.",
        "Copyright is at risk.",
        "Steps are (a) Plan (b) Build (c) Test.",
        "A study of © signs in OCR is given.",
        "We release it under the MIT license.",
        "The data set is licensed under CC BY 4.0.",
        "We use data (c) 2018 IEEE VIS. Then we train a model on it.",
        "All rights of users are reserved.",
    ],
)
def test_a_sentence_of_the_abstract_stays(sentence: str) -> None:
    assert without_notices(sentence) == sentence
    assert without_notices(f"{ABSTRACT} {sentence}") == f"{ABSTRACT} {sentence}"


@given(
    st.lists(
        st.sampled_from(
            ["© 2018 IEEE.", "We do.", "(C) 2005", "Copyright", "All rights reserved.", "Ltd", "(c)", "2019", "©", "["]
        ),
        max_size=8,
    )
)
def test_doing_it_again_changes_nothing(pieces: list[str]) -> None:
    once = without_notices(" ".join(pieces))
    assert without_notices(once) == once


def test_placeholders_are_no_abstract() -> None:
    said = ["Editorial", "No abstract available.", "[No abstract available]", "n/a", "N.A.", "Withdrawn", "无", "None."]
    said += [
        "This paper has been withdrawn.",
        "Abstract not available",
        "Kein Abstract verfügbar",
        "Résumé non disponible",
    ]
    assert all(map(is_no_abstract, said))
    kept = ["We do.", "No abstract interpretation is needed here.", "Reviewing is hard", "A reply", ""]
    assert not any(map(is_no_abstract, kept))


def test_a_withdrawal_says_nothing_whatever_its_length() -> None:
    assert says_nothing("This paper has been withdrawn by the authors due to an error in the proof of Lemma 3.")
    assert not says_nothing("This paper has been written to study why papers have been withdrawn.")
