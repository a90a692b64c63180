"""Answers as they are typed: what people write is understood, what cannot be meant is refused."""

import pytest

from core.errors import ParameterError
from core.launch import Dim3
from core.lessons.lesson_expressions import Element
from core.lessons.typed_answers import Things, number_typed, things_typed

C31 = Element("C", (3, 1))
SHAPES = {"A": (8, 4), "B": (4, 8), "C": (8, 8), "x": (16,), "tile_a": (2, 2)}
ELEMENTS = Things("element", shapes=SHAPES)
THREADS = Things("thread", last=23, block=Dim3(4, 3, 2))
ONE_THREAD = Things("thread", single=True, last=23, block=Dim3(4, 3, 2))
LANES = Things("lane", last=31)
LINES = Things("line", last=40)


@pytest.mark.parametrize(
    "text",
    ["C[3,1]", "C[3][1]", "C(3,1)", "C[3 ,1]", "C[ 3,1]", "C [3] [1]", "C( 3 , 1 ).", "c[3, 1]"],
)
def test_an_element_is_named_as_in_c_or_as_in_texts(text):
    assert things_typed(text, ELEMENTS) == [C31]


def test_several_elements_are_named_in_any_notation():
    found = things_typed("C[3][1], a[0][2] X[7] and elements B(1,2); TILE_A[1,0]", ELEMENTS)
    wanted = [C31, Element("A", (0, 2)), Element("x", (7,)), Element("B", (1, 2))]
    assert found == [*wanted, Element("tile_a", (1, 0))]


def test_an_array_is_found_by_its_exact_name_before_one_in_other_case():
    things = Things("element", shapes={"a": (2,), "A": (9,)})
    assert things_typed("A[8] a[1]", things) == [Element("A", (8,)), Element("a", (1,))]
    with pytest.raises(ParameterError, match="the last element is a\\[1\\]"):
        things_typed("a[8]", things)


@pytest.mark.parametrize(
    ("text", "threads"),
    [
        ("(1,0)", [1]),
        ("(1, 2)", [9]),
        ("thread(1, 2)", [9]),
        ("(x 1, y 2)", [9]),
        ("(y 2, x 1)", [9]),
        ("x=1, y=2", [9]),
        ("X = 1 Y = 2 and x=0,y=1", [9, 4]),
        ("threadIdx.x = 1, threadIdx.y = 2", [9]),
        ("(1, 2, 1)", [21]),
        ("9", [9]),
        ("thread 9 and (0, 1)", [9, 4]),
        ("1, 0", [1, 0]),
        ("threads 2-4", [2, 3, 4]),
    ],
)
def test_a_thread_is_named_by_its_place_in_the_block(text, threads):
    assert things_typed(text, THREADS) == threads


def test_where_one_thread_of_a_plane_is_asked_for_two_numbers_are_its_place():
    for text in ("3,1", "(3,1)", "x=3,y=1", "thread 3, 1", "7"):
        assert things_typed(text, ONE_THREAD) == [7]
    row = Things("thread", single=True, last=31, block=Dim3(32))
    with pytest.raises(ParameterError, match="one thread is asked for"):
        things_typed("3,1", row)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("lane 3 and lane 5", [3, 5]),
        ("3 5,7", [3, 5, 7]),
        ("0-2", [0, 1, 2]),
        ("0..2", [0, 1, 2]),
        ("0 … 2", [0, 1, 2]),
        ("0–2", [0, 1, 2]),
        ("0 − 2", [0, 1, 2]),
        ("2-0", [0, 1, 2]),
        ("lanes 0 to 7", [*range(8)]),
        ("Lane 0 to lane 2, 9 and 12-13.", [0, 1, 2, 9, 12, 13]),
    ],
)
def test_what_has_a_number_is_named_by_it(text, numbers):
    assert things_typed(text, LANES) == numbers


