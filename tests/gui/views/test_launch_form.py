"""The rows of a launch's form: which there are, and what they hold."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtWidgets import QLineEdit, QWidget

from core.compiler.kernel_parameters import MAP_WORDS, TENSOR_MAP, KernelParameter
from core.user_files.launch_texts import FileLaunch
from gui.views.launch_form import ArrayField, FileForm, LaunchRows

MAP = "tensormap(float16[256,128], box=64x128, swizzle=128B)"
HOPPER = KernelParameter("A", TENSOR_MAP, np.dtype(np.uint64), False, False, count=MAP_WORDS)
NUMBER = KernelParameter("n", "int", np.dtype(np.int32), False, False)
ARRAY = KernelParameter("x", "float *", np.dtype(np.float32), True, False)


@pytest.fixture
def parent(qtbot):
    widget = QWidget()
    qtbot.addWidget(widget)
    return widget


def rows(parent, parameter: KernelParameter, text: str, cluster: str = "") -> LaunchRows:
    launch = FileLaunch("k.cu", "k", arguments=((parameter.name, text),), cluster=cluster)
    return LaunchRows(parent, launch, ["k"], [parameter])


def test_a_cluster_is_asked_for_where_the_kernel_may_have_one(parent):
    assert "cluster" not in rows(parent, NUMBER, "3").fields
    assert rows(parent, NUMBER, "3", cluster="2").texts()["cluster"] == "2"
    assert rows(parent, HOPPER, MAP).texts()["cluster"] == ""


def test_a_tensor_map_is_one_text(parent):
    made = rows(parent, HOPPER, MAP)
    field = made.fields["arg:A"]
    assert isinstance(field, QLineEdit)
    assert field.text() == MAP


def test_a_long_size_shows_its_beginning(parent):
    field = rows(parent, ARRAY, "zeros:float32[1048576,4096]").fields["arg:x"]
    assert isinstance(field, ArrayField)
    assert field.shape.text() == "1048576,4096"
    assert field.shape.cursorPosition() == 0
    field.set_text("zeros:float32[2097152,8192]")
    assert field.shape.cursorPosition() == 0


def test_a_launch_keeps_its_cluster_without_a_row_for_it(qtbot):
    form = FileForm()
    qtbot.addWidget(form)
    form.show_launch(FileLaunch("k.cu", "k", arguments=(("n", "3"),)), ["k"], [NUMBER])
    clustered = FileLaunch("k.cu", "k", arguments=(("n", "3"),), cluster="2,1")
    form.follow(clustered)
    assert form.current() == clustered
