"""Pages of A4, and a report on them."""

import io
from concurrent.futures import ThreadPoolExecutor

import pytest
from pypdf import PdfReader
from PySide6.QtGui import QImage, QTextDocument

from core.cli.app import main
from gui.exports.pdf_pages import REPORT_STYLE, Piece, Sheet, report_pdf


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


PICTURES = [
    f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="132">{shape}</svg>'
    for shape in ("", '<rect width="40" height="40"/>')
]
FOLLOWING = {
    "a table": "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
    "a text": "<p>first<br>second<br>third</p>",
    "findings": "".join(
        f"<div class='fault'><b>A race</b><br>Two write.<div>{picture}</div></div>"
        for picture in PICTURES
    ),
}


@pytest.mark.parametrize("following", FOLLOWING.values(), ids=FOLLOWING)
def test_a_heading_of_a_report_stands_with_what_follows(qapp, following):
    for lines in range(54, 58):
        above = "<br>".join(f"line {n}" for n in range(lines))
        below = "<p>more</p>" * 60 + "<h2>At the end</h2>"
        html = f"<p>{above}</p><h2>Heading</h2>{following}{below}"
        pages = PdfReader(io.BytesIO(report_pdf(html, "Report"))).pages
        for page in pages:
            words = page.extract_text().replace("\t", " ").split("\n")[:-1]  # without the foot
            if "Heading" in words:
                assert words.index("Heading") < len(words) - 2, lines
            findings = sum(word.startswith("A race") for word in words)
            assert findings == len(page.images), lines


def test_a_finding_does_not_stick_to_the_caption_above(qapp):
    text = QTextDocument()
    text.setDefaultStyleSheet(REPORT_STYLE)
    text.setHtml(FOLLOWING["findings"])
    titles = [b for b in map(text.findBlockByNumber, range(9)) if b.text().startswith("A race")]
    assert all(title.blockFormat().topMargin() >= 10 for title in titles)
    assert len(titles) == 2


def test_findings_without_pictures_fill_pages(qapp):
    finding = "<div class='fault'><b>A race</b><br>Two write.<br>29: c = 1;<div></div></div>"
    html = f"<h2>Findings</h2>{finding * 50}<p>end</p>"
    pages = PdfReader(io.BytesIO(report_pdf(html, "Report"))).pages
    texts = [page.extract_text().replace("\t", " ") for page in pages]
    found = [text.count("A race") for text in texts]
    assert found == [text.count("29: c = 1;") for text in texts]
    assert sum(found) == 50
    assert min(found[:-1]) > 10
