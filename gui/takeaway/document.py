"""A report as PDF: Qt sets its HTML on pages; pictures become sharp images."""

from __future__ import annotations

import re

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QMarginsF, QRectF, QSizeF, QUrl
from PySide6.QtGui import QFont, QImage, QPageLayout, QPageSize, QPainter, QPdfWriter, QTextDocument
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from gui.looks.theme import load_fonts

_SVG = re.compile(r"<svg .*?</svg>", re.DOTALL)
_SHARP = 3
_SHEET = (
    "h1{font-size:16pt;font-weight:600}h2{font-size:11pt;font-weight:600}b{font-weight:600}"
    "td,th{padding:2px 6px}th{text-align:left;font-weight:600}.r{text-align:right}"
    ".code,code{font-family:'JetBrains Mono';font-size:8pt}.note{color:#566071}"
)
MARGIN_MM = 16


def pdf_of(html: str, title: str) -> bytes:
    """The PDF of a report's HTML, on A4."""
    if QApplication.instance() is None:
        QApplication(["tilescope"])
    load_fonts()
    document = QTextDocument()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setTitle(title)
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    writer.setPageMargins(QMarginsF(*[MARGIN_MM] * 4), QPageLayout.Unit.Millimeter)
    writer.setResolution(96 * _SHARP)

    def shown(match: re.Match[str]) -> str:
        renderer = QSvgRenderer(QByteArray(match[0].encode()))
        size = renderer.defaultSize()
        image = QImage(size * _SHARP, QImage.Format.Format_RGB32)
        image.fill(0xFFFFFFFF)
        painter = QPainter(image)
        renderer.render(painter, QRectF(0, 0, image.width(), image.height()))
        painter.end()
        name = f"picture{match.start()}"
        document.addResource(QTextDocument.ResourceType.ImageResource.value, QUrl(name), image)
        return f'<br><img src="{name}" width="{size.width()}" height="{size.height()}">'

    face = QFont("Inter", 9)
    for feature in ("calt", "ccmp", "liga"):  # or a reader copies other characters than it sees
        face.setFeature(QFont.Tag(feature), 0)
    document.setDefaultFont(face)
    document.setDefaultStyleSheet(_SHEET)
    text = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    document.documentLayout().setPaintDevice(writer)
    document.setPageSize(QSizeF(writer.width(), writer.height()))
    document.setHtml(_SVG.sub(shown, text))
    document.print_(writer)
    return bytes(buffer.data().data())
