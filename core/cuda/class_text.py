"""The text of a structure's definition: its bases, its data members, what aligns them.

A reader for declarations, not a C++ parser. What would change the layout in a way that is not
followed here is refused, as a layout that is nearly right is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.cuda.kernel_text import closing, split_at_commas, with_macros

_ATTRIBUTE = re.compile(
    r"\b(?P<plain>__align__|__builtin_align__|alignas)\s*\("
    r"|\b__attribute__\s*\(\s*\(\s*(?:__)?aligned(?:__)?\s*\("
)
_ALIGNED = re.compile(r"@([^@]*)@")  # how an attribute stands in a text that was prepared
_MEMBER = re.compile(r"(?P<type>.*?[\s*&>])(?P<name>\w+)\s*(?P<rest>[\[={:].*)?$", re.DOTALL)
_TO_FUNCTION = re.compile(
    r"[^(]*\(\s*\*\s*(?:const\s+)?(\w+)\s*((?:\[[^\]]*\]\s*)*)\)\s*[(\[]", re.DOTALL
)
_AFTER_PARAMETERS = re.compile(
    r"(?:\s|const\b|volatile\b|noexcept\b(?:\s*\([^()]*\))?|override\b|final\b|&)*"
    r"(?:->.*)?(?:=\s*(?:default|delete|0)\s*)?", re.DOTALL
)  # fmt: skip
_NO_MEMBER = re.compile(
    r"(using|typedef|friend|template|static_assert)\b|(struct|class|union)\s+\w+\s*$"
    r"|(struct|class|enum)\b[\w\s:]*\{.*\}$", re.DOTALL
)  # fmt: skip
_STATIC = re.compile(r"^[^={(]*\bstatic\b")
_PRAGMA = re.compile(r"#\s*pragma\s+pack\s*\(([^)]*)\)|_Pragma\s*\(\s*\"pack\s*\(([^)]*)\)")


class UnknownType(Exception):
    """A type that is not understood here; the text says which, or what about it."""


@dataclass(frozen=True)
class ClassText:
    """A structure or enumeration; of an enumeration `bases` is the type beneath it.

    `alignments` are the expressions of its `__align__(…)`, `template` the parameters of one.
    """

    keyword: str
    bases: tuple[str, ...]
    body: str
    alignments: tuple[str, ...] = ()
    template: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether nothing in it keeps a derived class from beginning after its padding."""
        own = re.sub(r"\{[^{}]*\}", "", self.body)
        special = r"\b(public|private|protected|virtual)\b|(?:^|[;}\s])~|[=]"
        makes = r"(?:^|[;}])\s*(?:(?:__host__|__device__|constexpr|explicit|inline)\s+)*\w+\s*\("
        return self.keyword == "struct" and not self.bases and not re.search(
            rf"{special}|{makes}", own
        )  # fmt: skip


@dataclass(frozen=True)
class Field:
    """A data member as written: its name, type, `[…]` behind it, and what it is aligned to."""

    name: str
    type: str
    extents: str = ""
    alignments: tuple[str, ...] = ()


def prepared(text: str) -> str:
    """A text without comments in which `find_class` looks: attributes of alignment are `@16@`."""
    text = with_macros(text, re.compile(r"\b(?:__align__|alignas|aligned|packed)\b"))
    at = 0
    while found := _ATTRIBUTE.search(text, at):
        end = closing(text, found.end())
        inside, end = text[found.end() : end], end + 1
        if not found["plain"]:
            tail = re.compile(r"\s*\)\s*\)").match(text, end)
            end = tail.end() if tail else end
        text = f"{text[: found.start()]}@{' '.join(inside.split())}@ {text[end:]}"
        at = found.start() + 1
    return text


def find_class(text: str, name: str) -> ClassText | None:
    """The definition of `name` in a prepared text. Raises UnknownType where it is not sure."""
    found = [*_named(text, name), *_by_typedef(text, name)]
    if len({one for _, one in found}) > 1:
        raise UnknownType(f"{name} is defined in more than one way")
    if re.search(rf"\b(?:struct|class)\s+{name}\s*<[^;{{}}()]*>\s*(?::[^;{{}}()]*)?\{{", text):
        raise UnknownType(f"{name} is a template that is specialised")
    for position, one in found:
        if one.keyword in ("struct", "class") and _is_packed(text, position):
            raise UnknownType(f"{name} is packed")
        return one
    return None


