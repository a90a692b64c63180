"""What the start of the window leaves out."""

import linecache
import sys

import PySide6.QtCore  # noqa: F401  its import hook is what is tested

from gui.shell.app import read_no_sources


def test_pyside_reads_no_source_of_what_is_imported_after_it(tmp_path, monkeypatch):
    feature = sys.modules["PySide6.support.feature"]
    monkeypatch.setattr(feature, "_mod_uses_pyside", feature._mod_uses_pyside)
    monkeypatch.syspath_prepend(tmp_path)

    def is_read(name):
        (tmp_path / f"{name}.py").write_text("X = 1\n")
        return __import__(name).__file__ in linecache.cache

    assert is_read("imported_before_tilescope_starts")
    read_no_sources()
    assert not is_read("imported_after_tilescope_starts")
