"""Files are written whole or not at all."""

import os
import stat

import pytest

from sepc.common.atomic_files import written_whole


def test_an_error_leaves_what_was_there_and_nothing_else(tmp_path):
    path = tmp_path / "model"
    path.write_text("before")
    writing = written_whole(path)
    writing.__enter__().write(b"half")
    assert writing.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None) is not True
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["model"]


def test_nothing_is_to_be_seen_until_all_is_written(tmp_path):
    path = tmp_path / "model"
    with written_whole(path) as file:
        file.write(b"all")
        assert not path.exists()
    assert path.read_bytes() == b"all"
    assert os.listdir(tmp_path) == ["model"]


def test_links_and_permissions_stay(tmp_path):
    path, link = tmp_path / "model", tmp_path / "link"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    with written_whole(link) as file:
        file.write(b"after")
    assert link.is_symlink()
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_to_a_pipe_is_written_to():
    read, write = os.pipe()
    with open(read, "rb") as pipe:
        with written_whole(f"/dev/fd/{write}") as file:
            file.write(b"all")
        os.close(write)
        assert pipe.read() == b"all"


def test_a_name_may_be_as_long_as_names_can_be(tmp_path):
    path = tmp_path / ("n" * 255)
    with written_whole(path) as file:
        file.write(b"all")
    assert path.read_bytes() == b"all"


def test_an_error_names_the_file_that_was_meant(tmp_path):
    path = tmp_path / "nowhere" / "model"
    with pytest.raises(FileNotFoundError) as caught, written_whole(path):
        pass
    assert caught.value.filename == str(path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device here that is always full")
def test_a_full_disk_is_an_error():
    with pytest.raises(OSError, match="No space left"), written_whole("/dev/full") as file:
        file.write(b"x" * 100_000)
