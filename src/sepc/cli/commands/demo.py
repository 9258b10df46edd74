"""``sepc demo``: the main job on data that ship with scikit-learn."""

from argparse import Namespace

from sepc import demo


def run(options: Namespace) -> None:
    """Run the demo; its report goes to a folder."""
    demo.main(options.out)
