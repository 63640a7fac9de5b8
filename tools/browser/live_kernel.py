# ruff: noqa: D101, D102, E402
"""Runs in the browser, in a worker beside the page: IPython's shell, whose outputs are sent to the page as JSON."""

import gc
import json
import logging
import os
import sys
import types
from base64 import b64encode
from collections.abc import Callable
from typing import Any

os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"

# IPython's history wants a database, which is not there and of no use here.
database: Any = types.ModuleType("sqlite3")
database.DatabaseError = database.OperationalError = database.IntegrityError = RuntimeError
database.Connection = object
database.register_converter = lambda name, convert: None
sys.modules["sqlite3"] = database

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

VIEW = "application/vnd.jupyter.widget-view+json"
post: Callable[[str], None] = print


def send(kind: str, **told: Any) -> None:
    post(json.dumps({"output_type": kind, **told}))


def bundle(data: dict[str, Any], metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Return an output as notebooks store it; a widget brings the state of all of them."""
    coded = {k: b64encode(v).decode() if isinstance(v, bytes) else v for k, v in data.items()}
    told = {"data": coded, "metadata": metadata or {}}
    if VIEW in data:
        from ipywidgets import Widget

        told["widgets"] = Widget.get_manager_state()["state"]
    return told


class Stream:
    """Where a cell prints."""

    encoding = "utf-8"

    def __init__(self, name: str) -> None:
        self.name = name

    def write(self, text: str) -> int:
        if text:
            send("stream", name=self.name, text=text)
        return len(text)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


class Publisher(DisplayPublisher):
    def publish(self, data: Any, metadata: Any = None, **rest: Any) -> None:
        send("display_data", **bundle(data, metadata))

    def clear_output(self, wait: bool = False) -> None:
        send("clear")


class Hook(DisplayHook):
    def write_output_prompt(self) -> None:
        pass

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        if format_dict:
            send("execute_result", **bundle(format_dict, md_dict))

    def finish_displayhook(self) -> None:
        pass


class Shell(InteractiveShell):
    displayhook_class = Hook
    display_pub_class = Publisher

    def _get_exc_info(self, exc_tuple: Any = None) -> Any:
        """Let a traceback end at the reader's line."""
        kind, error, trace = super()._get_exc_info(exc_tuple)
        last, entry = None, trace
        while entry is not None:
            name = entry.tb_frame.f_code.co_filename
            last = entry if name.startswith("/tmp/ipykernel") or "<ipython-input" in name else last
            entry = entry.tb_next
        if last is not None:
            last.tb_next = None
        return kind, error, trace

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        send(
            "error", ename=getattr(etype, "__name__", str(etype)), evalue=str(evalue), traceback=stb
        )

    def enable_gui(self, gui: Any = None) -> None:
        pass


def start(to_page: Callable[[str], None]) -> None:
    """Make the shell; what it says goes to the page."""
    global post
    post = to_page
    settings = Config()
    settings.HistoryManager.enabled = False
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    Shell.instance(config=settings, user_module=main, colors="NoColor")
    sys.stdout, sys.stderr = Stream("stdout"), Stream("stderr")
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # no word on its cache
    gc.set_threshold(100_000, 20, 20)
    gc.freeze()


def run(code: str) -> bool:
    """Run a cell; return whether it ended without an error."""
    return bool(Shell.instance().run_cell(code, store_history=True).success)
