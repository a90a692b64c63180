"""The parser of CUDA C++ (tree-sitter): it goes on behind a mistake, and looks up nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

ATTRIBUTE = re.compile(
    r"\b(?:__align__|alignas|__attribute__|__launch_bounds__|__cluster_dims__|__block_size__"
    r"|__maxnreg__|__declspec)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\b__grid_constant__\b"
)
"""What the parser does not know wherever it may stand."""

CLASSES = ("class_specifier", "struct_specifier", "union_specifier")
DECLARATORS = {
    *("init_declarator", "pointer_declarator", "reference_declarator", "array_declarator"),
    *("parenthesized_declarator", "function_declarator", "attributed_declarator"),
}
GROUPS = {
    *("translation_unit", "namespace_definition", "declaration_list", "linkage_specification"),
    *("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"),
}
"""Nodes whose children stand at namespace level."""

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Tree


def parse(text: str) -> Tree:
    """The tree of a text in ASCII: its bytes are the text's characters."""
    return _parser().parse(text.encode("ascii"))


def expression(text: str) -> Node | None:
    """The node of an expression, or of `{a, b}`; None where the text is no whole one."""
    root = parse(f"auto _ = {text.strip()};").root_node
    if root.has_error or root.named_child_count != 1:
        return None
    declared = root.named_children[0].children_by_field_name("declarator")
    return declared[0].child_by_field_name("value") if len(declared) == 1 else None


def text_of(node: Node | None) -> str:
    """The characters of a node, "" without one."""
    return (node.text or b"").decode("ascii") if node is not None else ""


def field_of(node: Node | None, name: str) -> Node | None:
    """A node's field; None without it, or without a node."""
    return node.child_by_field_name(name) if node is not None else None


def text_in(node: Node | None, name: str) -> str:
    """The text of a node's field, "" without one."""
    return text_of(field_of(node, name))


def within(node: Node | None) -> Iterator[Node]:
    """A node and all that it has, in the order of the text."""
    waiting = [node] if node is not None else []
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(one.named_children)


def around(node: Node) -> Iterator[Node]:
    """The nodes that a node stands in, the innermost first."""
    outer = node.parent
    while outer is not None:
        yield outer
        outer = outer.parent


@cache
def language() -> Language:
    """The grammar, for queries."""
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Language(tree_sitter_cuda.language())


@cache
def _parser() -> Parser:
    import tree_sitter

    return tree_sitter.Parser(language())
