"""Reading what a launch names: sources of any encoding, and a sentence for what is none."""

import pytest

from core.errors import ArgumentError, TilescopeError
from core.launching.user_files import load_array, read_source


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
