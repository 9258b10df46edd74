"""TablePipeline to arrays and JSON, and back. Tables need pandas, so they are imported only where there are some."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sepc.persist.named_arrays import ArrayReader, ArrayWriter, require
from sepc.persist.savable_kinds import ModelKind, kind_name
from sepc.persist.saved_common import pack_parameters, unpack_parameters
from sepc.persist.saved_parts import Header

if TYPE_CHECKING:
    from sepc.tables import TablePipeline


def pipeline_kind(classifiers: Mapping[str, ModelKind]) -> ModelKind:
    """Return the kind of a pipeline around one of some classifiers."""

    def pack(writer: ArrayWriter, pipeline: "TablePipeline", training_rows: bool) -> Header:
        encoder, clf = (step for _, step in pipeline.steps)
        name = kind_name(clf, classifiers)
        inside = classifiers[name].pack(writer, clf, training_rows)
        return {
            "encoder": encoder.to_dict(),
            "parameters": pack_parameters({k: getattr(pipeline, k) for k in _own_parameters(pipeline)}),
            "classifier": {"kind": name, **inside},
            **{name: inside[name] for name in ("training_rows", "isolated_points")},
        }

    def unpack(reader: ArrayReader, header: Header) -> "TablePipeline":
        from sepc.tables import TableEncoder, make_table_pipeline

        inside = header["classifier"]
        pipeline = make_table_pipeline(classifiers[inside["kind"]].unpack(reader, inside))
        encoder = TableEncoder.from_dict(header["encoder"])
        pipeline.steps[0] = (pipeline.steps[0][0], encoder)
        features: Any = encoder.get_feature_names_out().tolist()
        require(features == inside["features"], "features of the encoder")
        pipeline.set_params(**unpack_parameters(header["parameters"], _own_parameters(pipeline)))
        return pipeline

    return ModelKind("sepc.tables.pipeline", "TablePipeline", pack, unpack)


def _own_parameters(pipeline: "TablePipeline") -> list[str]:
    return sorted(name for name in pipeline.get_params(deep=False) if name != "steps")
