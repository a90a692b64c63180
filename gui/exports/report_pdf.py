"""A report as PDF: Qt sets its HTML on pages; pictures become sharp images."""

from __future__ import annotations

import base64
import re

from PySide6.QtCore import QByteArray, QRectF
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication

from gui.pictures import Piece, Sheet, png

_SVG = re.compile(r"<svg .*?</svg>", re.DOTALL)
_SHARP = 3
_STYLE = """
h1{font-size:16pt;font-weight:600} h2{font-size:11pt;font-weight:600} b{font-weight:600}
body{font-size:9pt} td,th{padding:2px 6px} th{text-align:left;font-weight:600}
.r{text-align:right} .note{color:#566071} .small{font-size:8.5pt;color:#555}
.code,code{font-family:'JetBrains Mono';font-size:8pt}
"""


def pdf_of(html: str, title: str) -> bytes:
    """The PDF of a report's HTML, on A4."""
    if QApplication.instance() is None:
        QApplication(["tilescope"])
    sheet = Sheet(title, _STYLE)
    text = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
    sheet.add(Piece(_SVG.sub(_image, text)))
    return sheet.data()


def _image(match: re.Match[str]) -> str:
    renderer = QSvgRenderer(QByteArray(match[0].encode()))
    size = renderer.defaultSize()
    image = QImage(size * _SHARP, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFFFF)
    painter = QPainter(image)
    renderer.render(painter, QRectF(0, 0, image.width(), image.height()))
    painter.end()
    data = base64.b64encode(png(image)).decode()
    return (
        f'<br><img src="data:image/png;base64,{data}" width="{size.width()}" '
        f'height="{size.height()}">'
    )
