"""Pages of A4, and a report on them."""

import io
from concurrent.futures import ThreadPoolExecutor

import pytest
from pypdf import PdfReader
from PySide6.QtGui import QImage

from core.cli.app import main
from gui.exports.pdf_pages import Piece, Sheet


@pytest.mark.slow
def test_a_pdf_has_pages_with_text(tmp_path, qapp):
    out = tmp_path / "r.pdf"
    arguments = ["report", "broken_fill_barrier", "-o", str(out), "--set", "n=8", "--set", "tile=4"]
    assert main([*arguments, "--device", "none"]) == 0
    pages = PdfReader(out).pages
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    assert "2 faults found" in text
    assert "n = 8, tile = 4" in text
    assert "global_ld_sectors" in text
    assert sum(len(page.images) for page in pages) >= 2


def test_a_picture_is_made_smaller_before_much_of_a_page_is_left(qapp):
    def sheet_of(lines, high):
        picture = QImage(1600, high, QImage.Format.Format_RGB32)
        picture.fill(0xFFFFFFFF)
        for place in (0, high - 9):
            picture.setPixel(place % 1600, place, 0xFF336699)
        sheet = Sheet("Sheet")
        sheet.add(Piece("<br>".join(f"line {n}" for n in range(lines))))
        sheet.add(Piece("<p>Look.</p>", picture))
        sheet.add(Piece("<p>Done.</p>"))
        return [page.extract_text() for page in PdfReader(io.BytesIO(sheet.data())).pages]

    assert ["Look." in text for text in sheet_of(10, 1500)] == [True]
    assert ["Look." in text for text in sheet_of(34, 1600)] == [True, False], "smaller"
    assert ["Look." in text for text in sheet_of(46, 1500)] == [False, True]
    assert [text.count("line") for text in sheet_of(80, 100)][:2] > [40, 20]


def test_pages_are_made_in_a_thread_without_a_warning(qapp, qtlog):
    def page():
        sheet = Sheet("Sheet")
        sheet.add(Piece("<p>A long line.</p>" * 400))
        return sheet.data()

    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(page).result()
    assert len(PdfReader(io.BytesIO(made)).pages) > 3
    assert [record.message for record in qtlog.records] == []
