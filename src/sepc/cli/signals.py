"""The end of a command by a signal: soon, whatever it does, and without half a file."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socket import socket, socketpair
from threading import Thread
from typing import Any, NoReturn

from sepc.cli.console import complain
from sepc.cli.messages import printed
from sepc.common.atomic_files import discard_unfinished

# Seconds for a command to end by itself, before it is ended.
PATIENCE = 1.5
_ENDING = {bytes([signal.SIGINT]), bytes([signal.SIGTERM])}


class Stopped(BaseException):
    """Termination by a signal, which undoes unfinished writes as an interruption does."""

    def __init__(self, signal: int) -> None:
        self.signal = signal


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Raise a `Stopped` on SIGTERM; end the process if it, or an interruption, finds no hearing for a while.

    Python handles a signal between two of its instructions, and one call of a solver may take minutes. The system's
    handler writes the number of the signal into a socket at once; a thread reads it.
    """

    def stop(number: int, frame: Any) -> NoReturn:  # noqa: ARG001
        raise Stopped(number)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread, which alone handles signals
        yield
        return
    reader, writer = socketpair()  # which the systems have in common
    writer.setblocking(False)
    wakes_before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    Thread(target=_end_in_time, args=(reader,), daemon=True).start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakes_before)
        signal.signal(signal.SIGTERM, before)
        writer.close()  # ends the thread


def _end_in_time(reader: socket) -> None:
    """End the process some time after a signal, by its number, comes out of a socket, unless it is closed before."""
    with reader:
        number = b""
        while number not in _ENDING:
            if not (number := reader.recv(1)):
                return
        reader.settimeout(PATIENCE)
        with suppress(TimeoutError):
            while reader.recv(1):  # further signals change nothing
                pass
            return
    discard_unfinished()
    complain(f"sepc: {printed('interrupted' if number[0] == signal.SIGINT else 'stopped')}")
    os._exit(128 + number[0])
