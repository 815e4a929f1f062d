"""Intervals and tests, against scipy, scikit-learn and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from eval.stats import EMPTY, auroc, bootstrap_mean, bootstrap_median, holm, paired_p

values = st.lists(st.floats(-100, 100, allow_nan=False), min_size=1, max_size=40)


@given(values)
def test_the_interval_holds_the_mean_and_is_the_same_again(data: list[float]) -> None:
    found = bootstrap_mean(data, seed=4)
    assert found.value == pytest.approx(np.mean(data))
    assert found.low is not None
    assert found.high is not None
    assert min(data) - 1e-9 <= found.low <= found.high <= max(data) + 1e-9
    assert found == bootstrap_mean(data, seed=4)
    assert found.n == len(data)


def test_the_interval_of_the_mean_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap

    data = np.random.default_rng(1).exponential(size=200)
    theirs = bootstrap((data,), np.mean, n_resamples=20_000, method="percentile", rng=2).confidence_interval
    ours = bootstrap_mean(data)
    assert ours.low == pytest.approx(theirs.low, abs=0.02)
    assert ours.high == pytest.approx(theirs.high, abs=0.02)


def test_the_interval_of_the_median_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap

    data = np.random.default_rng(3).normal(size=151)
    theirs = bootstrap((data,), np.median, n_resamples=20_000, method="percentile", rng=2).confidence_interval
    ours = bootstrap_median(data)
    assert ours.value == np.median(data)
    assert ours.p95 == np.percentile(data, 95)
    assert ours.low == pytest.approx(theirs.low, abs=0.03)
    assert ours.high == pytest.approx(theirs.high, abs=0.03)


def test_median_of_an_even_number_lies_between_the_middle_two() -> None:
    assert bootstrap_median([1.0, 2.0, 4.0, 9.0]).value == 3.0


def test_nothing_gives_nothing() -> None:
    assert bootstrap_mean([]) == bootstrap_median([]) == auroc([], []) == auroc([1.0], [True]) == EMPTY


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=40))
def test_auroc_agrees_with_scikit_learn(pairs: list[tuple[int, bool]]) -> None:
    scores, labels = zip(*pairs, strict=True)
    found = auroc(scores, labels)
    if len(set(labels)) < 2:
        assert found == EMPTY
    else:
        assert found.value == pytest.approx(roc_auc_score(labels, scores), abs=1e-9)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9))
def test_few_differences_give_the_exact_p(data: list[int]) -> None:
    patterns = list(itertools.product((-1, 1), repeat=len(data)))
    as_large = sum(abs(sum(s * d for s, d in zip(signs, data, strict=True))) >= abs(sum(data)) for signs in patterns)
    assert paired_p(data) == pytest.approx(as_large / len(patterns))


def test_many_differences_agree_with_scipy() -> None:
    from scipy.stats import permutation_test

    data = np.random.default_rng(5).normal(0.2, 1.0, size=80)
    theirs = permutation_test((data,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1).pvalue
    assert paired_p(data) == pytest.approx(theirs, abs=0.02)
    assert paired_p(data, seed=1) == paired_p(data, seed=1)


def test_p_is_one_without_and_small_with_a_difference() -> None:
    assert paired_p([0.0, 0.0]) == 1.0
    assert paired_p(np.ones(50)) == pytest.approx(1 / 10_001)


def test_holm_by_hand() -> None:
    # sorted .01*4, .02*3, .03*2, .04*1 -> .04, .06, .06 (kept from falling), .06
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([]) == []
