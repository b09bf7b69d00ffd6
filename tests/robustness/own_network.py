"""Run a command in a new network namespace, unreachable from outside: `python -m tests.robustness.own_network COMMAND...`.

Ray listens on all interfaces even if one is specified. A new network namespace only has the loopback interface.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import sys

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_SET_FLAGS, _UP, _RUNNING = 0x8914, 0x1, 0x40


def enter() -> None:
    """Move this process to a new network namespace that only has the loopback interface."""
    kinds = _NEW_NETWORK if os.geteuid() == 0 else _NEW_NETWORK | _NEW_USER
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(kinds):
        raise OSError(ctypes.get_errno(), "cannot create a network namespace; run as root")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP | _RUNNING))


def own_network(*command: str) -> list[str]:
    """Wrap a command so that it runs in a new network namespace."""
    return [sys.executable, "-m", "tests.robustness.own_network", *command]


if __name__ == "__main__":
    enter()
    os.execvp(sys.argv[1], sys.argv[1:])