def _named(text: str, name: str) -> Iterator[tuple[int, ClassText]]:
    words = r"(?:\s|@[^@]*@|__attribute__\b[\s(\w,)]*|\w+\s)*?"
    head = rf"\b(struct|class|union|enum)\b(\s+class\b)?({words})"
    for match in re.finditer(rf"{head}\b{name}\b\s*(?:final\s*)?(?::([^{{;()]*))?\{{", text):
        keyword, between, bases = match[1], match[3], (match[4] or "").strip()
        end = closing(text, match.end(), "{}")
        body = text[match.end() : end]
        if keyword == "enum":
            yield match.start(), ClassText(keyword, (bases,) if bases else (), body)
            continue
        after = re.compile(r"\s*([^;{}=]*)").match(text, end + 1)
        behind = after[1] if after else ""
        if _ALIGNED.sub("", between).strip() or re.match(r"@|__attribute__|\[", behind):
            raise UnknownType(f"{name} has attributes that are not understood")
        before = re.split(r"[;{}]", text[max(0, match.start() - 400) : match.start()])[-1]
        template = re.search(r"\btemplate\s*<(.*)>\s*$", before, re.DOTALL)
        yield match.start(), ClassText(
            keyword, tuple(split_at_commas(bases)), body, tuple(_ALIGNED.findall(between)),
            template[1] if template else "",
        )  # fmt: skip


def _by_typedef(text: str, name: str) -> Iterator[tuple[int, ClassText]]:
    for match in re.finditer(r"\btypedef\s+(struct|union|enum)\b([^;{}]*)\{", text):
        end = closing(text, match.end(), "{}")
        names = re.match(r"[^;]*", text[end + 1 :])
        behind = names[0] if names else ""
        if name not in re.findall(r"(?<!\*)\b\w+", _ALIGNED.sub(" ", behind)):
            continue
        if re.search(r"__attribute__|\[", match[2] + behind):
            raise UnknownType(f"{name} has attributes that are not understood")
        aligned = _ALIGNED.findall(match[2] + behind)
        body = text[match.end() : end]
        if not re.search(rf"\b{name}\b", match[2]):  # else it is found by that name
            yield match.start(), ClassText(match[1], (), body, tuple(aligned))


def _is_packed(text: str, position: int) -> bool:
    """Whether a `#pragma pack` is in force there."""
    outer: list[str] = []
    now = ""
    for match in _PRAGMA.finditer(text, 0, position):
        words = [word.strip() for word in (match[1] or match[2] or "").split(",")]
        if words[0] == "push":
            outer.append(now)
        if words[0] == "pop":
            now = outer.pop() if outer else ""
        else:
            now = words[-1] if words[-1] != "push" else now
    return bool(now)


def fields(body: str) -> Iterator[Field]:
    """The data members of a class whose text was prepared, in order."""
    for statement in _statements(body):
        words = re.sub(r"^\s*(?:(?:public|private|protected)\s*:\s*)*", "", statement).strip()
        aligned = tuple(_ALIGNED.findall(words))
        plain = " ".join(_ALIGNED.sub(" ", words).split())
        if not plain or _NO_MEMBER.match(plain) or _STATIC.match(plain):
            continue
        if "(" in re.split(r"[={\[]", plain)[0]:
            if pointer := _TO_FUNCTION.match(plain):
                yield Field(pointer[1], "void *", pointer[2].strip(), aligned)
                continue
            opens = plain.index("(")
            if _AFTER_PARAMETERS.fullmatch(plain, closing(plain, opens + 1) + 1):
                continue  # a function that is only declared
            raise UnknownType(f"`{plain}` is not understood")
        yield from _declared(plain, aligned, is_first=words.startswith("@"))


def _declared(words: str, aligned: tuple[str, ...], is_first: bool) -> Iterator[Field]:
    first, *more = split_at_commas(words)
    match = _MEMBER.match(first)
    if not match:
        raise UnknownType(f"`{words}` is not understood")
    if ":" in (match["rest"] or "")[:1]:
        raise UnknownType(f"`{words}` is a bit field")
    if "&" in words.partition("=")[0]:
        raise UnknownType(f"`{words}` is a reference")
    if more and aligned and not is_first:
        raise UnknownType(f"`{words}` is not understood")
    kind = match["type"].strip()
    yield Field(match["name"], kind, _extents(match["rest"]), aligned)
    for part in more:
        other = re.match(r"([*\s]*)(\w+)\s*([\[={].*)?$", part, re.DOTALL)
        if not other:
            raise UnknownType(f"`{words}` is not understood")
        whole = f"{kind.rstrip('* ')} {other[1]}".strip()
        yield Field(other[2], whole, _extents(other[3]), aligned)


def _extents(rest: str | None) -> str:
    return "".join(re.findall(r"\[[^\]]*\]", re.split(r"[={]", rest or "")[0]))


def _statements(body: str) -> Iterator[str]:
    """The declarations of a class; functions with their bodies are left out."""
    start = at = 0
    while at < len(body):
        if body[at] == "{":
            header = body[start:at]
            end = closing(body, at + 1, "{}")
            if "(" in header.partition("=")[0] and not _TO_FUNCTION.match(header):
                start = end + 1
                if re.match(r"\s*;", body[start:]):
                    start += body[start:].index(";") + 1
            at = end
        elif body[at] == ";":
            yield body[start:at]
            start = at + 1
        at += 1
