"""A fork server without vLLM; its children misbehave as `fake_child.py` does.

Usage: fake_forking.py BEHAVIOUR, then the arguments that `ForkServer` appends.
"""

from __future__ import annotations

import argparse
import os
import socket
from functools import partial

from fake_child import serve

from draftgate.engine.forking import Forking
from draftgate.engine.lifeline import die_with_parent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("behaviour")
    parser.add_argument("--socket-fd", type=int)
    parser.add_argument("--parent-pid", type=int)
    arguments = parser.parse_args()
    die_with_parent(arguments.parent_pid)
    if arguments.behaviour == "no-server":
        os._exit(1)
    Forking(socket.socket(fileno=arguments.socket_fd), partial(serve, arguments.behaviour)).serve()


if __name__ == "__main__":
    main()
