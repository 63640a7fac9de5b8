# Everything a reader or an author types. Each target sets up what it needs: a fresh clone with Python >= 3.11 and
# make is enough. A step that is well says one line (tools/step.py); one that is not says all. The environment is .venv, with the exact versions of requirements.lock. uv installs it in
# a fraction of the time that pip takes, and pip takes over where only pip is told how to reach an index.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SITE := build/_build/html
JOBS ?= 2
CORE ?= Prescott
# 0: pages do not run in the browser, and tools/live.py fetches nothing for that
LIVE ?= 1
WINDOWS := $(shell expr $(JOBS) + 1)  # notebooks or pages at once: a kernel and a browser wait now and then for who asks
NODE := $(shell command -v npx >/dev/null && command -v node)
MATHJAX := 3.2.2
# Outlines, not fonts: browsers load no fonts for a page from the disk. The menu weighs as much as all of TeX's syntax.
MATHJAX_FILES := LICENSE $(addprefix es5/,startup.js core.js input/tex.js input/tex/extensions/*.js output/svg.js \
  output/svg/fonts/tex.js a11y/assistive-mml.js)
# What the theme's pages, our style sheets and the buttons for Binder and issues show; browsers load no font from the disk.
ICONS := f002,f00d,f010,f019,f03a,f042,f057,f058,f05a,f062,f064,f06a,f071,f078,f0c9,f0eb,f0f3,f104,f105,f107,f135,f15b,f185,f186,f1c1,f303,f35d
ICON_FILES = $(shell $(BIN)/python -c 'import pydata_sphinx_theme as t; print(t.__path__[0])')/theme/pydata_sphinx_theme/static/vendor/fontawesome/6.5.2
comma := ,
STEP := @$(BIN)/python tools/step.py
MAKEFLAGS += --no-print-directory
LIGHT := -p no:nbval  # loading this plugin takes seconds in each process
NBVAL := -p no:cacheprovider -p tools.notebooks --nbval --nbval-current-env --nbval-kernel-startup-timeout 600 \
  --nbval-sanitize-with tests/notebooks/sanitize.cfg
LOCK := --quiet --universal --python-version 3.11 --fork-strategy fewest --generate-hashes --no-strip-extras --no-annotate \
  --no-header
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export PYDEVD_DISABLE_FILE_VALIDATION := 1
# IPython runs it in each kernel. (A comment behind it would be part of its name.)
export PYTHONSTARTUP := $(CURDIR)/tests/notebooks/startup.py
export PYTHONDONTWRITEBYTECODE :=  # where it is set, as in many containers, each kernel would compile all that it imports

# 0: a site without solutions, for a course
SOLUTIONS ?= 1
export COMPANION_SOLUTIONS := $(SOLUTIONS)

.PHONY: sheet help book pdf zip release test test-all test-processor test-guess test-unit test-notebooks test-package test-site lab lint mystmd bench mutants notebooks lock vendor icons clean

help:            ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 18

# Kernels of this environment say no more than errors: each would warn that others on this machine could listen.
# JupyterLab draws all of a page: a link to a cell that is not drawn yet would lead nowhere.
define ENVIRONMENT
$(PYTHON) -m venv $(VENV)
sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > $(VENV)/uv.txt
$(BIN)/python -m pip install --quiet --require-hashes -r $(VENV)/uv.txt
$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock || \
  $(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
mkdir -p $(VENV)/etc/ipython
echo 'c.IPKernelApp.log_level = "ERROR"' > $(VENV)/etc/ipython/ipython_kernel_config.py
mkdir -p $(VENV)/share/jupyter/lab/settings
echo '{"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}}' > $(VENV)/share/jupyter/lab/settings/overrides.json
endef
export ENVIRONMENT

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python3 ..."; exit 1; }
	@$(PYTHON) tools/step.py "Environment: $(VENV)" sh -ec "$$ENVIRONMENT"
	@touch $(READY)

# The generated pages last: the one on the state of the build tells how long the notebooks ran.
book: $(READY)   ## execute the notebooks, build the site; its last line is the page to open
	$(STEP) "Notebooks for the book" $(BIN)/python -m tools.notebooks cache
	@LIVE=$(LIVE) $(BIN)/python -m tools.live
	@test "$$(cat build/edition 2>/dev/null || echo 1)" = "$(SOLUTIONS)" || rm -rf $(SITE) build/companion.*
	@mkdir -p build && echo "$(SOLUTIONS)" > build/edition  # nothing of the other edition stays
	$(STEP) "Generated pages" $(BIN)/python -m tools.pages
	$(STEP) "Site" $(BIN)/jupyter-book build . --toc book/_toc.yml --path-output build -W -n --keep-going --quiet

# The notebooks first: the book is made of their runs. It is built by one process, beside the unit tests.
test: $(READY)             ## everything: package, notebooks, site
	@$(MAKE) test-notebooks
	@$(MAKE) -j 2 test-unit book
	@$(MAKE) test-site

test-all: export COMPANION_EXPLORE := 1
test-all: $(READY)         ## test, the unit tests that take minutes, and the notebooks without their solutions
	@COMPANION_VERIFY=all $(MAKE) test
	$(STEP) "Tests that take minutes" $(BIN)/python -m pytest -q -n $(JOBS) $(LIGHT) -m slow tests
	$(STEP) "Notebooks for exercises" $(BIN)/python -m pytest -q -n $(WINDOWS) --dist loadscope $(NBVAL:--nbval=--nbval-lax) \
	  book/exercises/*/*-exercises.ipynb

# OpenBLAS sums in the order that suits the processor; OPENBLAS_CORETYPE lets it sum as on another one.
test-processor: export OPENBLAS_CORETYPE := $(CORE)
test-processor: $(READY)   ## the package and the notebooks as another processor computes (CORE=Haswell, Nehalem, ...)
	@$(BIN)/python -c 'import numpy as np; A = np.ones((200, 200)); A @ A' || \
	  { echo "This processor cannot run OpenBLAS's kernels for $(CORE)"; exit 1; }
	@$(MAKE) test-notebooks test-unit

test-unit: $(READY)        ## the package: unit, property and peer tests, doctests
	$(STEP) "Unit tests" $(BIN)/python -m pytest -q -n $(JOBS) $(LIGHT) --junitxml=build/unit.xml tests companion \
	  --ignore=tests/site $(if $(COVERAGE),--cov=companion --cov-report=xml:build/coverage.xml)
	$(if $(NODE),$(STEP) "Arithmetic of the boards" node --test tests/boards/solver.test.mjs,\
	  @echo "SKIPPED: the arithmetic of the boards in the browser (node is not there)")

# The runs fill the cache of the book that is built next (tools/notebooks.py), and every certified result that a notebook
# makes is verified in exact arithmetic (tests/notebooks/recorder.py).
test-notebooks: export COMPANION_VERIFY ?= some
test-notebooks: $(READY)   ## every notebook cell gives what its page shows, every result is what it says
	@rm -rf build/verified
	$(STEP) "Cells of the notebooks" $(BIN)/python -m pytest -q -n $(WINDOWS) --dist loadscope $(NBVAL) \
	  --ignore=book/exercises --junitxml=build/nbval.xml notebooks book
	$(STEP) "Their results in exact arithmetic" $(BIN)/python -m pytest -q $(LIGHT) -p no:cacheprovider \
	  tests/notebooks/verified.py

test-guess: export COMPANION_NO_PIQP := 1
test-guess: $(READY)       ## engine and machines where PIQP is not installed, as in a browser: ADMM guesses
	$(STEP) "Unit tests without PIQP" $(BIN)/python -m pytest -q -n $(JOBS) $(LIGHT) tests/engine tests/svm tests/svr

test-package: $(READY)     ## the wheel and the sdist, in an empty environment and with their own tests (needs an index)
	$(STEP) "Wheel and sdist" $(BIN)/python -m pytest -q $(LIGHT) -m "slow or not slow" tests/test_package.py

test-site: $(READY)        ## the built pages, in a real browser (after: make book)
	$(STEP) "Built pages in a browser" $(BIN)/python -m pytest -q -n $(WINDOWS) --dist worksteal $(LIGHT) \
	  --junitxml=build/site.xml tests/site

pdf: book        ## the whole book as build/companion.pdf (needs Chromium)
	$(STEP) "PDF" $(BIN)/python -m tools.pdf

zip: book        ## the site as build/companion.zip, to read from the disk; LIVE=1: with Python for the browser
	$(STEP) "Zip" $(BIN)/python -m tools.editions $(if $(filter command1,$(firstword $(origin LIVE))$(LIVE)),--live)

release: $(READY)          ## the site with the PDF and its own zip on its page of downloads
	@rm -f build/companion.pdf build/companion.zip
	@$(MAKE) zip  # before the PDF, which it has not
	$(STEP) "PDF" $(BIN)/python -m tools.pdf
	@$(MAKE) book

sheet: $(READY)  ## chosen exercises for a course: make sheet LABELS="prob-18-5 exr-nu-svm-count"
	@$(BIN)/python -m tools.sheet $(LABELS)

lab: $(READY)    ## open JupyterLab on the contents: each notebook with and without its solutions
	@test -f book/exercises/contents.ipynb || $(BIN)/python -m tools.pages  # a reader may have written into them
	@cd book/exercises && $(CURDIR)/$(BIN)/jupyter lab contents.ipynb  # links between editions lead somewhere

mystmd: $(READY)           ## let the engine of Jupyter Book 2 read the pages, say what it loses (needs node)
	$(STEP) "Generated pages" $(BIN)/python -m tools.pages
	@rm -rf build/mystmd && mkdir -p build/mystmd/theme
	@cp -r notebooks book CHANGELOG.md tools/templates/myst.yml build/mystmd && rm -r build/mystmd/book/_* build/mystmd/book/exercises
	@printf 'myst: v1\ntitle: none\n' > build/mystmd/theme/template.yml
	$(if $(NODE),@cd build/mystmd && npx --yes mystmd@1 build --site --ci 2>&1 | tee log.txt | grep -c '^⚠' | xargs echo "Messages in build/mystmd/log.txt:",\
	  @echo "SKIPPED: mystmd (node is not there)")

lint: $(READY)   ## ruff and mypy; eslint for the boards
	$(STEP) "Style" $(BIN)/ruff check .
	$(STEP) "Format" $(BIN)/ruff format --check .
	$(STEP) "Types" $(BIN)/mypy
	$(if $(NODE),$(STEP) "Style of the boards" npx --yes eslint@9 -c tests/boards/eslint.config.mjs companion/boards/browser,@echo "SKIPPED: eslint (node is not there)")

bench: $(READY)  ## timings against peers, as ratios in one run (the peers: pip install -e '.[bench]')
	@$(BIN)/python -m benchmarks

mutants: $(READY)          ## change the package in 300 places, one at a time; print the changes that no test notices
	$(STEP) "mutmut" $(BIN)/python -m pip install --quiet --no-build-isolation -e '.[mutants]'
	@$(BIN)/python -m benchmarks.mutants --jobs $(JOBS) $(MUTANTS)

notebooks: $(READY)        ## run all notebooks in place and store their outputs
	@$(BIN)/python -m tools.notebooks run

lock: $(READY)   ## write the files of exact versions anew from pyproject.toml
	@$(BIN)/uv pip compile $(LOCK) --extra book --extra test pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile $(LOCK) --extra lab -c requirements.lock pyproject.toml -o notebooks/requirements.txt

vendor:          ## fetch MathJax and CodeMirror anew with npm, which checks what it fetches; the icons in use from the theme
	rm -rf book/_static/vendor/mathjax && mkdir -p book/_static/vendor/mathjax build/editor
	cp tools/editor/* build/editor && cd build/editor && npm install --silent --no-audit --no-fund
	cd build/editor && npx esbuild codemirror.mjs --bundle --minify --format=iife --global-name=CodeMirror \
	  --legal-comments=none --outfile=../../book/_static/vendor/codemirror/codemirror.js
	cd build && npm pack --silent mathjax@$(MATHJAX)
	tar -xzf build/mathjax-$(MATHJAX).tgz -C book/_static/vendor/mathjax --transform 's,^package/\(es5/\)\?,,' --wildcards \
	  $(patsubst %,'package/%',$(MATHJAX_FILES))
	$(MAKE) icons
	cd book/_static/vendor && sha256sum $$(find codemirror fontawesome mathjax -type f | LC_ALL=C sort) > SHA256SUMS

icons: $(READY)
	mkdir -p build book/_static/vendor/fontawesome/6.5.2/css
	$(BIN)/pyftsubset $(ICON_FILES)/webfonts/fa-solid-900.ttf --unicodes=$(ICONS) --flavor=woff --output-file=build/icons.woff
	{ sed 's/}/}\n/g' $(ICON_FILES)/css/all.min.css | grep -vE '^\.fa-[^{]*before\{content:"\\[0-9a-f]+"' ; \
	  sed 's/}/}\n/g' $(ICON_FILES)/css/all.min.css | grep -E 'before\{content:"\\($(subst $(comma),|,$(ICONS)))"' ; \
	  printf '@font-face{font-family:"Font Awesome 6 Free";font-style:normal;font-weight:900;font-display:block;src:url("data:font/woff;base64,%s") format("woff")}\n' \
	    "$$(base64 -w 0 build/icons.woff)"; } > book/_static/vendor/fontawesome/6.5.2/css/all.min.css

clean:           ## remove what was built, keep the environment
	@rm -rf build .jupyter_cache book/_generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
