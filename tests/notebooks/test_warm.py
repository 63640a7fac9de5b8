"""A kernel that starts warm is a kernel like any other: its own memory, folder, environment, signals and end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client import BlockingKernelClient, KernelManager

from tools import notebooks
from tools.warm import ADDRESS, LIBRARIES, warm

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="kernels start warm on Linux only"),
    pytest.mark.slow,  # make test runs every notebook on such a kernel
]


@pytest.fixture(scope="module", autouse=True)
def block() -> Iterator[None]:
    with warm():
        yield


class Kernel:
    """A kernel and a client of it."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(cwd=str(folder), env=os.environ | environment)
        self.client: BlockingKernelClient = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def run(self, source: str) -> str:
        """What a cell prints, or the name of its error."""
        out: list[str] = []

        def hear(message: dict) -> None:
            content = message["content"]
            out.append(
                content.get("text") or content.get("ename") or str(list(content.get("data", "")))
            )

        self.client.execute_interactive(source, timeout=60, output_hook=hear)
        return "".join(text for text in out if text != "[]").strip()

    def end(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    made = Kernel(tmp_path, COLOUR="blue")
    yield made
    made.end()


def is_alive(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


def test_libraries_are_there_and_the_package_is_not(kernel: Kernel) -> None:
    loaded = kernel.run("import sys; print(*[name.split('.')[0] for name in sys.modules])").split()
    assert {name.split(".")[0] for name in LIBRARIES} <= set(loaded)
    assert not {"companion", "tools"} & set(loaded)


def test_folder_environment_and_path_are_those_asked_for(kernel: Kernel, tmp_path: Path) -> None:
    assert kernel.run("import os; print(os.getcwd())") == str(tmp_path)
    assert kernel.run("print(os.environ['COLOUR'])") == "blue"
    (tmp_path / "beside.py").write_text("value = 42\n")
    assert kernel.run("import beside; print(beside.value)") == "42"
    assert (
        kernel.run("import sys; print(any('tools' in p for p in sys.path), len(sys.argv) > 1)")
        == "False True"
    )


def test_kernels_share_nothing(kernel: Kernel, tmp_path: Path) -> None:
    other = Kernel(tmp_path)
    try:
        assert kernel.run("import numpy; numpy.mine = 1; print(numpy.mine)") == "1"
        assert other.run("import numpy; print(hasattr(numpy, 'mine'))") == "False"
        assert kernel.run("import os; print(os.getpid())") != other.run(
            "import os; print(os.getpid())"
        )
        uuids = [k.run("import uuid; print(uuid.uuid4())") for k in (kernel, other)]
        assert uuids[0] != uuids[1]
    finally:
        other.end()


def test_a_figure_at_the_end_of_a_cell_is_shown(kernel: Kernel) -> None:
    assert "image/png" in kernel.run("import matplotlib.pyplot as plt\n_ = plt.plot([1, 2])")


def test_an_interrupt_reaches_the_cell(kernel: Kernel) -> None:
    client = kernel.client
    client.execute("import time; print('asleep', flush=True); time.sleep(60)")
    while client.get_iopub_msg(timeout=20)["header"]["msg_type"] != "stream":
        pass  # before it the interrupt would meet the kernel, not the cell
    kernel.manager.interrupt_kernel()
    start = time.monotonic()
    while (message := client.get_iopub_msg(timeout=20))["header"]["msg_type"] != "error":
        pass
    assert message["content"]["ename"] == "KeyboardInterrupt"
    assert time.monotonic() - start < 20


def test_a_kernel_ends_with_the_process_that_asked_for_it(tmp_path: Path) -> None:
    made = Kernel(tmp_path)
    process = int(made.run("import os; print(os.getpid())"))
    assert is_alive(process)
    made.end()
    deadline = time.monotonic() + 20
    while is_alive(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(process)


def test_a_kernel_that_dies_is_noticed(kernel: Kernel) -> None:
    kernel.client.execute("import os; os._exit(3)")
    deadline = time.monotonic() + 20
    while kernel.manager.is_alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not kernel.manager.is_alive()


def test_an_empty_address_means_a_kernel_as_always(tmp_path: Path) -> None:
    made = Kernel(tmp_path, **{ADDRESS: ""})
    try:
        assert made.run("import sys; print('numpy' in sys.modules)") == "False"
        assert made.run("print(6 * 7)") == "42"
    finally:
        made.end()


def test_the_block_leaves_nothing_behind() -> None:
    code = (
        "import os; from tools.warm import ADDRESS, warm\n"
        "with warm():\n    address = os.environ[ADDRESS]; assert os.path.exists(address)\n"
        "assert ADDRESS not in os.environ and not os.path.exists(address)"
    )
    environment = {k: v for k, v in os.environ.items() if k != ADDRESS}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, cwd=notebooks.ROOT)
