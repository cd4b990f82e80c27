# The two commands are `make demo` and `make test`; `make help` lists the rest.
#
# Each environment is a folder made from scratch with pinned versions (constraints.txt), so that
# nothing installed by hand is needed. A stamp file in it remembers what was installed from which
# sources; `make clean` forgets everything.

# Whether this Python runs and is new enough.
IS_FIT = $(1) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11 python3.10,$(shell \
  $(call IS_FIT,$(p)) && echo $(p))) python3)
DEMO := .venv
TEST := .venv-test
FRAMEWORKS := .venv-frameworks
LINT := .venv-lint
WHEEL = $$(echo $(CURDIR)/$(TEST)/wheel/*.whl)

# The major of CUDA to build the demo for, where there is an NVIDIA GPU: what its driver supports.
CUDA ?= $(patsubst 14,13,$(filter 12 13 14,$(shell nvidia-smi 2>/dev/null | \
  sed -n 's/.*CUDA Version: *\([0-9]*\).*/\1/p')))

# pip before 25.3 reads PIP_CONSTRAINT for isolated builds too, later ones PIP_BUILD_CONSTRAINT.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_BUILD_CONSTRAINT := $(PIP_CONSTRAINT)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Spelt out: pip knows -C from 23.1 on, and Debian 12 has 23.0.
WERROR := --config-settings=cmake.define.LENET_WERROR=ON
# Each environment's build is kept, to compile only what changed. Without this setting pip builds in a folder of
# its own, so that two installs from one checkout do not meet.
KEPT = '--config-settings=build-dir=build/$(1)-{wheel_tag}'

# With the folders: one that lost a file is newer than what was built of it.
SOURCES := pyproject.toml CMakeLists.txt constraints.txt $(shell find csrc python weights \
  -name __pycache__ -prune -o -print 2>/dev/null)

# Run in the environment of all frameworks; `make test` runs them for the few that it has.
FRAMEWORK_TESTS := tests/test_frameworks.py tests/test_environments.py tests/test_export.py \
  tests/test_training_frameworks.py tests/test_training_failures.py tests/test_why_frameworks.py \
  tests/test_networks.py tests/test_triton.py tests/test_model_types.py tests/test_framework_models.py \
  tests/test_python_model.py tests/test_tflite_model.py

# With CUDA 12 what its headers, libraries and compiler may change: that the backends answer rightly,
# load, refuse and plan. The rest is tested with 13 alone.
REHEARSAL := tests/test_cuda_rehearsal.py
CUDA13_TESTS := $(filter-out $(REHEARSAL),$(wildcard tests/test_cuda*.py))
CUDA12_TESTS := $(addprefix tests/test_cuda,.py _chain.py _compile.py _failures.py _loading.py \
  _majors.py _plans.py)

.PHONY: demo frameworks all-frameworks test test-all test-core test-python3.10 test-python3.14 where-is-python3.10 test-frameworks test-cuda12 test-cuda13 rehearse-gpu lint tidy fuzz sanitize wasm bench gpu-kit clean help
.DELETE_ON_ERROR:

help:  ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 24

demo: $(DEMO)/installed  ## set up, classify the sample images, compare five backends (three to four minutes)
	$(DEMO)/bin/lenet-bench infer images/*.png images/*.jpg
	$(DEMO)/bin/lenet-bench compare --quick
	@echo
	@echo 'What to try next (after: source $(DEMO)/bin/activate):'
	@echo '  lenet-bench infer YOUR_DIGIT.jpg --show     a picture of your own, and what the network saw of it'
	@echo '  lenet-bench infer images/digit-3.png --backend all'
	@echo '  lenet-bench doctor                          what runs here, and what would make the rest run'
	@echo '  lenet-bench compare --budget 60s            the comparison, with intervals'
	@echo '  lenet-bench report -o report.html --open     it as a page'
	@echo '  make test                                   the tests'

frameworks: $(DEMO)/frameworks  ## add every framework that lives in one environment (gigabytes)
	$(DEMO)/bin/lenet-bench doctor

all-frameworks: $(DEMO)/frameworks  ## and those that need an environment of their own
	-$(DEMO)/bin/lenet-bench env create --all
	$(DEMO)/bin/lenet-bench doctor

# Tests that take long are marked `slow` and run by test-all only. Their files begin first
# (conftest.py); the reordering would put those of few tests last, with one worker alone in the end.
PYTEST := -m pytest -n auto --dist loadfile --no-loadscope-reorder

test: lint $(TEST)/installed  ## set up and run the quick tests (about ten minutes)
	$(TEST)/bin/python $(PYTEST) -m 'not slow'

# NVIDIA has wheels for Linux only.
test-all: test-core test-frameworks $(if $(filter Linux,$(shell uname -s)),test-cuda13 test-cuda12 rehearse-gpu)  ## set up and run every test (about an hour, 10 GB)

test-core: lint $(TEST)/installed  ## every test of the core and of the backends in C++
	LENET_BENCH_WHEEL=$(WHEEL) $(TEST)/bin/python $(PYTEST) $(FRAMEWORK_TESTS:%=--ignore=%)

# A Python of this version, also one of pyenv's, whose own python3.10 may refuse to run.
PYTHON_OF = $(firstword $(foreach p,python$(1) $(lastword $(wildcard $(HOME)/.pyenv/versions/$(1).*/bin/python)), \
  $(shell $(p) -c 'print("$(p)")' 2>/dev/null)))

