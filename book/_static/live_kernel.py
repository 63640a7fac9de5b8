# ruff: noqa: D101, D102, E402
"""Runs in the browser, in a worker beside the page: IPython's shell, whose outputs are sent to the page as JSON."""

import gc
import gzip
import io
import json
import logging
import re
import sys
import time
import types
from base64 import b64encode
from importlib import import_module, util
from pathlib import Path
from typing import Any

# The first cell imports: to look for garbage there takes a fifth of the time.
gc.set_threshold(10_000_000)

# The shell imports a database for its history and a terminal, which are not there.
nothing: Any = types.SimpleNamespace(Connection=object, embed=None)
sys.modules |= {"sqlite3": nothing, "IPython.terminal.embed": nothing}

from pyodide.ffi import to_js
from IPython.core.interactiveshell import DisplayHook, DisplayPublisher, InteractiveShell
from traitlets.config import Config

# Loaded when something of them is used: others import them for one function, or for none.
LATE = r"numpy\.f2py|scipy\.(?!_|linalg|sparse)\w+|scipy\.sparse\.csgraph|sklearn\.(datasets|decomposition|linear_model)"
MOST = 200_000  # characters that one cell may print: more would keep the page from answering
page: Any = types.SimpleNamespace(places={})


def send(kind: str, **told: Any) -> None:
    for stream in (sys.stdout, sys.stderr) if kind != "stream" else ():
        stream.flush()
    page.post(json.dumps({"output_type": kind, **told}))


def bundle(data: dict[str, Any], metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Return an output as notebooks store it; a widget brings its state and those of its parts."""
    coded = {k: b64encode(v).decode() if isinstance(v, bytes) else v for k, v in data.items()}
    told = {"data": coded, "metadata": metadata or {}}
    if view := data.get("application/vnd.jupyter.widget-view+json"):
        from ipywidgets import Widget

        state, waiting = Widget.get_manager_state()["state"], [view["model_id"]]
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
        self.waiting += text * (self.sent < MOST)
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
    clear_output = lambda self, wait=False: send("clear")  # noqa: E731

    def publish(self, data: Any, metadata: Any = None, **rest: Any) -> None:
        send("display_data", **bundle(data, metadata))


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
            last = entry if "<ipython-input" in entry.tb_frame.f_code.co_filename else last
            entry = entry.tb_next
        if last is not None:
            error.__suppress_context__ |= last.tb_next is not None
            last.tb_next = None
        return kind, error, trace

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        send("error", ename=etype.__name__, evalue=str(evalue), traceback=stb)


# The shell is there when this module is, so that the memory which a page keeps has it, and what many pages import: a
# later page begins from that memory. It can hold no library in C.
main = sys.modules["__main__"] = types.ModuleType("__main__")
Shell.instance(config=Config(HistoryManager={"enabled": False}), user_module=main, colors="NoColor")
logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)  # no word on its cache
SOON = "anywidget csv ctypes cycler dateutil.rrule ipywidgets packaging.version pickle PIL.ExifTags pyparsing secrets sympy unittest"
EARLY = [import_module(name) for name in SOON.split() if util.find_spec(name.split(".")[0])]


class Late(types.ModuleType):
    """A module that runs when something is asked of it which it has not: not when one below it is imported."""

    __path__ = __file__ = __cached__ = None  # type: ignore[assignment]  # importing sets them

    def __getattr__(self, name: str) -> Any:
        if (below := f"{self.__name__}.{name}") in page.places:
            return import_module(below)
        self.__class__ = types.ModuleType  # type: ignore[assignment]
        self.__loader__.late(self)  # type: ignore[union-attr]
        return getattr(self, name)


def find(name: str, *rest: Any) -> Any:
    """Return where a module is: to ask the file system takes a sixth of the imports' time."""
    spec: Any = name in page.places and util.spec_from_file_location(name, page.places[name])
    if spec and spec.origin.endswith(".so") and (packed := Path(spec.origin).read_bytes()):
        page.library(spec.origin) or page.library(spec.origin, to_js(gzip.decompress(packed)))
        Path(spec.origin).write_bytes(b"")
    if spec and re.fullmatch(LATE, name):
        spec.loader.create_module = lambda spec: Late(spec.name)
        spec.loader.exec_module, spec.loader.late = lambda module: None, spec.loader.exec_module
    return spec or None


def start(to_page: Any, library: Any, places: str) -> None:
    """Send what the shell says to a page, from now on; find modules at these places, libraries in C with a function."""
    page.post, page.library, page.places = to_page, library, json.loads(places)
    import_module("random").seed()
    sys.meta_path.insert(0, types.SimpleNamespace(find_spec=find))


def run(code: str) -> bool:
    """Run a cell; return whether it ended without an error."""
    sys.stdout, sys.stderr = Stream("stdout"), Stream("stderr")
    done = Shell.instance().run_cell(code, store_history=True).success
    gc.set_threshold(100_000, 20, 20)
    sys.stdout.flush()
    sys.stderr.flush()
    return bool(done)


def check(definition: str, answer: str, name: str, names: str) -> str:
    """Run the cell of a check, the reader's answer, and the check of it; the page's own variables stay as they are."""
    space = Shell.instance().user_ns
    kept, asked = dict(space), json.loads(names)
    for each in asked:
        space.pop(each, None)
    ok = run(definition.rstrip().removesuffix(name)) and run(answer)
    said = space[name](*map(space.get, asked)) if ok else None
    space.clear()
    space.update(kept)
    return json.dumps({"ok": ok, "right": bool(said), "text": getattr(said, "text", "")})
