"""Expressions of lessons: what they give, and what they refuse."""

import math
from collections.abc import Mapping

import numpy as np
import pytest

from core.lessons.lesson_expressions import (
    MOST_CHARACTERS,
    Element,
    Expression,
    LessonError,
    Sentence,
    shown,
)


class Scope:
    """Two names, and one word that adds up what it is given."""

    in_window = True

    def __init__(self, **names) -> None:
        self._names = names

    def names(self) -> Mapping:
        return self._names

    def call(self, word, given, named):
        assert word == "added"
        return sum(given) + sum(named.values())

    def check(self, word, given, named) -> str:
        return "" if word == "added" else "is not a word"


def value(text, **names):
    scope = Scope(**names)
    expression = Expression(text)
    expression.check(scope.check, frozenset(names))
    return expression.value(scope)


def test_arithmetic_is_numpys():
    random = np.random.default_rng(3)
    for _ in range(50):
        a, b, c = (int(i) for i in random.integers(1, 1000, 3))
        assert value("(a + b) * c - a // b", a=a, b=b, c=c) == (a + b) * c - a // b
        assert value("a % b + ceil_div(a, c)", a=a, b=b, c=c) == a % b + math.ceil(a / c)
        assert math.isclose(value("a / c", a=a, c=c), a / c)
        assert value("gcd(a, b)", a=a, b=b) == math.gcd(a, b)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[x for x in range(9) if x % 2 == 1]", [1, 3, 5, 7]),
        ("min(x for x in range(4, 20) if x * x > 50)", 8),
        ("sum([1, 2, 3]) + len([4, 5])", 8),
        ("1 < n <= 7 and not n == 3", True),
        ("'a' if n == 7 else 'b'", "a"),
        ("A[n, 2 * n]", Element("A", (7, 14))),
        ("A[0,1] == A[0,1] and A[0,1] != B[0,1]", True),
        ("[3, 4, 5][1]", 4),
        ("added(n, 1, k=2)", 10),
        ("7 in [1, n]", True),
        ("round(2 / 3, 2)", 0.67),
        ("round(10.0)", 10),
        ("text(12345.6)", "12,346"),
        ("sorted([3, 1, 2])", [1, 2, 3]),
    ],
)
def test_gives(text, wanted):
    found = value(text, n=7)
    assert found == wanted
    assert type(found) is type(wanted)


def test_names_of_a_list_do_not_stay():
    assert value("[x for x in range(2)] == [0, 1] and x == 5", x=5) is True


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        "().__class__",
        "n.real",
        "lambda: 1",
        "open('x')",
        "2 ** 9",
        "f'{n}'",
        "n[0:1]",
        "{1: 2}",
        "[x for x in range(2) for y in range(2)]",
        "[a for (a, b) in [[1, 2]]]",
        "added(*[1])",
        "added(**n)",
        "m + 1",
        "n := 3",
        "b'x'",
        "1j",
        "None",
        "n if",
        "",
        "(" * 300,
        "-" * 500 + "1",
        "1" * 30,
        "x" * (MOST_CHARACTERS + 1),
        "yes(1)",
        "min()",
        "min(1, 2, key=3)",
    ],
)
def test_refuses(text):
    with pytest.raises(LessonError, match=r"\S"):
        value(text, n=7)


@pytest.mark.parametrize(
    "text",
    [
        "1 / (n - 7)",
        "n // 0",
        "'a' * n",
        "'a' + 'b'",
        "[1] * n",
        "1 < 'a'",
        "range(10000)",
        "range(1, 2, 0)",
        "sum([1, [2]])",
        "[1, 2][5]",
        "[1, 2]['a']",
        "A['a']",
        "n and 1",
        "-'a'",
        "900000000000000 * 900000000000000",
        "1e308 * 1e308",
        "[[x for x in range(4000)] for y in range(4000)]",
        "gcd(1.5, 2)",
        "max([])",
        "[x for x in 5]",
    ],
)
def test_gives_up_in_a_sentence(text):
    with pytest.raises(LessonError, match=r"\S"):
        value(text, n=7)


def test_rounding_to_many_places_takes_no_time():
    assert value("round(n, 0 - 10000000000)", n=7) == 0
    assert value("round(n, 10000000000)", n=7) == 7


def test_sentences_are_filled_in():
    said = Sentence("{n * 4} bytes, {{braces}}, {n / 3} and {[n, 1]}.").said(Scope(n=16384))
    assert said == "65,536 bytes, {braces}, 5,461.3 and 16,384 and 1."
    assert [e.text for e in Sentence("{a} {{b}} {c}").expressions] == ["a", "c"]


@pytest.mark.parametrize("text", ["{n", "n}", "{{n}", "{}", "{n:.1f}"])
def test_a_broken_sentence_is_refused(text):
    with pytest.raises(LessonError, match=r"\S"):
        Sentence(text)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (12345, "12,345"),
        (-0.5, "-0.5"),
        (True, "yes"),
        (Element("A", (0, 2)), "A[0,2]"),
        ([1, 2, 3], "1, 2 and 3"),
        ([], ""),
        (None, "nothing"),
    ],
)
def test_shown(one, text):
    assert shown(one) == text


def test_a_sentence_reads_otherwise_where_there_is_no_window():
    sentence = Sentence("[[Click|Name]] lane {n}.[[ Key {2 * n} does, too.|]] a[[1]], `[[x]]`")
    scope = Scope(n=3)
    assert sentence.said(scope) == "Click lane 3. Key 6 does, too. a[[1]], `[[x]]`"
    scope.in_window = False
    assert sentence.said(scope) == "Name lane 3. a[[1]], `[[x]]`"
    assert len(sentence.expressions) == 2
    assert sentence.differs
    assert not Sentence("a[[1]]").differs
