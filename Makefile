# make demo    install what running needs, double a photograph with a trained network on GL
# make test    set everything up, run every test
# make lint    set everything up, check style and types
# make conformance
#              set everything up, run the ONNX backend test suite, write docs/conformance.md
# make matrix  the same once for each kernel choice, forced on every layer (half an hour)
# make networks
#              set everything up, try 80 networks on GL, write docs/networks.md
# make fuzz    set everything up, compile 5,000 random models and compare them on GL (an hour)
# make bench   set everything up, compare with ncnn and onnxruntime, write docs/benchmarks.md
# make bench-web
#              set everything up, compare with TensorFlow.js and onnxruntime-web in Chromium
# make gpus    set everything up, compile networks with real GPU compilers, write docs/gpus.md
# make gpu     set everything up, check and measure the GPU at hand, write docs/gpu.md (ten minutes)
# make cpp     check the C++ runtime at length: clang-tidy, 10,000 frames and a fuzzer under sanitizers
# make costs   set everything up, time cold starts, ESPCN frames on the GL at hand, and compiling
# make docs    set everything up, write the documentation as a site into site/
# make gallery install what it needs, write the page with all shipped networks and the documents' pictures
# make clean   remove what the above left behind, the virtual environment included
#
# PYTHON=python3.12 chooses the Python; ARGS="-k tiling -x" goes to pytest.

PYTHON ?= python3
ARGS ?=

# Keras, in the tests and the demo's training, computes with JAX on the CPU.
export KERAS_BACKEND := jax
export JAX_PLATFORMS := cpu

.PHONY: demo test lint docs conformance matrix networks fuzz bench bench-web gpus gpu cpp costs gallery clean setup

demo:
	@PYTHON=$(PYTHON) tools/setup.sh demo
	@.venv/bin/shadergen demo $(ARGS)

# surfaceless: a GL context without a window system. No threads: the rasteriser of Mesa 22.3 may free
# a fence that a thread of its own still signals (lp_fence_signalled takes no lock), and then crashes
# in whatever GL call comes next, now and then. What measures time keeps them.
test conformance matrix networks fuzz bench costs gallery: export EGL_PLATFORM := surfaceless
test conformance matrix networks fuzz: export LP_NUM_THREADS := 0

test: setup
	@PYTHON=$(PYTHON) tools/setup.sh test
	@.venv/bin/python -m pytest -n 2 -q $(ARGS)

lint: setup
	@tools/lint.sh

docs: setup
	@NO_MKDOCS_2_WARNING=1 .venv/bin/python -m mkdocs build --strict

conformance: setup
	@PYTHONPATH=tests .venv/bin/python -m conformance $(ARGS)

matrix: setup
	@PYTHONPATH=tests .venv/bin/python -m conformance --matrix $(ARGS)

networks: setup
	@PYTHONPATH=tests .venv/bin/python -m networks $(ARGS)

fuzz: setup
	@PYTHONPATH=tests .venv/bin/python -m fuzz $(ARGS)

bench: setup
	@PYTHON=$(PYTHON) tools/setup.sh compare
	@PYTHONPATH=tests:bench .venv/bin/python -m comparison $(ARGS)

bench-web: setup
	@PYTHON=$(PYTHON) tools/setup.sh test
	@.venv/bin/python bench/web.py $(ARGS)

gpus: setup
	@PYTHON=$(PYTHON) tools/setup.sh gpus
	@bench/gpus/setup.sh
	@PYTHONPATH=tests:bench .venv/bin/python -m gpus $(ARGS)

gpu: setup
	@PYTHON=$(PYTHON) tools/setup.sh compare
	@.venv/bin/python bench/gpu_check $(ARGS)

cpp:
	@tests/runtimes/cpp/at_length.sh $(ARGS)

costs: setup
	@.venv/bin/python bench/startup.py $(ARGS)
	@.venv/bin/python bench/compile_cost.py

gallery:
	@PYTHON=$(PYTHON) tools/setup.sh gallery
	@.venv/bin/python tools/make_gallery.py $(ARGS)

setup:
	@PYTHON=$(PYTHON) tools/setup.sh

clean:
	@rm -rf .venv .build build dist demo site *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