@pytest.mark.parametrize(
    ("text", "things", "says"),
    [
        ("3", ELEMENTS, "names no element that is understood: type C[row,column]"),
        ("C[3", ELEMENTS, "names no element"),
        ("D[1,3]", ELEMENTS, "The launch has no array D: type one of A, B, C, x and tile_a"),
        ("C[99,99]", ELEMENTS, "There is no C[99,99]: the last element is C[7,7]"),
        ("C[-1,0]", ELEMENTS, "There is no C[-1,0]"),
        ("C[3]", ELEMENTS, "C[3] is no element: type C[row,column]"),
        ("C[0,0] to C[0,3]", ELEMENTS, "with commas between several"),
        ("C[3,1]", THREADS, "names no thread"),
        ("none", LANES, "names no lane"),
        ("not 3", LANES, "names no lane that is understood: type a number"),
        ("3 or 5", LANES, "or a range a-b"),
        ("-3", LANES, "There is no lane -3: lanes are 0 to 31"),
        ("3, −1", LANES, "There is no lane -1"),
        ("32", LANES, "There is no lane 32"),
        ("3.5", LANES, "names no lane"),
        ("0", LINES, "There is no line 0: lines are 1 to 40"),
        ("-2", Things("sector"), "There is no sector -2: sectors begin with 0"),
        ("0-99999999", Things("sector"), "names more than 4,096"),
        ("3, 5", Things("bank", single=True, last=31), "one bank is asked for: type a number."),
        ("(4, 0)", THREADS, "There is no thread (4, 0): the block is 4 x 3 x 2"),
        ("(0, 0, 2)", THREADS, "There is no thread (0, 0, 2)"),
        ("(x 1, x 2)", THREADS, "names one axis twice"),
        ("24", THREADS, "There is no thread 24: threads are 0 to 23"),
        ("(3, 1)", LANES, "names no lane"),
    ],
)
def test_what_names_nothing_is_refused(text, things, says):
    with pytest.raises(ParameterError) as error:
        things_typed(text, things)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("8", 8),
        ("8.", 8),
        ("+8", 8),
        ("−1", -1),
        (".5", 0.5),
        ("1/8", 0.125),
        ("1 / 8", 0.125),
        ("1e3", 1000),
        ("1.5E-2", 0.015),
        ("0,125", 0.125),
        ("-0,125", -0.125),
        ("2,5", 2.5),
        (",5", 0.5),
        ("1,0245", 1.0245),
        ("1 024,5", 1024.5),
        ("1,024", 1024),
        ("1,024.5", 1024.5),
        ("1,048,576", 1048576),
        ("1 024", 1024),
        ("1\u202f024", 1024),
        ("8 sectors", 8),
        ("8 Sectors.", 8),
        ("1 sector", 1),
        ("6.6 times", 6.6),
    ],
)
def test_a_number_as_people_write_it(text, number):
    found = number_typed(text, asked="How many sectors does the load move?")
    assert found == number
    assert isinstance(found, int) == (number == int(number))


def test_the_unit_of_the_question_may_follow():
    assert number_typed("0.25 FLOP/B", "FLOP/B") == number_typed("0.25 flop/b", "FLOP/B") == 0.25
    assert number_typed("128 bytes", "bytes") == number_typed("128 byte", "bytes") == 128
    for text in ("12 %", "12%", "12 per cent", "12 percent"):
        assert number_typed(text, "%") == 12
        assert number_typed(text, asked="Per cent of the sectors that are wasted?") == 12


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 2", "`1 2` is not a number: type digits"),
        ("5%5", "is not a number"),
        ("1,2,5", "is not a number"),
        ("10,24,5", "is not a number"),
        ("1234,567", "is not a number"),
        ("2-4", "is not a number"),
        ("sixteen", "is not a number"),
        ("10²", "is not a number"),
        ("nan", "is not a number"),
        ("1/0", "divides by 0"),
        ("12 %", "is a share, and the question asks for none"),
        ("128 B", "the question does not ask for `B`; type the number alone"),
        ("4 lines", "the question does not ask for `lines`; type the number alone"),
    ],
)
def test_what_is_no_number_is_refused(text, says):
    with pytest.raises(ParameterError) as error:
        number_typed(text, asked="How many sectors does the load move?")
    assert says in str(error.value)
