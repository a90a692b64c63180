"""The phase table as plain text, Markdown and LaTeX. Standard LaTeX, no packages needed."""

from __future__ import annotations

from core.analysis.phase_table import PhaseTable

THREAD = "Thread (x, y)"


def as_text(table: PhaseTable) -> str:
    """Columns side by side, an entry on each line, a rule under the heading and every thread."""
    heads = [[THREAD], *([column.title] for column in table.columns)]
    rows = [
        [[f"{row.name}"], *([e.text for e in cell] for cell in row.cells)] for row in table.rows
    ]
    widths = [max(len(line) for row in [heads, *rows] for line in row[i] or [""])
              for i in range(len(heads))]  # fmt: skip
    rule = "-+-".join("-" * width for width in widths)
    blocks = [_side_by_side(row, widths) for row in [heads, *rows]]
    return f"{table.title}\n\n" + f"\n{rule}\n".join(blocks) + "\n"


def _side_by_side(row: list[list[str]], widths: list[int]) -> str:
    height = max(len(cell) for cell in row)
    lines = []
    for i in range(height):
        parts = [(cell[i] if i < len(cell) else "").ljust(w)
                 for cell, w in zip(row, widths, strict=True)]  # fmt: skip
        lines.append(" | ".join(parts).rstrip())
    return "\n".join(lines)


def as_markdown(table: PhaseTable) -> str:
    """A table of GitHub's Markdown; the entries of a cell are separated by line breaks."""
    heads = [THREAD, *(column.title for column in table.columns)]
    lines = [f"**{table.title}**", "", _piped(heads), _piped(["---"] * len(heads))]
    for row in table.rows:
        cells = ["<br>".join(f"`{e.text}`" for e in cell) for cell in row.cells]
        lines.append(_piped([row.name, *cells]))
    return "\n".join(lines) + "\n"


def _piped(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_latex(table: PhaseTable) -> str:
    """A `table` with a `tabular`; each cell stacks its entries in a `tabular` of its own."""
    layout = "l" * (len(table.columns) + 1)
    heads = [THREAD, *(column.title for column in table.columns)]
    lines = [
        r"\begin{table}",
        rf"\caption{{{_escaped(table.title)}}}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\hline",
        " & ".join(_escaped(head) for head in heads) + r" \\",
        r"\hline",
    ]
    for row in table.rows:
        cells = [_stacked([e.text for e in cell]) for cell in row.cells]
        lines.append(" & ".join([row.name, *cells]) + r" \\")
        lines.append(r"\hline")
    return "\n".join([*lines, r"\end{tabular}", r"\end{table}"]) + "\n"


def _stacked(texts: list[str]) -> str:
    if not texts:
        return ""
    inner = r" \\ ".join(rf"\texttt{{{_escaped(text)}}}" for text in texts)
    return rf"\begin{{tabular}}[t]{{@{{}}l@{{}}}}{inner}\end{{tabular}}"


_SPECIAL = {
    "\\": r"\textbackslash{}", "_": r"\_", "&": r"\&", "%": r"\%", "#": r"\#", "$": r"\$",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "…": r"\dots{}", "ᵀ": r"\textsuperscript{T}", "×": r"$\times$",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\textasciigrave{}",
}  # fmt: skip


def _escaped(text: str) -> str:
    parts = text.split("->")
    escaped = ("".join(_SPECIAL.get(character, character) for character in p) for p in parts)
    return r"$\rightarrow$".join(escaped)
