"""The parser of CUDA C++ (tree-sitter): it goes on behind a mistake, and looks up nothing."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

ATTRIBUTE = re.compile(
    r"\b(?:__align__|alignas|__attribute__|__launch_bounds__|__cluster_dims__|__block_size__"
    r"|__maxnreg__|__declspec)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\b__grid_constant__\b"
)
"""What the parser does not know wherever it may stand."""

CLASSES = ("class_specifier", "struct_specifier", "union_specifier")
DECLARATORS = {
    "init_declarator",
    "pointer_declarator",
    "reference_declarator",
    "array_declarator",
    "parenthesized_declarator",
    "function_declarator",
    "attributed_declarator",
}
GROUPS = {
    "translation_unit",
    "namespace_definition",
    "declaration_list",
    "linkage_specification",
    "preproc_if",
    "preproc_ifdef",
    "preproc_else",
    "preproc_elif",
    "preproc_elifdef",
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