# The oldest and the newest Python that the wheels are for, with the packages that each has. ONLY=FILE...
# runs these files alone.
test-python3.10 test-python3.14: test-python%: .venv-test-python%/installed
	.venv-test-python$*/bin/python $(PYTEST) -m 'not slow' -W default::DeprecationWarning \
	  $(FRAMEWORK_TESTS:%=--ignore=%) $(ONLY)

where-is-python3.10: where-is-python%:
	@echo $(call PYTHON_OF,$*)

test-frameworks: $(FRAMEWORKS)/installed  ## every test of the frameworks' backends
	LENET_BENCH_TEST_ENVIRONMENTS=caffe $(FRAMEWORKS)/bin/python $(PYTEST) $(FRAMEWORK_TESTS)

# The GPU backends without a GPU; each major of CUDA has an environment of its own (2.5 GB).
test-cuda13 test-cuda12: test-cuda%: .venv-test-cuda%/installed
	.venv-test-cuda$*/bin/python $(PYTEST) $(CUDA$*_TESTS)

rehearse-gpu: .venv-test-cuda13/installed  ## bench/gpu.sh as on a machine with a GPU, on a double of CUDA (ten minutes)
	.venv-test-cuda13/bin/python $(PYTEST) $(REHEARSAL)

# Tests need no annotations; their bodies are checked as the package is.
TESTS_TYPES := --allow-untyped-defs --allow-untyped-calls --allow-incomplete-defs \
  --no-warn-return-any --no-warn-unused-ignores --cache-dir .mypy_cache/tests

