# make lab        JupyterLab in notebooks/       LAB_ARGS="--no-browser --port 8899" is passed on
# make test       the whole test suite           PYTEST_ARGS="-k text" is passed on
# make notebooks  run the notebooks again        NOTEBOOKS="notebooks/en/01_x.ipynb" for some of them
# make models     train the shipped models       make report   print the README's numbers
# make clean      remove what was built (.venv stays)
#
# PYTHON is the Python that makes the environment, PIP the installer, PIP_ARGS options for it
# (for example an index that holds torch builds without CUDA).
# Without make, after an install: python -m elmo_lite lab

PYTHON ?= python3
VENV ?= .venv
VENV_PYTHON = $(VENV)/bin/python
PIP ?= $(VENV_PYTHON) -m pip
PIP_ARGS ?=
LAB_ARGS ?=
PYTEST_ARGS ?=
NOTEBOOKS ?=

.PHONY: lab test notebooks models report clean

lab: $(VENV)/.for-lab
	$(VENV_PYTHON) -m elmo_lite lab $(LAB_ARGS)

test: $(VENV)/.for-test
	$(VENV_PYTHON) -m pytest $(PYTEST_ARGS)

notebooks: $(VENV)/.for-test
	$(VENV_PYTHON) tests/tools/run_notebooks.py $(NOTEBOOKS)

models: $(VENV)/.for-lab
	$(VENV_PYTHON) -m elmo_lite classroom zh --out data/pretrained/zh
	$(VENV_PYTHON) -m elmo_lite classroom en --out data/pretrained/en

report: $(VENV)/.for-lab
	for lang in zh en; do $(VENV_PYTHON) -m elmo_lite classroom $$lang --model $$lang || exit 1; done
	for lang in zh en; do $(VENV_PYTHON) -m elmo_lite classroom $$lang --from-scratch || exit 1; done

clean:
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find elmo_lite tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are as old as the last install: it is done again only when one of these files changes.
$(VENV)/.for-lab: EXTRAS = text,widgets
$(VENV)/.for-test: EXTRAS = text,widgets,test
$(VENV)/.for-lab $(VENV)/.for-test: pyproject.toml constraints.txt
	test -x $(VENV_PYTHON) || $(PYTHON) -m venv $(VENV)
	$(PIP) install $(PIP_ARGS) --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@
