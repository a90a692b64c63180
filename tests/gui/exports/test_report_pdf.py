"""A report as PDF."""

import pytest

from core.cli.app import main


@pytest.mark.slow
def test_a_pdf_has_pages_with_text(tmp_path, qapp):
    pypdf = pytest.importorskip("pypdf")
    out = tmp_path / "r.pdf"
    arguments = ["report", "broken_fill_barrier", "-o", str(out), "--set", "n=8", "--set", "tile=4"]
    assert main([*arguments, "--device", "none"]) == 0
    pages = pypdf.PdfReader(out).pages
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    assert "2 faults found" in text
    assert "n = 8, tile = 4" in text
    assert "global_ld_sectors" in text
    assert sum(len(page.images) for page in pages) >= 2