lint: $(LINT)/installed  ## formatting, lint, types, size and commit subjects, without a build
	$(LINT)/bin/ruff check .
	$(LINT)/bin/ruff format --check .
	$(LINT)/bin/mypy
	$(LINT)/bin/mypy bench
	$(LINT)/bin/mypy $(TESTS_TYPES) tests
	$(LINT)/bin/clang-format --dry-run --Werror $(shell find csrc tests -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh')
	$(LINT)/bin/python bench/size.py
	@sh bench/commit_subjects.sh

# The headers that csrc includes: the libraries' own, and those of NVIDIA's wheels. clang has no omp.h. csrc/api
# includes the frameworks' headers, and csrc/wasm is for another compiler.
PACKAGES = $(1)/lib/python3*/site-packages
TIDY_HEADERS = $(wildcard $(addprefix $(call PACKAGES,$(LINT))/,pybind11/include scipy_openblas32/include) $(LINT)/include \
  $(addprefix $(call PACKAGES,.venv-test-cuda13)/nvidia/,*/include */include/cccl)) \
  $(shell $(LINT)/bin/python -c 'import sysconfig; print(sysconfig.get_path("include"))')
TIDY_FLAGS = -std=c++17 -Icsrc -DLENET_ISA=sse2 -DLENET_LANES=4 -DLENET_MODULE=_cuda13 $(addprefix -isystem ,$(TIDY_HEADERS)) \
  -idirafter $(shell $${CXX:-c++} -print-file-name=include)

$(LINT)/headers: $(LINT)/installed
	@$(LINT)/bin/pip install --quiet onednn-devel-cpu-gomp scipy-openblas32
	@touch $@

tidy: $(LINT)/headers .venv-test-cuda13/installed  ## clang-tidy's checks of the C++ (.clang-tidy), a minute
	find csrc -name '*.cpp' -not -path '*/api/*' -not -path '*/wasm/*' -not -name answer.cpp | \
	  xargs -P 2 -I{} $(LINT)/bin/clang-tidy --quiet {} -- $(TIDY_FLAGS)

FUZZ_SECONDS ?= 120

fuzz: $(TEST)/installed  ## changed pictures, weights and results, and kills, for FUZZ_SECONDS (two minutes)
	LENET_BENCH_FUZZ_FIRST=$$(date +%s000) LENET_BENCH_FUZZ_SECONDS=$$(($(FUZZ_SECONDS) / 6)) \
	  $(TEST)/bin/python -m pytest tests/test_fuzz.py tests/test_killed_runs.py -k 'changed or any_moment'

sanitize: $(TEST)/installed  ## the backends in C++ under AddressSanitizer, UBSan and ThreadSanitizer
	tests/sanitize.sh $(TEST)/bin/python

# Committed, so that only who changes the fused kernels or csrc/images needs the compiler.
wasm: $(TEST)/installed  ## the fused kernels and the preparation of pictures as WebAssembly, for the classroom's page
	$(TEST)/bin/pip install --quiet ziglang # the extra `wasm`
	sh csrc/wasm/build.sh $(TEST)/bin/python python/lenet_bench/show/classroom/native.wasm

# ARGS are pytest's and pytest-benchmark's: docs/python.md.
bench: $(TEST)/installed  ## the installed backends through pytest-benchmark, in one table (four minutes)
	$(TEST)/bin/python -m pytest bench/ --benchmark-only --benchmark-max-time=5 \
	  --benchmark-group-by=func --benchmark-columns=median,iqr,min,rounds $(ARGS)

# For a machine with a GPU and without network, which has this Python and this glibc or a newer one.
# lenet-bench is built here with what such a machine has of CUDA, so it needs no compiler there.
GPU_KIT := gpu-kit
GPU_PYTHON := 3.12
GPU_PLATFORMS := $(foreach tag,2014 _2_17 _2_27 _2_28,--platform manylinux$(tag)_x86_64)
LARGEST_KIT := 32000000

gpu-kit:  ## what to carry to a machine with a GPU and without network (docs/gpu.md)
	@test -n "$(call PYTHON_OF,$(GPU_PYTHON))" || { echo "the kit is built with Python $(GPU_PYTHON); none was found"; exit 1; }
	@rm -rf $(GPU_KIT)
	@env -u PIP_CONSTRAINT $(PYTHON) -m pip download --quiet --no-deps --only-binary=:all: --implementation cp \
	  --python-version $(GPU_PYTHON) $(GPU_PLATFORMS) -d $(GPU_KIT) -r bench/gpu-wheels.txt
	@echo 'Building lenet-bench for Python $(GPU_PYTHON) and CUDA 13 (some minutes) ...'
	@PIP_CONSTRAINT=$(CURDIR)/bench/gpu-image.txt PIP_BUILD_CONSTRAINT=$(CURDIR)/bench/gpu-image.txt \
	  $(call PYTHON_OF,$(GPU_PYTHON)) -m pip wheel --quiet --no-deps -w $(GPU_KIT) . --config-settings=lenet.cuda=13 \
	  $(call KEPT,gpu-kit)
	@test -z "$$LENET_BENCH_MNIST" || cp "$$LENET_BENCH_MNIST"/t10k-*-ubyte* $(GPU_KIT)
	@git describe --always --dirty --abbrev=40 --exclude='*' > $(GPU_KIT)/commit
	@size=$$(cat $(GPU_KIT)/* | wc -c); test $$size -lt $(LARGEST_KIT) || \
	  { echo "$(GPU_KIT) has $$size bytes, and the machine takes $(LARGEST_KIT) at most"; exit 1; }; \
	echo "Carry the tree and $(GPU_KIT), $$size bytes. There, where FOLDER is one that comes back:"
	@echo '  bench/gpu.sh --wheels $(GPU_KIT) --output FOLDER --steps infer,ours,frameworks,why'
	@echo '  bench/gpu.sh --wheels $(GPU_KIT) --output FOLDER --steps verify+tests+sanitizer,batches,vgg16,paced'
	@echo '  bench/gpu.sh --wheels $(GPU_KIT) --output FOLDER --steps ours,resnet50,rest'

clean:  ## forget every environment and build
	rm -rf $(DEMO) $(TEST) $(FRAMEWORKS) $(LINT) .venv-test-cuda12 .venv-test-cuda13 .venv-test-python3.* .cache build

# Ctrl-C may leave an environment without pip. What venv lacks, it says itself.
define create_python
	$(if $(word 2,$(CURDIR)),$(error make installs in a path without spaces only, and this is $(CURDIR)))
	@test -x $(@D)/bin/pip || { \
	  $(call IS_FIT,$(PYTHON)) || { \
	    echo "lenet-bench needs Python 3.10 or later, and $(PYTHON) is none (set PYTHON=...)"; exit 1; }; \
	  $(PYTHON) -m venv $(@D); }
	@$(call IS_FIT,$(@D)/bin/python) || { \
	  echo "lenet-bench needs Python 3.10 or later, and that of $(@D) is none: remove that folder"; exit 1; }
	@$(@D)/bin/python -m pip install --quiet 'pip>=22.1' # Ubuntu 22.04's knows no settings at all
endef

define create_environment
	@command -v $${CXX:-c++} >/dev/null || { echo "lenet-bench needs a C++17 compiler; on Debian: apt install g++"; exit 1; }
	$(create_python)
endef

# PyPI's PyTorch for Linux brings gigabytes of CUDA, and other versions of it than constraints.txt has for our own
# backends. On a GPU PyTorch has an environment of its own.
define install_cpu_torch
	@$(@D)/bin/pip install --quiet --no-deps torch --index-url https://download.pytorch.org/whl/cpu
endef

$(DEMO)/installed: $(SOURCES)
	$(create_environment)
	@echo 'Building lenet-bench into $(DEMO), with TensorFlow and Keras (some minutes) ...'
	@$(DEMO)/bin/pip install --quiet '.[native,keras,report$(CUDA:%=,cuda%)]' $(CUDA:%=--config-settings=lenet.cuda=%) $(call KEPT,demo)
	@touch $@

$(DEMO)/frameworks: $(DEMO)/installed
	@echo 'Installing the frameworks into $(DEMO) (some minutes) ...'
	$(install_cpu_torch)
	@$(DEMO)/bin/pip install '.[native,frameworks,report$(CUDA:%=,cuda%)]' $(CUDA:%=--config-settings=lenet.cuda=%) $(call KEPT,demo)
	@touch $@

# Built once for the tests: their two environments and the tests of the wheel itself take it.
$(TEST)/built: $(SOURCES)
	$(create_environment)
	@echo 'Building lenet-bench for the tests (some minutes) ...'
	@rm -f $(WHEEL)
	@$(TEST)/bin/pip wheel --quiet --no-deps -w $(TEST)/wheel . $(WERROR) $(call KEPT,test)
	@touch $@

$(TEST)/installed: $(TEST)/built
	@echo 'Installing lenet-bench and what its tests need into $(TEST) (some minutes) ...'
	@$(TEST)/bin/pip install --quiet --force-reinstall --no-deps $(WHEEL)
	@$(TEST)/bin/pip install --quiet $(WHEEL)'[native,onnxruntime,keras,convert,dev]'
	@touch $@

# The linters, and the packages whose types they read; nothing of ours is built or installed.
$(LINT)/installed: pyproject.toml constraints.txt
	$(create_python)
	@$(LINT)/bin/pip install --quiet ruff mypy clang-format clang-tidy \
	  numpy pillow click msgspec packaging safetensors jinja2 pytest hypothesis pybind11
	@touch $@

$(FRAMEWORKS)/installed: $(TEST)/built
	$(create_environment)
	@echo 'Installing lenet-bench and the frameworks into $(FRAMEWORKS) (some minutes) ...'
	$(install_cpu_torch)
	@$(FRAMEWORKS)/bin/pip install --quiet --force-reinstall --no-deps $(WHEEL)
	@$(FRAMEWORKS)/bin/pip install --quiet $(WHEEL)'[native,frameworks,triton,dev]'
	@touch $@

.venv-test-python%/installed: PYTHON = $(call PYTHON_OF,$*)
.venv-test-python%/installed: $(SOURCES)
	@test -n "$(PYTHON)" || { echo "these tests need Python $*; none was found"; exit 1; }
	$(create_environment)
	@echo 'Building lenet-bench for Python $* into $(@D) (some minutes) ...'
	@$(@D)/bin/pip install --quiet '.[native,report,onnxruntime]' $(WERROR) $(call KEPT,python)
	@$(@D)/bin/pip install --quiet pytest pytest-xdist pytest-benchmark hypothesis jsonschema scipy
	@touch $@

.venv-test-cuda%/installed: $(SOURCES)
	$(create_environment)
	@echo 'Building lenet-bench for CUDA $* into $(@D) (some minutes) ...'
	@$(@D)/bin/pip install --quiet '.[cuda$*,dev-cuda$*]' --config-settings=lenet.cuda=$* $(WERROR) $(call KEPT,cuda$*)
	@touch $@
