"""PDF files of A4: texts as HTML and pictures laid below each other; a report as such a file."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from html import escape

import numpy as np
from PySide6.QtCore import (
    QBuffer,
    QByteArray,
    QEventLoop,
    QIODevice,
    QMarginsF,
    QPointF,
    QRectF,
    QSizeF,
)
from PySide6.QtGui import (
    QFont,
    QImage,
    QPageLayout,
    QPageSize,
    QPainter,
    QPdfWriter,
    QTextBlock,
    QTextCursor,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtWidgets import QApplication

from gui.looks.theme import load_fonts
from gui.pictures import painting, png

MARGIN_MM = 18
FOOT_MM = 8  # of the page's number, within the margin
RESOLUTION = 288  # dots an inch
PICTURE_DPI = 320  # of a picture's pixels
SMALLER = 0.75  # of its size, to which a picture is made smaller to fit a page
LEAST = 0.5  # the same where the page would be left empty by a third
STYLE = """
h1, h2, b { font-weight: 600; }
h1 { font-size: 17pt; } h2 { font-size: 13pt; }
p { font-size: 10pt; margin-top: 0; margin-bottom: 4pt; }
.rule { margin-top: 7pt; } .name { margin-top: 6pt; }
.small { font-size: 8.5pt; color: #555; } .head { font-size: 9pt; color: #555; }
pre { font-family: 'JetBrains Mono'; font-size: 8pt; margin: 0; white-space: pre-wrap; }
code { font-family: 'JetBrains Mono'; font-size: 9pt; }
"""
UNREADABLE = ("tnum", "calt", "ccmp", "liga")
"""Features of the faces that a reader of the PDF can neither copy nor search nor read aloud."""
_SVG = re.compile(r"<svg .*?</svg>", re.DOTALL)
_SHARP = 3
REPORT_STYLE = """
h1{font-size:16pt;font-weight:600} h2{font-size:11pt;font-weight:600} b{font-weight:600}
body{font-size:9pt} td,th{padding:2px 6px} th{text-align:left;font-weight:600}
.r{text-align:right} .note{color:#566071} .small{font-size:8.5pt;color:#555}
.fault{margin-top:12px}
.code,code{font-family:'JetBrains Mono';font-size:8pt}
"""


@dataclass(frozen=True)
class Piece:
    """What stands together on one page: a text as HTML, and a picture below it.

    `new_page` begins one; `close`: no gap is left above. `foot`, if any, is what the pages that
    begin from here on say at their foot.
    """

    html: str
    picture: QImage | None = None
    new_page: bool = False
    close: bool = False
    foot: str = ""


class Sheet:
    """Lays pieces below each other on pages of A4. Needs a QGuiApplication."""

    def __init__(self, title: str, style: str = STYLE, foot: str = "") -> None:
        """`foot`: what its pages say at their foot, if that is not the title."""
        load_fonts()
        QEventLoop()  # gives a worker's thread the timers that QTextDocument starts
        self._style = style
        self._buffer = QBuffer()
        self._buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        self._writer = QPdfWriter(self._buffer)
        self._writer.setTitle(title)
        self._writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
        margins = QMarginsF(*[MARGIN_MM] * 4)
        self._writer.setPageMargins(margins, QPageLayout.Unit.Millimeter)
        self._writer.setResolution(RESOLUTION)
        self._width, self._height = float(self._writer.width()), float(self._writer.height())
        self._foot, self._page, self._y = foot or title, 1, 0.0
        self._font = QFont("Inter", 10)
        for feature in UNREADABLE:
            self._font.setFeature(QFont.Tag(feature), 0)
        self._painter = QPainter(self._writer)
        self._number_page()

    def add(self, piece: Piece) -> None:
        """Put a piece below the last one, or on the next page."""
        self._foot = piece.foot or self._foot
        text = self._text(piece.html)
        height, gap = text.size().height(), 0.0 if piece.close else self._mm(3)
        height += 0 if piece.picture is None else self._mm(2)
        picture = None if piece.picture is None else _trimmed(piece.picture)
        size = QSizeF() if picture is None else self._size(picture)
        room = self._height - self._y - gap
        if piece.new_page and self._y:
            self._turn()
        elif height + size.height() > room:
            least = LEAST if room > self._height / 3 else SMALLER
            if picture is not None and least * size.height() <= room - height:
                size *= (room - height) / size.height()
            elif self._y:
                self._turn()
        if self._y:
            self._y += gap
        self._put(text, height)
        if picture is not None:
            size *= min(1.0, (self._height - self._y) / size.height())
            self._painter.drawImage(QRectF(QPointF(0, self._y), size), picture)
            self._y += size.height()

    def data(self) -> bytes:
        """The file, which is then complete."""
        self._painter.end()
        return bytes(self._buffer.data().data())

    def _mm(self, length: float) -> float:
        return length * RESOLUTION / 25.4

    def _text(self, html: str) -> QTextDocument:
        document = QTextDocument()
        document.documentLayout().setPaintDevice(self._writer)
        document.setDocumentMargin(0)
        document.setDefaultFont(self._font)
        document.setDefaultStyleSheet(self._style)
        document.setHtml(html)
        document.setTextWidth(self._width)
        return document

    def _size(self, picture: QImage) -> QSizeF:
        size = QSizeF(picture.size()) * (RESOLUTION / PICTURE_DPI)
        return size * min(1.0, self._width / size.width(), 0.8 * self._height / size.height())

    def _put(self, text: QTextDocument, height: float) -> None:
        """Draw a text; one that is higher than a page goes on on the next."""
        if height > self._height:
            text.setPageSize(QSizeF(self._width, self._height))
            keep_headings(text)
            for page in range(text.pageCount()):
                if page:
                    self._turn()
                self._painter.save()
                self._painter.translate(0, -page * self._height)
                text.drawContents(
                    self._painter, QRectF(0, page * self._height, self._width, self._height)
                )
                self._painter.restore()
            self._y = self._height
            return
        self._painter.save()
        self._painter.translate(0, self._y)
        text.drawContents(self._painter)
        self._painter.restore()
        self._y += height

    def _turn(self) -> None:
        self._writer.newPage()
        self._page, self._y = self._page + 1, 0.0
        self._number_page()

    def _number_page(self) -> None:
        foot = self._text(f"<p class='small'>{escape(self._foot)}, page {self._page}</p>")
        self._painter.save()
        self._painter.translate(0, self._height + self._mm(FOOT_MM) - foot.size().height() / 2)
        foot.drawContents(self._painter)
        self._painter.restore()


def keep_headings(text: QTextDocument) -> None:
    """Begin a page before each heading that would stand at the foot of one without what follows."""
    high, layout = text.pageSize().height(), text.documentLayout()
    block, first = text.begin(), QTextBlock()  # of headings below each other
    while block.next().isValid():
        if not _is_heading(block):
            first = QTextBlock()
        else:
            first = first if first.isValid() else block
            top = layout.blockBoundingRect(first).top()
            if _beginning_ends(block.next()) > (top // high + 1) * high and top % high > 0:
                style = first.blockFormat()
                style.setPageBreakPolicy(QTextFormat.PageBreakFlag.PageBreak_AlwaysBefore)
                QTextCursor(first).setBlockFormat(style)
                text.markContentsDirty(0, text.characterCount())  # Qt's own update is too short
            if not block.blockFormat().headingLevel():  # it says more than its title
                first = QTextBlock()
        block = block.next()


def _is_heading(block: QTextBlock) -> bool:
    """Whether it is one, or begins in bold as one; a cell of a table is none."""
    cursor = QTextCursor(block)
    bold = block.charFormat().fontWeight() >= QFont.Weight.DemiBold
    if block.text():
        cursor.movePosition(QTextCursor.MoveOperation.NextCharacter)
        bold = cursor.charFormat().fontWeight() >= QFont.Weight.DemiBold
    return bold and cursor.currentTable() is None


def _beginning_ends(block: QTextBlock) -> float:
    """How far down two lines reach, a picture's being one, or a table's head and first row."""
    layout = block.document().documentLayout()
    table = QTextCursor(block).currentTable()
    if table is not None and table.rows() > 1:
        cells = (table.cellAt(1, column) for column in range(table.columns()))
        ends = (cell.lastCursorPosition().block() for cell in cells)
        return max(layout.blockBoundingRect(end).bottom() for end in ends)
    top, lines = layout.blockBoundingRect(block).top(), block.layout()
    return top + lines.lineAt(min(lines.lineCount(), 2) - 1).rect().bottom()


def _trimmed(picture: QImage) -> QImage:
    """The picture without the empty edges around what it shows."""
    picture = picture.convertToFormat(QImage.Format.Format_RGB32)
    stride = picture.bytesPerLine() // 4
    pixels = np.frombuffer(picture.constBits(), np.uint32).reshape(picture.height(), stride)
    pixels = pixels[:, : picture.width()]
    drawn = pixels != pixels[-1, -1]
    if not drawn.any():
        return picture
    rows, columns = np.flatnonzero(drawn.any(1)), np.flatnonzero(drawn.any(0))
    left, top = int(columns[0]), int(rows[0])
    return picture.copy(left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1)


def report_pdf(html: str, title: str) -> bytes:
    """A report's HTML as a PDF file; its drawings become sharp images."""
    if QApplication.instance() is None:
        QApplication(["tilescope"])
    sheet = Sheet(title, REPORT_STYLE)
    text = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    sheet.add(Piece(_SVG.sub(_image, text)))
    return sheet.data()


def _image(match: re.Match[str]) -> str:
    from PySide6.QtSvg import QSvgRenderer  # for this alone

    renderer = QSvgRenderer(QByteArray(match[0].encode()))
    size = renderer.defaultSize()
    image = QImage(size * _SHARP, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFFFF)
    with painting(image) as painter:
        renderer.render(painter, QRectF(0, 0, image.width(), image.height()))
    data = base64.b64encode(png(image)).decode()
    return (
        f'<br><img src="data:image/png;base64,{data}" width="{size.width()}" '
        f'height="{size.height()}">'
    )
