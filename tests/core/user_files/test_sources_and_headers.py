"""Reading what a launch names: sources of any encoding, and a sentence for what is none."""

import pytest

from core.errors import ArgumentError, TilescopeError
from core.user_files.sources_and_headers import (
    load_array,
    local_headers,
    read_source,
    without_line_numbers,
)


@pytest.mark.parametrize(
    "raw",
    [
        "\ufeff// Größe\r\n__global__ void k(float *a) { a[0] = 1; }\r\n".encode(),
        "// Größe\n__global__ void k(float *a) { a[0] = 1; }\n".encode("latin-1"),
        "// Größe\r__global__ void k(float *a) { a[0] = 1; }\r".encode("utf-16"),
    ],
)
def test_sources_of_any_encoding_and_line_end(tmp_path, raw):
    (tmp_path / "k.cu").write_bytes(raw)
    text = read_source(tmp_path / "k.cu")
    assert text == "// Größe\n__global__ void k(float *a) { a[0] = 1; }\n"
    (tmp_path / "k.cu").write_bytes(raw + b"\0\0\0")
    with pytest.raises(TilescopeError, match="not a text file"):
        read_source(tmp_path / "k.cu")


def test_what_is_no_source_or_no_array_gets_a_sentence(tmp_path):
    with pytest.raises(TilescopeError, match="no file"):
        read_source(tmp_path / "gone.cu")
    with pytest.raises(TilescopeError, match="cannot be read"):
        read_source(tmp_path)
    (tmp_path / "odd.cu").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TilescopeError, match="not a text file"):
        read_source(tmp_path / "odd.cu")
    (tmp_path / "bad.npy").write_bytes(b"not an array")
    with pytest.raises(ArgumentError, match=r"numpy\.save"):
        load_array(tmp_path / "bad.npy")


def test_the_numbers_of_a_listing_are_left_out():
    listing = "__global__ void k(float* a)\n{\n1.  int i = 3;\n\n2.  // two\n3.  a[i] = 1;\n3.  }"
    assert without_line_numbers(listing) == listing.replace("1.", "  ").replace("2.", "  ").replace(
        "3.  ", "    "
    )
    whole = "7 __global__ void k()\n8 {\n\n9 }\n"
    assert without_line_numbers(whole) == "  __global__ void k()\n  {\n\n  }\n"


@pytest.mark.parametrize(
    "text",
    [
        "int a[] = {\n1, 2,\n3, 4,\n};\n",
        "float x = a\n  + 1. * b\n  2. * c;\n",
        "1 2 3\n4 5 6\n7 8 9\n",
        "__global__ void k() {}\n",
        "",
    ],
)
def test_other_numbers_stay(text):
    assert without_line_numbers(text) == text


def test_a_header_may_be_longer_than_what_is_edited(tmp_path):
    (tmp_path / "long.h").write_text("// a comment of some length\n" * 80_000 + "#define W 4\n")
    found = local_headers('#include "long.h"\n', tmp_path / "k.cu")
    assert "#define W 4" in str(found)


def test_a_header_may_be_written_with_other_capital_letters(tmp_path):
    """As Windows lets it be; where both are there each is its own."""
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "src" / "Math"
    folder.mkdir(parents=True)
    (folder / "vector.h").write_text("struct Vector { float x; };")
    source = '#include "math/Vector.h"\n__global__ void k(Vector* v) { v->x = 1; }'
    place = tmp_path / "src" / "k.cu"
    place.write_text(source)
    assert "struct Vector" in local_headers(source, str(place))["math/Vector.h"]
    (folder / "Vector.h").write_text("struct Vector { double x; };")
    found = local_headers("#include <Math/Vector.h>", str(place))
    assert "double" in found["Math/Vector.h"]
