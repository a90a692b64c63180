"""Random damage to PTX text: characters, tokens and lines deleted, doubled, swapped, replaced."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

TOKEN = re.compile(r"\s+|\"[^\"\n]*\"|[\w$%]+|.", re.DOTALL)
CHARACTERS = [chr(c) for c in range(32, 127)] + ["\0", "\n", "\t", "é", "٣", "\u2028", "\x85"]
NUMBERS = [
    "0", "1", "-1", "3", "7", "31", "32", "33", "64", "255", "1024", "65536", "2147483647",
    "-2147483648", "4294967295", "4294967296", "9223372036854775807", "18446744073709551615",
    "18446744073709551616", "99999999999999999999999999", "0x", "0f", "0f7FC00000", "0fFF800000",
    "0d7FF0000000000000", "0d0000000000000001", "1e999", "1.5", "0b1", "08", "1U",
]  # fmt: skip
WORDS = [
    ".s8", ".u8", ".s16", ".u16", ".f16", ".f16x2", ".bf16", ".b16", ".s32", ".u32", ".b32", ".f32",
    ".s64", ".u64", ".b64", ".f64", ".b128", ".pred", ".v2", ".v4", ".v8", ".sat", ".ftz", ".rn",
    ".rz", ".rni", ".approx", ".lo", ".hi", ".wide", ".cc", ".global", ".shared", ".local",
    ".const", ".param", ".sync", ".uni", ".align", ".reg", ".func", ".entry", ".extern", "%tid",
    "%tid.x", "%laneid", "%clock64", "_", "!", "@", "@!", "|", "{", "}", "[", "]", "(", ")",
    "<", ">", ";", ",", "+", "-", ":", "ret", "exit", "trap", "bra", "call", "bar", "mov", "ld",
    "st", "cvt", "atom", "setp", "shfl", "vote", "mul", "div", "fma", "/*", "*/", "//", '"',
]  # fmt: skip


def mutate(pieces: Sequence[str], words: Sequence[str], rng: random.Random) -> list[str]:
    """One to three random changes of a sequence of characters, tokens or lines."""
    parts = list(pieces)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if not parts:
            return parts
        i, what = rng.randrange(len(parts)), rng.randrange(7)
        if what == 0:
            del parts[i]
        elif what == 1:
            parts.insert(i, parts[i])
        elif what == 2:
            j = rng.randrange(len(parts))
            parts[i], parts[j] = parts[j], parts[i]
        elif what == 3:
            parts[i] = rng.choice(parts)
        elif what == 4:
            parts[i] = rng.choice(words)
        elif what == 5:
            parts.insert(i, rng.choice(words))
        else:  # a stretch goes, or comes again
            j = min(len(parts), i + rng.randint(1, 12))
            parts[i:j] = [] if rng.random() < 0.5 else parts[i:j] * 2
    return parts


def mutated(text: str, rng: random.Random) -> str:
    """The text after random damage; which kind of piece is damaged is random too."""
    kind = rng.random()
    if kind < 0.2:
        return "".join(mutate(text, CHARACTERS, rng))
    if kind < 0.3:
        lines = text.splitlines(keepends=True)
        i = rng.randrange(len(lines))
        j = min(len(lines), i + rng.randint(2, 8))
        if rng.random() < 0.5:
            lines[i:j] = rng.sample(lines[i:j], j - i)
            return "".join(lines)
        return "".join(mutate(lines, lines, rng))
    tokens = TOKEN.findall(text)
    if kind < 0.7:  # of a number another, of a word one of its kind
        solid = [i for i, token in enumerate(tokens) if not token.isspace()]
        for i in rng.choices(solid, k=rng.randint(1, 2)):
            same = [t for t in tokens if t[0].isalpha() == tokens[i][0].isalpha() and t != " "]
            tokens[i] = rng.choice(NUMBERS if tokens[i][0].isdigit() else same)
        return "".join(tokens)
    return "".join(mutate(tokens, NUMBERS + WORDS, rng))
