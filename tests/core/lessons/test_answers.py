"""Answers as they are typed: elements and threads in the notations of C and of CUDA."""

import pytest

from core.errors import ParameterError
from core.launch import Dim3
from core.lessons.answers import things_typed
from core.lessons.expressions import Element

C31 = Element("C", (3, 1))


@pytest.mark.parametrize(
    "text", ["C[3,1]", "C[3][1]", "C(3,1)", "C[3 ,1]", "C[ 3,1]", "C [3] [1]", "C( 3 , 1 )."]
)
def test_an_element_is_named_as_in_c_or_as_in_texts(text):
    assert things_typed(text, "element") == [C31]


def test_several_elements_are_named_in_any_notation():
    found = things_typed("C[3][1], A[0][2] A[7] and B(1,2)", "element")
    assert found == [C31, Element("A", (0, 2)), Element("A", (7,)), Element("B", (1, 2))]


@pytest.mark.parametrize(
    ("text", "threads"),
    [
        ("(1,0)", [1]),
        ("(1, 2)", [9]),
        ("thread(1, 2)", [9]),
        ("(x 1, y 2)", [9]),
        ("(1, 2, 1)", [21]),
        ("9", [9]),
        ("thread 9 and (0, 1)", [9, 4]),
        ("1, 0", [1, 0]),
    ],
)
def test_a_thread_is_named_by_its_place_in_the_block(text, threads):
    assert things_typed(text, "thread", Dim3(4, 3, 2)) == threads


@pytest.mark.parametrize(("text", "numbers"), [("bank 3 and bank 5", [3, 5]), ("3 5,7", [3, 5, 7])])
def test_what_has_a_number_is_named_by_it(text, numbers):
    assert things_typed(text, "bank") == numbers


@pytest.mark.parametrize(
    ("text", "target", "says"),
    [
        ("3", "element", "names no element: type C[row,column]"),
        ("C[3", "element", "names no element"),
        ("C[3,1]", "thread", "names no thread: type (x, y)"),
        ("none", "sector", "names no sector"),
        ("(4, 0)", "thread", "There is no thread (4, 0): the block is 4 x 3 x 2"),
        ("(0, 0, 2)", "thread", "There is no thread (0, 0, 2)"),
        ("(3, 1)", "bank", "is no number"),
    ],
)
def test_what_names_nothing_is_refused(text, target, says):
    block = Dim3(4, 3, 2) if target == "thread" else None
    with pytest.raises(ParameterError) as error:
        things_typed(text, target, block)
    assert says in str(error.value)
