"""What a question veils, asks for and lights in a session."""

from itertools import pairwise

import pytest

from core.lessons.course import course_lesson, load_course
from core.lessons.lesson import TARGETS, VEILS
from core.lessons.lesson_expressions import Element
from gui.scenes.veils_and_picks import LEFT_OUT, MORE, TELLS, Lit, covered, hides


def test_every_veil_says_what_else_would_tell_and_names_parts_that_there_are():
    assert TELLS.keys() == VEILS.keys()
    assert {part for parts in TELLS.values() for part in parts} <= VEILS.keys() | MORE.keys()


@pytest.mark.parametrize("name", VEILS)
def test_a_veil_hides_itself_and_why(session, name):
    assert not session.hides(name)
    session.update(veiled={name})
    assert session.hides(name)
    assert session.hides("why") == (name not in LEFT_OUT)
    session.update(veiled=())
    assert not session.hides(name)


def test_a_part_of_a_veiled_view_is_hidden_and_the_view_of_a_veiled_part_is_not():
    assert hides(covered(frozenset({"warp"})), "warp.figures")
    assert not hides(covered(frozenset({"warp.figures"})), "warp")
    assert hides(covered(frozenset({"phases"})), "phases:3")
    assert not hides(covered(frozenset({"phases:1"})), "phases:3")
    assert hides(covered(frozenset({"phases:1"})), "phases:1")


@pytest.mark.parametrize("name", ["wrap", "phases:", "phases:x", "warp.", "warp.nothing"])
def test_a_name_that_is_no_veil_is_refused_and_changes_nothing(session, name):
    session.update(veiled={"warp"})
    with pytest.raises(ValueError, match=name):
        session.update(veiled={name, "shared"})
    assert session.veiled == {"warp"}


def test_a_pick_answers_only_what_was_asked_for(session):
    heard = []
    keep = lambda *what: heard.append(what)  # noqa: E731
    session.picked.connect(keep)
    assert not session.pick("bank", 3)
    session.pick_target = "element"
    assert not session.pick("bank", 3)
    assert session.pick("element", ("A", (0, 2)))
    assert heard == [("element", Element("A", (0, 2)))]
    assert session.element is None
    with pytest.raises(ValueError, match="nothing"):
        session.pick_target = "nothing"
    assert session.pick_target == "element"
    assert set(TARGETS) >= {"element", "thread", "lane", "sector", "line", "bank"}


def test_lit_answers_are_announced_once(session):
    heard = []
    keep = heard.append
    session.lit_changed.connect(keep)
    lit = Lit("bank", right=(0, 4), given=(0,))
    session.update(lit=lit)
    session.update(lit=Lit("bank", (0, 4), (0,)))
    session.update(lit=None)
    assert heard == [lit, None]


def test_settings_of_pages_refuse_what_cannot_be(session):
    session.update(order="warp_by_warp", seed=3, threads=256, registers=0)
    for wrong in ({"order": "backwards"}, {"seed": -1}, {"threads": -5}, {"shared": 2**40}):
        with pytest.raises(ValueError, match="expected"):
            session.update(**wrong)
    assert (session.order, session.seed, session.threads) == ("warp_by_warp", 3, 256)


@pytest.mark.parametrize("name", load_course().order)
def test_an_answer_does_not_show_what_the_next_question_asks_for(name):
    steps = course_lesson(name).steps
    for before, after in pairwise(steps):
        if str(before.link) != str(after.link) or after.kind == "slider":
            continue
        shown = (before.veil & after.veil) - covered(before.keep)
        assert not shown, f"{before.name} has to keep {sorted(shown)}, which {after.name} veils"
