"""Kernels that start warm: copies of one process that has loaded the libraries.

    python tools/warm.py PROGRAM [ARGUMENT ...]    run a program, as a copy of that process if there is one

A notebook's kernel spends two seconds of a processor on loading NumPy, SciPy, scikit-learn and Matplotlib, and there
are over fifty notebooks. Within ``with warm():`` one process loads them, once, and every kernel that Jupyter starts
is forked from it. The kernel takes its arguments, folder, environment and outputs from the process that Jupyter
started, which stays, passes signals on, and takes the kernel with it when it is killed. Nothing of this project is
loaded before the fork: a kernel sees the package as it is.

Outside of ``warm``, on systems where forking is not safe, and with COMPANION_WARM="" kernels start as always.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn

ADDRESS = "COMPANION_WARM"  # the variable that names the socket
# What most notebooks load. None of it starts a thread or looks at the environment, save Matplotlib: its backend is the
# one that a kernel would choose.
LIBRARIES = [
    "ipykernel.ipkernel",
    "numpy",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.special",
    "scipy.stats",
    "sklearn.base",
    "sklearn.datasets",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.svm",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_agg",
    "mpl_toolkits.mplot3d",
    "PIL.Image",
    "ipywidgets",
    "sympy",
]


@contextlib.contextmanager
def warm() -> Iterator[None]:
    """Let kernels that are started within the block start warm."""
    if sys.platform != "linux" or ADDRESS in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        address = os.path.join(folder, "socket")
        command = [sys.executable, __file__, "--serve", address]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            if not server.stdout.readline():
                raise RuntimeError(
                    "the process that loads the libraries for the kernels has failed"
                )
            os.environ[ADDRESS] = address
            try:
                yield
            finally:
                del os.environ[ADDRESS]
                server.kill()


def serve(address: str) -> NoReturn:
    """Load the libraries, then fork a kernel for each process that asks."""
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    for name in LIBRARIES:
        importlib.import_module(name)
    collect_seldom()
    assert threading.active_count() == 1, (
        f"only one thread survives a fork: {threading.enumerate()}"
    )
    signal.signal(
        signal.SIGCHLD, signal.SIG_IGN
    )  # a kernel's end is noticed by the process that asked for it
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(16)
        print("ready", flush=True)
        while True:
            asking, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                become(asking)
            asking.close()


def collect_seldom() -> None:
    """Look for garbage in circles seldom, and never among what is loaded: a tenth of a notebook's time went there."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def become(asking: socket.socket) -> NoReturn:
    """Turn this copy into the program that is asked for."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    head, outputs, _, _ = socket.recv_fds(asking, 8, maxfds=2)
    with asking.makefile("rb") as stream:
        request = json.loads(stream.read(int.from_bytes(head, "big")))
    for number, output in zip((1, 2), outputs):
        os.dup2(output, number)
        os.close(output)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"], JPY_PARENT_PID=str(os.getppid()))
    asking.sendall(os.getpid().to_bytes(8, "big"))
    threading.Thread(target=end_with, args=(asking,), daemon=True).start()
    run(request["arguments"])
    sys.exit()


def end_with(asking: socket.socket) -> None:
    """End this process when the one that asked for it is gone."""
    asking.recv(1)
    os._exit(1)


def run(arguments: Sequence[str]) -> None:
    """Run a program as if it had been called."""
    sys.argv[:] = arguments
    del sys.path[0]  # this file's folder
    runpy.run_path(arguments[0], run_name="__main__")


def ask(address: str, arguments: Sequence[str]) -> None:
    """Have a program run warm, and wait for its end."""
    request = {"arguments": list(arguments), "folder": os.getcwd(), "environment": dict(os.environ)}
    text = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(address)
        socket.send_fds(asking, [len(text).to_bytes(8, "big")], [1, 2])
        asking.sendall(text)
        answer = asking.recv(8)
        if not answer:
            sys.exit("the process that forks the kernels has gone")
        kernel = int.from_bytes(answer, "big")
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(kernel, number))
        asking.recv(1)  # nothing comes: the kernel closes its end


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve(sys.argv[2])
    elif os.environ.get(ADDRESS):
        ask(os.environ[ADDRESS], sys.argv[1:])
    else:
        run(sys.argv[1:])
