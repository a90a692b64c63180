"""Themes: every one complete, legible, and with colours that can be told apart."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from gui.looks.theme import (
    apply_theme,
    current_theme,
    from_oklab,
    load_theme,
    mix,
    parse,
    theme_names,
    to_oklab,
)

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


def contrast(first: str, second: str) -> float:
    """WCAG 2 contrast ratio of two colours, 1..21."""

    def luminance(text: str) -> float:
        rgb = parse(text) / 255.0
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return float(linear @ np.array([0.2126, 0.7152, 0.0722]))

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_words_are_legible(theme):
    panel = theme.surfaces.panel
    assert min(contrast(getattr(theme.surfaces, name), panel) for name in TEXT) >= 4.5
    assert contrast(theme.surfaces.text_faint, panel) >= 4.5
    assert min(contrast(getattr(theme.meanings, name), panel) for name in WRITTEN) >= 4.5


# Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision
# deficiency", 2009: complete deficiencies, for linear sRGB.
DEFICIENCIES = {
    "none": np.eye(3),
    "protanopia": np.array([[0.152286, 1.052583, -0.204868],
                            [0.114503, 0.786281, 0.099216],
                            [-0.003882, -0.048116, 1.051998]]),
    "deuteranopia": np.array([[0.367322, 0.860646, -0.227968],
                              [0.280085, 0.672501, 0.047413],
                              [-0.011820, 0.042940, 0.968881]]),
    "tritanopia": np.array([[1.255528, -0.076749, -0.178779],
                            [-0.078411, 0.930809, 0.147602],
                            [0.004733, 0.691367, 0.303900]]),
}  # fmt: skip


def seen(color, deficiency):
    """An sRGB colour (0..255) as a reader with a deficiency sees it, in OKLab."""
    rgb = np.asarray(color, float) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ DEFICIENCIES[deficiency].T, 0, 1)
    back = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return to_oklab(back * 255)


def least_distance(first, second):
    return min(np.linalg.norm(seen(first, d) - seen(second, d)) for d in DEFICIENCIES)


# What stands side by side and is told apart by colour; 0.02 can just be seen in OKLab.
TOGETHER = [
    ("load", "store", "conflict"),  # banks and cells
    ("load", "store", "barrier"),  # the scrub bar
    ("ideal", "conflict"),  # the margin's totals
    ("used", "waste"),  # the bar of bytes fetched
    ("selected", "hover"),
    ("hover", "load"),
    ("hover", "store"),
    ("selected", "load"),
    ("guard", "panel"),
    ("error", "load"),
]


@pytest.mark.parametrize("together", TOGETHER, ids="-".join)
def test_meanings_differ_for_colour_blind_readers(theme, together):
    colors = [parse(theme.color(name).name()) for name in together]
    for first, second in combinations(colors, 2):
        assert least_distance(first, second) > 0.09


def test_categories_differ_for_colour_blind_readers(theme):
    """Each owner from the next, and from the panel that it is drawn on."""
    for kind in ("block", "warp"):
        lut = theme.owner_lut(kind, len(theme.categories))[:, :3]
        assert min(least_distance(a, b) for a, b in pairwise([*lut, lut[0]])) > 0.04
        panel = parse(theme.surfaces.panel)
        assert min(least_distance(color, panel) for color in lut) > 0.045


def test_heat_is_told_apart_by_everybody(theme):
    levels = theme.heat_lut[:: 255 // 5, :3]
    assert min(least_distance(a, b) for a, b in pairwise(levels)) > 0.05


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
