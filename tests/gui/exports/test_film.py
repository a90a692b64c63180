"""Films: as many pictures as steps, each of its step, and nothing half written."""

import importlib
from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QImage

from core.cancelling import cancelled_by
from core.errors import Cancelled, TilescopeError
from gui.exports import film
from gui.exports.export_command import opened
from gui.exports.film import Frame
from gui.looks.theme import apply_theme, theme_names
from gui.scenes.session import Session
from tests.core.test_atomic_files import little_room

SIZE = (640, 360)
NAMES = ("Matrices", "Memory", "Source")
STEPS = range(7, 19)


@pytest.fixture(scope="module")
def session(qapp, ladder):
    apply_theme(qapp, "light")
    return opened("tiled?n=6&tile=2", ladder, theme_names(), lambda _: None)


def twin(shown):
    """A session of its own that shows what another does, at the same place."""
    session = Session()
    session.origin, session.trace = shown.origin, shown.trace
    session.update(block=shown.block)
    session.update(thread=shown.thread, step=shown.step, line=shown.line, element=shown.element)
    return session


def write(session, out, **changed):
    given = {"names": NAMES, "title": "Tiled", "size": SIZE, "speed": 4.0, "captions": True}
    film.write_film(twin(session), STEPS, out, **{**given, **changed})


def pixels(image):
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    return np.array(image.constBits(), np.uint8).reshape(image.height(), -1, 4)[..., :3]


def test_a_picture_a_step(session, tmp_path):
    out = tmp_path / "new" / "frames"
    write(session, out)
    names = sorted(path.name for path in out.iterdir())
    assert names == [f"tiled-step-{step:04d}.png" for step in STEPS]
    found = [pixels(QImage(str(out / name))) for name in names]
    assert {image.shape for image in found} == {(360, 640, 3)}
    assert all((a != b).any() for a, b in pairwise(found))
    frame = Frame(twin(session), NAMES, "Tiled")
    again = pixels(frame.image(STEPS[5], QSize(*SIZE)))  # it does not matter what came before
    frame.shut_down()
    assert (again != found[5]).mean() < 0.002


def test_without_captions_there_are_no_sentences(session):
    frames = [Frame(twin(session), NAMES, "Tiled", captions=on) for on in (True, False)]
    with_them, without = (pixels(frame.image(9, QSize(*SIZE))) for frame in frames)
    assert frames[0].event_.isVisible()
    assert not frames[1].event_.isVisible()
    assert (with_them != without).mean() > 0.005
    for frame in frames:
        frame.shut_down()


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".gif", ".webp"])
def test_pillow_reads_as_many_pictures_again(session, tmp_path, suffix):
    pillow = pytest.importorskip("PIL.Image")
    out = tmp_path / f"x{suffix}"
    write(session, out)
    with pillow.open(out) as image:
        assert image.n_frames == len(STEPS)
        assert image.size == SIZE
        image.load()
        assert image.info["duration"] == 250
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # ffmpeg's pipes
def test_a_film_lasts_as_long_as_its_steps(session, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    out = tmp_path / "x.mp4"
    write(session, out)
    count, seconds = ffmpeg.count_frames_and_secs(str(out))
    assert not (abs(seconds - len(STEPS) / 4.0) > 0.3)
    assert count == pytest.approx(seconds * film.RATE, abs=2)
    reader = ffmpeg.read_frames(str(out))
    assert next(reader)["size"] == SIZE
    last = np.frombuffer(list(reader)[-1], np.uint8).reshape(360, 640, 3)
    frame = Frame(twin(session), NAMES, "Tiled")
    drawn = pixels(frame.image(STEPS[-1], QSize(*SIZE)))[..., ::-1]
    frame.shut_down()
    assert np.abs(last.astype(int) - drawn).mean() < 4  # of 255


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_film_that_is_given_up_leaves_what_was_there(session, tmp_path, suffix):
    pytest.importorskip("PIL.Image" if suffix == ".gif" else "imageio_ffmpeg")
    out = tmp_path / f"x{suffix}"
    out.write_bytes(b"before")
    seen = []
    with pytest.raises(Cancelled), cancelled_by(lambda: len(seen) > 3):
        write(session, out, said=seen.append)
    assert out.read_bytes() == b"before"
    assert [path.name for path in tmp_path.iterdir()] == [out.name]
    assert seen == sorted(seen)
    assert 0 < seen[-1] < 1


@pytest.mark.parametrize("suffix", [".mp4", ".gif", ""])
def test_a_full_disk_is_a_sentence_and_no_film_is_cut_off(session, tmp_path, suffix):
    pytest.importorskip("PIL.Image" if suffix == ".gif" else "imageio_ffmpeg")
    with little_room(2000), pytest.raises(TilescopeError, match="could not be written"):
        write(session, tmp_path / f"x{suffix}")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(("suffix", "package"), [(".mp4", "imageio-ffmpeg"), (".webp", "pillow")])
def test_a_missing_package_is_named(session, tmp_path, monkeypatch, suffix, package):
    real = importlib.import_module

    def refuse(name, *rest):
        if name in ("imageio_ffmpeg", "PIL.Image"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(film.importlib, "import_module", refuse)
    with pytest.raises(TilescopeError, match=rf'{package}.*"tilescope\[film\]"'):
        write(session, tmp_path / f"x{suffix}")
    assert list(tmp_path.iterdir()) == []
