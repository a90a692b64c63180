"""Which GPU each worker of a cluster is given."""

from __future__ import annotations

import pytest

from core.distributed.cluster_workers import worker_options
from core.errors import ParameterError

VISIBLE = "CUDA_VISIBLE_DEVICES"


@pytest.mark.parametrize(
    ("visible", "number", "expected"),
    [(None, 3, "3"), ("5,GPU-7a", 1, "GPU-7a"), ("2", 0, "2"), (" 4 , 6 ", 1, "6")],
)
def test_a_worker_sees_one_gpu(monkeypatch, visible, number, expected) -> None:
    monkeypatch.delenv(VISIBLE, raising=False)
    if visible is not None:
        monkeypatch.setenv(VISIBLE, visible)
    assert worker_options("GPU", number)["env"] == {VISIBLE: expected}


@pytest.mark.parametrize(("visible", "number"), [("0,1", 2), ("", 0)])
def test_a_gpu_that_is_hidden_is_a_sentence(monkeypatch, visible, number) -> None:
    monkeypatch.setenv(VISIBLE, visible)
    with pytest.raises(ParameterError, match=f"There is no GPU {number}"):
        worker_options("GPU", number)
