"""One module for each command, with a function ``run(options)``."""
