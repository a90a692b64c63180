"""Damaged PTX ends in a clear error, never in an exception or a hang."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.emulator.launch_image import Image
from core.errors import PtxSyntaxError, TilescopeError, UnsupportedPtx
from core.launch import ArrayArgument, Dim3, Launch, ScalarArgument
from core.ptx.lexer import without_sections
from core.ptx.parser import parse
from tests.core.ptx.ptx_texts import module_text

TOKEN = re.compile(r"\s+|[\w$%.]+|.")


@cache
def pieces(whole_tokens: bool) -> list[str]:
    text = re.sub(r"\n+", "\n", without_sections(module_text()))
    return TOKEN.findall(text) if whole_tokens else list(text)


@cache
def replacements(whole_tokens: bool) -> list[str]:
    extra = [] if whole_tokens else [chr(c) for c in range(32, 127)] + ["\0", "é", "\n", "٣"]
    return sorted(set(pieces(whole_tokens)) | set(extra))


def launch() -> Launch:
    return Launch(
        Dim3(1), Dim3(64),
        (ArrayArgument("out", np.zeros(64, np.float32), "output"),
         ArrayArgument("in", np.ones(256, np.float32)), ScalarArgument("n", np.int32(0)),
         ScalarArgument("d", np.float64(3))),
        256,
    )  # fmt: skip


EDITS = st.lists(
    st.tuples(st.sampled_from(["delete", "double", "replace", "swap"]), st.floats(0, 0.9999),
              st.floats(0, 0.9999)),
    min_size=1, max_size=3,
)  # fmt: skip


def mutated(whole_tokens: bool, edits) -> str:
    parts, words = list(pieces(whole_tokens)), replacements(whole_tokens)
    for what, where, which in edits:
        i = int(where * len(parts))
        if what == "delete":
            del parts[i]
        elif what == "double":
            parts.insert(i, parts[i])
        elif what == "replace":
            parts[i] = words[int(which * len(words))]
        else:
            j = int(which * len(parts))
            parts[i], parts[j] = parts[j], parts[i]
    return "".join(parts)


@pytest.mark.slow
@pytest.mark.parametrize("whole_tokens", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_mutated_text_ends_in_a_clear_error(whole_tokens) -> None:
    @settings(max_examples=200, deadline=None, derandomize=True, database=None)
    @given(EDITS)
    def run(edits) -> None:
        text = mutated(whole_tokens, edits)
        try:
            image = Image(parse(text), "k", launch())
            for function in image.module.functions.values():
                if function.end_pc > function.first_pc:
                    image.code(function)
        except (PtxSyntaxError, UnsupportedPtx) as error:
            assert 1 <= error.line <= text.count("\n") + 1  # noqa: PT017
        except TilescopeError as error:
            assert "kernel" in str(error)  # noqa: PT017  (its name or its parameters changed)

    run()
