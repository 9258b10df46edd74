"""A message where a command is about to compile the numerical code."""

from sepc.cli.console import say


def say_if_compiling() -> None:
    """Say that the numerical code is compiled first, and how often, unless its machine code is on disk."""
    from sepc.geometry.compilation import is_kept, is_on_disk
    from sepc.geometry.passes import kernels

    moments = kernels().moments  # every fit needs it
    if not is_on_disk(moments):
        say("compiling" if is_kept(moments) else "compiling-each-time")
