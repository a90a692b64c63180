import io

import pytest

from core.side_process.connection import CALL, DONE, ConnectionLost, read_frame, write_frame


def test_frames_come_back_in_order():
    stream = io.BytesIO()
    big = bytes(range(256)) * 5000
    for kind, payload in ((CALL, b"one"), (DONE, b""), (CALL, big)):
        write_frame(stream, kind, payload)
    stream.seek(0)
    assert read_frame(stream) == (CALL, b"one")
    assert read_frame(stream) == (DONE, b"")
    assert read_frame(stream) == (CALL, big)
    with pytest.raises(ConnectionLost):
        read_frame(stream)


def test_a_frame_cut_short_is_a_lost_connection():
    whole = io.BytesIO()
    write_frame(whole, CALL, b"0123456789")
    for length in range(len(whole.getvalue())):
        with pytest.raises(ConnectionLost):
            read_frame(io.BytesIO(whole.getvalue()[:length]))


def test_anything_else_is_no_frame():
    with pytest.raises(ConnectionLost):
        read_frame(io.BytesIO(b"hello from a process that is not the worker"))


def test_writing_to_a_closed_stream_is_a_lost_connection():
    stream = io.BytesIO()
    stream.close()
    with pytest.raises(ConnectionLost):
        write_frame(stream, CALL, b"x")
