"""Arrays as Numba passes them."""

from __future__ import annotations

import numpy as np
import pytest

from core.launch import ArrayArgument, ScalarArgument
from core.user_files.numba_arrays import NumbaType, numba_arguments, numba_types

NAME = "_ZN7kernels4tileB2v1B8cw51abcdE"  # kernels::tile with two tags
ARRAY = "5ArrayI{}Li{}E1{}7mutable7alignedE"


@pytest.mark.parametrize(
    ("entry", "parameters", "wanted"),
    [
        (NAME + "fx", 2, (NumbaType(np.dtype("f4")), NumbaType(np.dtype("i8")))),
        (NAME + ARRAY.format("d", 2, "C") + "i", 10,
         (NumbaType(np.dtype("f8"), 2), NumbaType(np.dtype("i4")))),
        (NAME + ARRAY.format("f", 1, "A").replace("7mutable7aligned", "8readonly10nonaligned"), 7,
         (NumbaType(np.dtype("f4"), 1),)),
        (NAME + ARRAY.format("h", 3, "F"), 11, (NumbaType(np.dtype("u1"), 3, True),)),
        (NAME + ARRAY.format("f", 1, "C"), 8, ()),  # another number of parameters
        (NAME + "8UniTupleIiLi2EE", 2, ()),  # no numbers and arrays of numbers
        ("_Z4tilePfi", 2, ()),
        ("tile", 0, ()),
    ],
)  # fmt: skip
def test_types_from_a_mangled_name(entry, parameters, wanted) -> None:
    assert numba_types(entry, parameters) == wanted


@pytest.mark.parametrize("is_fortran", [False, True])
def test_members_of_an_array(is_fortran) -> None:
    data = np.arange(30, dtype=np.float32).reshape(2, 3, 5)
    number = ScalarArgument("n", np.int32(7))
    array = ArrayArgument("x", data)
    types = (NumbaType(np.dtype("i4")), NumbaType(np.dtype("f4"), 3, is_fortran))
    found = numba_arguments(types, (number, array))
    assert found[0] is number
    assert found[5] is array
    values = {a.name: int(a.value) for a in found if isinstance(a, ScalarArgument)}
    strides = (np.asfortranarray(data) if is_fortran else data).strides
    assert values == {
        "n": 7, "x.meminfo": 0, "x.parent": 0, "x.nitems": 30, "x.itemsize": 4,
        **{f"x.shape[{i}]": size for i, size in enumerate(data.shape)},
        **{f"x.strides[{i}]": step for i, step in enumerate(strides)},
    }  # fmt: skip
