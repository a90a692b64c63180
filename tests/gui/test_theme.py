"""Themes: every one complete, legible, and with colours that can be told apart."""

import numpy as np
import pytest

from gui.colours import contrast, from_oklab, mix, parse, to_oklab
from gui.theme import apply_theme, current_theme, load_theme, theme_names

TEXT = ("text", "text_dim", "accent")
WRITTEN = ("load", "store", "conflict", "ideal", "warning", "error")


@pytest.fixture(params=theme_names())
def theme(request):
    return load_theme(request.param)


def test_there_are_three():
    assert theme_names()[:2] == ("light", "dark")
    assert "projector" in theme_names()
    with pytest.raises(KeyError, match="light"):
        load_theme("sepia")


def test_words_are_legible(theme):
    panel = theme.surfaces.panel
    assert min(contrast(getattr(theme.surfaces, name), panel) for name in TEXT) >= 4.5
    assert contrast(theme.surfaces.text_faint, panel) >= 4.3
    assert min(contrast(getattr(theme.meanings, name), panel) for name in WRITTEN) >= 4.0


def test_categories_differ_for_colour_blind_readers(theme):
    """Neighbouring owners differ in lightness or along the axis that dichromats keep."""
    lut = theme.owner_lut("block", len(theme.categories))[:, :3].astype(float)
    lab = to_oklab(lut)
    kept = lab[:, [0, 2]]  # lightness and blue-yellow: red-green is what protans and deutans lose
    gap = np.linalg.norm(np.diff(kept, axis=0), axis=1)
    assert gap.min() > 0.03


def test_a_warp_is_told_from_the_next_and_runs_paler(theme):
    lut = to_oklab(theme.owner_lut("thread", 256)[:, :3].astype(float))
    panel = to_oklab(theme.surfaces.panel)
    away = np.linalg.norm(lut - panel, axis=1)
    assert (np.diff(away[:32]) < 1e-3).all()
    assert away[0] > away[31]
    assert np.linalg.norm(lut[0] - lut[32]) > 0.05


def test_few_threads_have_colours_of_their_own(theme):
    lut = theme.owner_lut("thread", 4)
    assert len({tuple(row) for row in lut.tolist()}) == 4


def test_heat_is_even_in_lightness(theme):
    light = to_oklab(theme.heat_lut[:, :3].astype(float))[:, 0]
    steps = np.diff(light)
    assert (np.sign(steps[np.abs(steps) > 1e-3]) == np.sign(light[-1] - light[0])).all()
    assert np.abs(light - np.linspace(light[0], light[-1], 256)).max() < 0.02


def test_oklab_there_and_back():
    colors = np.random.default_rng(3).integers(0, 256, (50, 3)).astype(float)
    assert np.abs(from_oklab(to_oklab(colors)).astype(float) - colors).max() <= 1
    assert mix("#123456", "#abcdef", 0.0).tolist() == parse("#123456").tolist()


def test_applying_a_theme(qapp):
    try:
        apply_theme(qapp, "dark")
        assert current_theme().name == "dark"
        assert qapp.palette().window().color().name() == current_theme().surfaces.window
        assert qapp.font().family() == "Inter"
    finally:
        apply_theme(qapp, "light")
