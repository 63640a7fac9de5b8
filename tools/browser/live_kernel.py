# ruff: noqa: D101, D102, E402
"""Runs in the browser, in a worker beside the page: IPython's shell, whose outputs are sent to the page as JSON."""

import gc
import io
import json
import logging
import os
import random
import re
import sys
import time
import types
from base64 import b64encode
from collections.abc import Callable
from typing import Any

gc.set_threshold(100_000, 20, 20)
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"

# IPython's history wants a database, which is not there and of no use here.
sys.modules["sqlite3"] = database = types.SimpleNamespace()  # type: ignore[assignment]
database.DatabaseError = database.OperationalError = database.IntegrityError = RuntimeError
database.Connection = object
database.register_converter = lambda name, convert: None
# Nor are there a terminal, a network, a log: what the shell imports for them takes a tenth of the start.
UNUSED = ("IPython.terminal.embed", "urllib.request", "logging.config")
nothing: Any = types.SimpleNamespace(embed=None, Request=None, urlopen=None, dictConfig=None)
sys.modules |= dict.fromkeys(UNUSED, nothing)

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

VIEW = "application/vnd.jupyter.widget-view+json"
MOST = 200_000  # characters that one cell may print: more would keep the page from answering
post: Callable[[str], None] = print


def send(kind: str, **told: Any) -> None:
    if kind != "stream":
        flush()
    post(json.dumps({"output_type": kind, **told}))


def flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def bundle(data: dict[str, Any], metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Return an output as notebooks store it; a widget brings its state and those of its parts."""
    coded = {k: b64encode(v).decode() if isinstance(v, bytes) else v for k, v in data.items()}
    told = {"data": coded, "metadata": metadata or {}}
    if VIEW in data:
        from ipywidgets import Widget

        state, waiting = Widget.get_manager_state()["state"], [data[VIEW]["model_id"]]
        told["widgets"] = {}
        while waiting:
            if (name := waiting.pop()) in state and name not in told["widgets"]:
                told["widgets"][name] = state[name]
                waiting += re.findall(r"IPY_MODEL_(\w+)", json.dumps(state[name]["state"]))
    return told


class Stream(io.TextIOBase):
    """Where a cell prints: what it says within a twentieth of a second goes to the page at once."""

    def __init__(self, name: str) -> None:
        self.name, self.waiting, self.sent, self.last = name, "", 0, 0.0

    def write(self, text: str) -> int:
        if self.sent < MOST:
            self.waiting += text
            if time.monotonic() - self.last > 0.05:
                self.flush()
        return len(text)

    def flush(self) -> None:
        self.last = time.monotonic()
        if self.waiting:
            self.sent += len(self.waiting)
            more = "\n... and more, which is not shown\n" * (self.sent >= MOST)
            text, self.waiting = self.waiting + more, ""
            send("stream", name=self.name, text=text)


class Publisher(DisplayPublisher):
    def publish(self, data: Any, metadata: Any = None, **rest: Any) -> None:
        send("display_data", **bundle(data, metadata))

    def clear_output(self, wait: bool = False) -> None:
        send("clear")


class Hook(DisplayHook):
    write_output_prompt = finish_displayhook = lambda self: None

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        if format_dict:
            send("execute_result", **bundle(format_dict, md_dict))


class Shell(InteractiveShell):
    displayhook_class, display_pub_class = Hook, Publisher
    enable_gui = lambda self, gui=None: None  # noqa: E731

    def _get_exc_info(self, exc_tuple: Any = None) -> Any:
        """Let a traceback end at the reader's line."""
        kind, error, trace = super()._get_exc_info(exc_tuple)
        last, entry = None, trace
        while entry is not None:
            name = entry.tb_frame.f_code.co_filename
            last = entry if name.startswith("/tmp/ipykernel") or "<ipython-input" in name else last
            entry = entry.tb_next
        if last is not None:
            error.__suppress_context__ |= last.tb_next is not None
            last.tb_next = None
        return kind, error, trace

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        name = getattr(etype, "__name__", str(etype))
        send("error", ename=name, evalue=str(evalue), traceback=stb)


# The shell is there when this module is, so that the memory which a page keeps has it.
settings = Config({"HistoryManager": {"enabled": False}})
main = sys.modules["__main__"] = types.ModuleType("__main__")
Shell.instance(config=settings, user_module=main, colors="NoColor")
for name in UNUSED:
    del sys.modules[name]  # a page may import the real one
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # no word on its cache
gc.freeze()


def start(to_page: Callable[[str], None]) -> None:
    """Send what the shell says to a page, from now on."""
    global post
    post = to_page
    random.seed()


def run(code: str) -> bool:
    """Run a cell; return whether it ended without an error."""
    sys.stdout, sys.stderr = Stream("stdout"), Stream("stderr")
    done = Shell.instance().run_cell(code, store_history=True).success
    flush()
    return bool(done)


def check(definition: str, answer: str, name: str, names: str) -> str:
    """Run the cell of a check, the reader's answer, and the check of it; the page's own variables stay as they are."""
    space = Shell.instance().user_ns
    kept = dict(space)
    for each in json.loads(names):
        space.pop(each, None)
    try:
        if not run(definition.rstrip().removesuffix(name)) or not run(answer):
            return json.dumps({"ok": False})
        said = space[name](*(space.get(each) for each in json.loads(names)))
        return json.dumps({"ok": True, "right": bool(said), "text": said.text})
    finally:
        space.clear()
        space.update(kept)
