"""Archives give back what was put in, and refuse what was altered; tests/persist has the models themselves."""

import numpy as np
import pytest
from coded import raises
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sepc import InputError
from sepc.common.archive import Format

NOTES = Format("notes", 2, "a notebook", "Write it again.", InputError)
DTYPES = st.sampled_from(["bool", "int8", "int64", "uint32", "float32", "float64", "<U5", ">f8"])
SHAPES = hnp.array_shapes(max_dims=3, min_side=0, max_side=4)
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from("abcdef"), ARRAYS))
def test_arrays_come_back_as_they_were(tmp_path_factory, arrays):
    path = tmp_path_factory.mktemp("archive") / "a"
    NOTES.write(path, {"n": 3, "text": "é"}, arrays)
    header, found = NOTES.read(path)
    assert header == {"n": 3, "text": "é"}
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_large_arrays_have_an_entry_of_their_own_and_keep_their_order(tmp_path):
    large = np.asfortranarray(np.arange(20_000.0).reshape(100, 200))
    NOTES.write(tmp_path / "a", {}, {"large": large, "small": np.arange(3)})
    _, found = NOTES.read(tmp_path / "a")
    np.testing.assert_array_equal(found["large"], large)
    assert found["large"].flags.f_contiguous


def test_the_same_content_gives_the_same_bytes(tmp_path):
    for name in "ab":
        NOTES.write(tmp_path / name, {"n": 1}, {"x": np.arange(5)})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("array", [np.array([object()]), np.zeros((9, 9, 9, 9)), np.array(["2024"], dtype="M8[D]")])
def test_other_arrays_are_not_written(tmp_path, array):
    with pytest.raises(ValueError, match="dtype"):
        NOTES.write(tmp_path / "a", {}, {"x": array})
    assert not (tmp_path / "a").exists()


def test_every_altered_byte_of_the_content_is_noticed(tmp_path):
    path = tmp_path / "a"
    NOTES.write(path, {"n": 1}, {"x": np.arange(5)})
    whole = path.read_bytes()
    start = whole.index(b"\x93NUMPY")
    for place in range(start, start + 128 + 5 * 8):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with raises("file-damaged", writer="a notebook"):
            NOTES.read(path)


def test_another_format_and_another_version_are_named(tmp_path):
    NOTES.write(tmp_path / "a", {}, {})
    with raises("file-version", name="notes", version=2, expected="letters", expected_version=1):
        Format("letters", 1, "a poet", "", InputError).read(tmp_path / "a")
    with raises("file-version", name="notes", version=2, expected="notes", expected_version=1):
        Format("notes", 1, "a notebook", "", InputError).read(tmp_path / "a")
    with raises("file-version", name="notes", version=2, expected="notes", expected_version=3):
        Format("notes", 3, "a notebook", "", InputError).read(tmp_path / "a")
