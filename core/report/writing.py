"""A report as HTML, in one file that needs nothing else, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from core.foreign_text import visible
from core.report.content import Fault, Report, Table

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1b2330;background:#fff}
body{max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2rem 0 .4rem}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.2rem .7rem .2rem 0;vertical-align:top}
th,td{border-bottom:1px solid #e3e6eb}
th{color:#566071;font-weight:600}.r{text-align:right}code,.code{font-family:ui-monospace,monospace;white-space:pre-wrap}
.fault{border-left:4px solid #b3261e;padding:.2rem .8rem;margin:.8rem 0}.verdict{font-size:1.05rem}
.facts th{width:12rem}svg{max-width:100%;height:auto;margin:.4rem 0}.note{color:#566071}
"""
_CODE = ("code", "counter", "Nsight Compute's name")


def as_html(report: Report) -> str:
    """The report as a page."""
    body = "\n".join(_html(report))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _html(report: Report) -> Iterator[str]:
    yield f"<h1>{safe(report.title)}</h1>"
    yield f'<p class="verdict">{safe(report.verdict)}</p>'
    yield '<h2>Launch</h2><table class="facts">'
    yield "".join(f"<tr><th>{safe(k)}</th><td>{safe(v)}</td></tr>" for k, v in report.facts)
    yield "</table>"
    if report.faults:
        yield "<h2>Findings</h2>"
        yield from map(_fault_html, report.faults)
    for table in report.tables:
        yield html_table(table)
        if table.heading == "By line" and report.pictures:
            yield from report.pictures
    yield from (f'<p class="note">{safe(note)}</p>' for note in report.notes)
    yield "<h2>Source</h2><p class='code'>"
    yield "<br>".join(
        f"{number:>4}&nbsp; {safe(line).replace('  ', '&nbsp; ')}"
        for number, line in enumerate(report.source, start=1)
    )
    yield "</p>"


def html_table(table: Table) -> str:
    """One table with its heading."""
    heads = "".join(
        f'<th class="r">{safe(c)}</th>' if i in table.right else f"<th>{safe(c)}</th>"
        for i, c in enumerate(table.columns)
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td{_class(table, i)}>{safe(cell) or '&nbsp;'}</td>" for i, cell in enumerate(row)
        )
        + "</tr>"
        for row in table.rows
    )
    note = f'<p class="note">{safe(table.note)}</p>' if table.note else ""
    return f"<h2>{safe(table.heading)}</h2><table><tr>{heads}</tr>{rows}</table>{note}"


def _class(table: Table, column: int) -> str:
    if column in table.right:
        return ' class="r"'
    return ' class="code"' if table.columns[column] in _CODE else ""


def _fault_html(fault: Fault) -> str:
    place = f"<br><code>{fault.line}: {safe(fault.code)}</code>" if fault.line > 0 else ""
    words = f"<b>{safe(fault.title)}</b><br>{safe(fault.sentence)}{place}"
    if fault.caveat:
        words += f'<br><span class="note">{safe(fault.caveat)}</span>'
    return f'<div class="fault">{words}<div>{fault.picture}</div></div>'


def safe(text: str) -> str:
    """A text that HTML takes for nothing else, and in which nothing acts unseen."""
    return escape(visible(text))


def as_markdown(report: Report) -> str:
    """The report for a pull request or a notebook's text; its pictures are left out."""
    return "\n".join(_markdown(report)).rstrip() + "\n"


def _markdown(report: Report) -> Iterator[str]:
    yield from (f"# {_plain(report.title)}", "", _plain(report.verdict), "", "## Launch", "")
    yield from _rows(("", ""), report.facts, frozenset())
    if report.faults:
        yield from ("", "## Findings", "")
        for fault in report.faults:
            place = f" Line {fault.line}: {_code(fault.code)}" if fault.line > 0 else ""
            caveat = f" {_plain(fault.caveat)}" if fault.caveat else ""
            yield f"- **{_plain(fault.title)}** {_plain(fault.sentence)}{place}{caveat}"
    for table in report.tables:
        yield from ("", f"## {_plain(table.heading)}", "")
        yield from _rows(table.columns, table.rows, table.right)
        if table.note:
            yield from ("", _plain(table.note))
    for note in report.notes:
        yield from ("", _plain(note))


def _rows(
    columns: tuple[str, ...], rows: tuple[tuple[str, ...], ...], right: frozenset[int]
) -> Iterator[str]:
    yield f"| {' | '.join(map(_plain, columns))} |"
    yield f"|{'|'.join('--:' if i in right else '---' for i in range(len(columns)))}|"
    for row in rows:
        cells = (
            _code(cell) if columns[i] in _CODE and cell else _plain(cell)
            for i, cell in enumerate(row)
        )
        yield f"| {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """A text that Markdown takes for nothing else."""
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", visible(text).replace("\n", " "))


def _code(text: str) -> str:
    return f"`{visible(text).replace('`', chr(39)).replace('|', chr(0x2502))}`"
