"""``sepc export``: a model as an ONNX graph, for programs without this library."""

import os
from argparse import Namespace

from sepc.cli.console import say, show_json
from sepc.cli.model_inputs import with_policy
from sepc.cli.writing import require_writable
from sepc.persist import load
from sepc.serving import to_onnx


def run(options: Namespace) -> None:
    """Write the graph of a model."""
    require_writable(options.onnx, options.model)
    model = with_policy(load(options.model), options)
    to_onnx(model, options.onnx, min_trust=options.min_trust, outputs=options.outputs or None, dtype=options.dtype)
    size = os.path.getsize(options.onnx)
    say("graph-written", path=options.onnx, size=size / 1e6)
    if options.json:
        show_json({"model": options.model, "onnx": options.onnx, "bytes": size})
