"""Points that are not in one memory: in files, on devices, on the machines of a cluster."""
