"""Integer constants that can be set in the text of a source."""

import pytest

from core.source.editable_constants import Knob, knobs, with_defines, with_value

SOURCE = """// #define OLD 3
#define TILE 16   // a comment
#  define PAD (1)
#define HALF (TILE / 2)
#define WIDE 32u
#define MASK 0x1f
#define OCTAL 010
#define AREA(x) ((x) * 4)
constexpr int ROWS = 8;
static const unsigned int STEP = 4u, OTHER = 5;
const char *text = "#define NO 7";
#ifdef X
#define TWICE 1
#else
#define TWICE 2
#endif
#define GONE 3
#undef GONE
__global__ void k(float *A)
{
    const int here = 2;
    int n = 9;
    /* constexpr int HIDDEN = 1; */
    __shared__ float tile[TILE][TILE + PAD];
}
"""


def test_numbers_that_are_defined_once_are_found_in_order():
    assert [(k.name, k.value, k.line) for k in knobs(SOURCE)] == [
        ("TILE", 16, 2),
        ("PAD", 1, 3),
        ("WIDE", 32, 5),
        ("ROWS", 8, 9),
        ("here", 2, 21),
    ]


@pytest.mark.parametrize(("name", "value"), [("TILE", 8), ("PAD", 12), ("WIDE", 7), ("ROWS", 100)])
def test_setting_one_changes_its_number_and_nothing_else(name, value):
    changed = with_value(SOURCE, name, value)
    before, after = SOURCE.split("\n"), changed.split("\n")
    assert len(before) == len(after)
    different = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    knob = next(k for k in knobs(SOURCE) if k.name == name)
    assert different == [knob.line - 1]
    assert str(value) in after[knob.line - 1]
    assert {k.name: k.value for k in knobs(changed)}[name] == value
    assert [k.name for k in knobs(changed)] == [k.name for k in knobs(SOURCE)]


def test_the_place_is_that_of_the_digits():
    for knob in knobs(SOURCE):
        assert isinstance(knob, Knob)
        assert SOURCE[knob.start : knob.end] == str(knob.value)


def test_a_name_that_is_no_number_cannot_be_set():
    for name in ("HALF", "TWICE", "GONE", "nothing", "HIDDEN", "NO"):
        with pytest.raises(KeyError):
            with_value(SOURCE, name, 1)


FLAGS = """#define X_ALONG_ROWS 0
#define LEVEL 1
#define COUNT 1
#define GUARD 1
constexpr bool SWAP = false;
static const bool KEEP = true;
#if X_ALONG_ROWS
#endif
#if LEVEL > 0
#endif
int a = GUARD ? 1 : COUNT;
"""


def test_truth_values_are_switches():
    assert {k.name: (k.value, k.switch) for k in knobs(FLAGS)} == {
        "X_ALONG_ROWS": (0, True),
        "LEVEL": (1, False),
        "COUNT": (1, False),
        "GUARD": (1, True),
        "SWAP": (0, True),
        "KEEP": (1, True),
    }
    turned = with_value(with_value(FLAGS, "SWAP", 1), "X_ALONG_ROWS", 1)
    assert "SWAP = true;" in turned
    assert turned.startswith("#define X_ALONG_ROWS 1\n")
    assert with_value(FLAGS, "KEEP", 0).count("false") == 2


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("const int N = 1, B = 2;", "const int B = 2;"),
        ("const int B = 2, N = 1;", "const int B = 2;"),
        ("const int A = f(1, 2), N = g(3, 4), B = 2;", "const int A = f(1, 2), B = 2;"),
        ("static const int N = 1, M = 3;", ""),
        ("constexpr int N = 1, B = 2, M = 3;", "constexpr int B = 2;"),
        ("const bool same = a == N;", "const bool same = a == N;"),
    ],
)
def test_given_constants_make_way_in_a_declaration_of_several(source, left):
    found = with_defines(source, {"N": "5", "M": "6"})
    assert len(found) == len(source)
    assert "".join(found.split()) == "".join(left.split())
