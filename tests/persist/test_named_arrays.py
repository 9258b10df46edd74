"""Arrays of a file: content that breaks a rule is refused, or does no harm."""

import pandas as pd
import pytest
from damage import spoilt_arrays, spoilt_headers
from saved_models import asked_of, fixture_path

import sepc
from sepc import ModelFileError
from sepc.persist.model_files import FORMAT


def under_its_names(X, clf):
    return pd.DataFrame(X, columns=clf.feature_names_in_) if hasattr(clf, "feature_names_in_") else X


class TestRefused:
    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of what is far too large
    @pytest.mark.parametrize(
        "name", ["v1-binary-counts", "v1-binary-paper-without-rows", "v1-three-local", "v1-ensemble"]
    )
    def test_content_that_breaks_a_rule_is_refused_or_does_no_harm(self, tmp_path, name):
        """With digests that fit, as someone would who means it."""
        header, arrays = FORMAT.read(fixture_path(name))
        probes = asked_of(name)
        path = tmp_path / "model.sepc"
        some = list(arrays)[:: 1 + len(arrays) // 12]
        headers = list(spoilt_headers(header))
        contents = [(spoilt, arrays) for spoilt in headers[:: 1 + len(headers) // 60]]
        contents += [(header, {k: v for k, v in arrays.items() if k != key}) for key in some]
        contents += [(header, arrays | {key: spoilt}) for key in some for spoilt in spoilt_arrays(arrays[key])]
        refused = 0
        for spoilt_header, spoilt in contents:
            FORMAT.write(path, spoilt_header, spoilt)
            try:
                found = sepc.load(path)
            except ModelFileError:
                refused += 1
            else:
                assert len(found.assess(under_its_names(probes, found)).to_frame()) == len(probes)
        assert refused > 0.6 * len(contents)
