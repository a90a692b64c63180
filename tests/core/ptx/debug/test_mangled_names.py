"""Names of debug information: local symbols, and names as the source spells them."""

from __future__ import annotations

import pytest

from core.ptx.debug.mangled_names import LocalSymbol, local_symbol, source_name


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("_ZZ5tiledE4sh_A", LocalSymbol("tiled", "sh_A")),
        ("_ZZ5tiledPKfS0_PfiE4sh_A", LocalSymbol("tiled", "sh_A")),
        ("_ZZ2tkILi8EfEvPT0_PKS0_jE3reg", LocalSymbol("tk", "reg", ("8", "float"))),
        ("_ZZ2tkILin3EdEvvE1r", LocalSymbol("tk", "r", ("-3", "double"))),
        ("_ZZN2ns1gEvE1x", LocalSymbol("g", "x")),
        ("_ZZ2k2E4tile_0", LocalSymbol("k2", "tile")),
        ("_ZZ1kE4tile__12_", LocalSymbol("k", "tile")),
        ("_ZZ1kE4aE1b", LocalSymbol("k", "aE1b")),
        ("tile", None),
        ("_ZN5outer4tileE", None),
        ("_ZZ", None),
        ("_ZZ99xE1y", None),
    ],
)
def test_local_symbols(symbol: str, expected: LocalSymbol | None) -> None:
    assert local_symbol(symbol) == expected


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("tile", "tile"),
        ("_ZN5outer5inner3nshE", "outer::inner::nsh"),
        ("_ZL4sdev", "sdev"),
        ("_ZZ1kE5Color", "Color"),
        ("_ZZ1mEN1E1AE__3796_", "A"),
        ("_ZZ1kEUliE_", "(lambda)"),
        ("_ZZ1kEUt_", "(unnamed)"),
        ("__SO__4Base", "Base"),
    ],
)
def test_source_names(symbol: str, expected: str) -> None:
    assert source_name(symbol) == expected
