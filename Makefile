# `make demo` and `make test` are all that a fresh clone needs; each checks for what it uses.

CARGO ?= cargo
PYTHON ?= python3
# The Cargo profile of the Python extension module: `make develop PROFILE=dev` builds in seconds what runs slowly.
PROFILE ?= release
OPERATOR_FILES = $(wildcard crates/opforge/src/ops/*/*.rs)
VENV = .venv
BIN = $(CURDIR)/$(VENV)/bin

.PHONY: demo test test-cuda test-wgpu bench bench-gpu lint fmt doc loom memcheck callgrind fuzz tools develop wheel wheel-wgpu generate check-generated test-rust test-python compare-mindspore compare-packages compare-pytorch

demo: develop
	$(CARGO) run --release --quiet --package opforge-demo
	$(BIN)/python demo/main.py

# All is built first; then Rust's tests run beside Python's.
test: tools lint doc
	$(TEST_KERNELS) --no-run
	$(TEST_CRATES) --no-run
	$(MAKE) --no-print-directory develop
	$(MAKE) --no-print-directory --jobs 2 --output-sync test-rust test-python loom callgrind

# The extension and the kernels' tests, which sweep over millions of numbers, optimised; small tests unoptimised (seconds to build instead of minutes), of
# the same builds of kernels and of others' crates.
TEST_KERNELS = $(CARGO) test --package opforge-cpu --package opforge-python --release --quiet
TEST_CRATES = $(CARGO) --config tests/profile.toml test --workspace --exclude opforge-cpu --exclude opforge-python --release --quiet
# Compilers that tests call are none of make's jobs.
test-rust:
	MAKEFLAGS= $(TEST_KERNELS)
	MAKEFLAGS= $(TEST_CRATES)

# Operators on this machine's GPU by wgpu, or on Mesa's software Vulkan (Debian's mesa-vulkan-drivers), which needs none; with a word where there is no driver.
# From Rust, and from Python by the package `opforge-wgpu`. Not part of `test`: wgpu takes minutes to build.
WGPU = --manifest-path crates/opforge-wgpu/Cargo.toml
test-wgpu: tools
	$(CARGO) fmt $(WGPU) --check
	$(CARGO) clippy $(WGPU) --target-dir target --all-targets --quiet -- -D warnings
	$(CARGO) clippy $(WGPU) --target-dir target --no-default-features --features python --lib --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc $(WGPU) --target-dir target --no-deps --quiet
	$(CARGO) test $(WGPU) --target-dir target --quiet
	$(MAKE) --no-print-directory develop wheel-wgpu
	$(BIN)/pip install --quiet --no-deps --upgrade --target target/wgpu dist/opforge_wgpu-*.whl
	@if PYTHONPATH=target/wgpu $(BIN)/python -c "import os, sys, warnings, opforge, opforge_wgpu; warnings.showwarning = lambda told, *_: (print(told), os._exit(1)); sys.exit(0 if opforge.wgpu.is_available() else 3)"; then \
		PYTHONPATH=target/wgpu OPFORGE_DEVICE=wgpu OPFORGE_DEVICE_SAMPLES=all $(BIN)/pytest --quiet -p no:cacheprovider tests/python/wgpu tests/python/devices; \
	elif [ $$? -eq 3 ]; then echo "skipped from Python: no driver of a GPU was found"; else exit 1; fi

# Every operator's samples and gradients on this machine's NVIDIA GPU, or on the host by a driver that is made for tests; `make test` has a part of them. Two minutes without a GPU.
test-cuda:
	OPFORGE_CUDA_SAMPLES=all $(CARGO) test --package opforge-cuda --quiet

# Against candle, PyTorch and ONNX Runtime, which get an environment of their own; writes bench/RESULTS.md.
bench: wheel bench/.venv/ready
	$(CARGO) build --release --quiet --manifest-path bench/Cargo.toml
	bench/.venv/bin/pip install --quiet --force-reinstall --no-deps dist/opforge-*.whl
	bench/.venv/bin/python bench/python/main.py
	$(CARGO) build --release --quiet --package opforge-kernel --example kernels
	$(CARGO) run --release --quiet --package opforge-custom --example calls
	bench/.venv/bin/python bench/python/custom.py

# Beside PyTorch on this machine's NVIDIA GPU; writes bench/GPU.md.
bench-gpu: wheel bench/.venv/ready
	bench/.venv/bin/pip install --quiet --force-reinstall --no-deps dist/opforge-*.whl
	bench/.venv/bin/python bench/python/gpu.py --write bench/GPU.md

bench/.venv/ready: bench/requirements.txt
	$(PYTHON) -m venv bench/.venv
	bench/.venv/bin/pip install --quiet --requirement bench/requirements.txt
	@touch $@

# The scripts of tests/python/mindspore with MindSpore itself, which gets an environment of its own.
compare-mindspore: develop bench/.venv-mindspore/ready
	$(BIN)/python tests/compare_mindspore.py bench/.venv-mindspore/bin/python

bench/.venv-mindspore/ready:
	$(PYTHON) -m venv bench/.venv-mindspore
	bench/.venv-mindspore/bin/pip install --quiet mindspore==2.10.* "numpy<2"
	@touch $@

# PyTorch's packages with PyTorch itself and with opforge, in an environment of their own; writes docs/packages.md.
compare-packages: develop bench/.venv-packages/ready
	$(BIN)/python tests/packages/main.py bench/.venv-packages/bin/python

bench/.venv-packages/ready: tests/packages/requirements.txt
	$(PYTHON) -m venv bench/.venv-packages
	bench/.venv-packages/bin/pip install --quiet --requirement tests/packages/requirements.txt
	@touch $@

# Calls drawn from a seed on PyTorch and on opforge, for minutes: `make compare-pytorch COMPARE="--seed 2 --minutes 30"`.
COMPARE ?= --seed 1 --minutes 5
compare-pytorch: develop bench/.venv/ready
	$(BIN)/python tests/python/differential bench/.venv/bin/python $(COMPARE)

# The operators' files are named by the catalogue's macro, where `cargo fmt` does not look.
fmt:
	$(CARGO) fmt
	@rustfmt --edition 2024 $(OPERATOR_FILES)

# Not `--all-targets`, which looks at libraries without unit tests a second time.
# In the release profile, as all that `test` builds: macros are built once for all of it.
lint:
	$(CARGO) fmt --check
	@rustfmt --edition 2024 --check $(OPERATOR_FILES)
	$(CARGO) clippy --workspace --lib --bins --examples --tests --release --quiet -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --release --quiet

# Every interleaving of the VM's core, in models of a few instructions.
loom:
	RUSTFLAGS="--cfg loom" $(CARGO) test --package opforge-runtime --release --quiet --target-dir target/loom --test loom

# Instruction counts of the call path against their ceilings; skipped with a word where valgrind is missing.
callgrind:
	tests/callgrind.sh

# The core suites under valgrind; takes some minutes.
memcheck:
	tests/memcheck.sh

# Calls every function with arguments drawn from a seed, for minutes: `make fuzz FUZZ="--seed 2 --minutes 60"`.
FUZZ ?= --seed 1 --minutes 5
fuzz: develop
	$(BIN)/python tests/python/fuzz $(FUZZ)

# The Python package, built in place into a virtual environment of the project's own.
develop: tools $(VENV)/ready
	PATH="$(BIN):$$PATH" VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --quiet --profile $(PROFILE)

# Type stubs, the function reference and the catalogue, from the declared functions.
generate: develop
	$(BIN)/python tools/generate.py
	$(BIN)/python tools/candle.py

check-generated: develop
	$(BIN)/python tools/generate.py --check
	$(BIN)/python tools/candle.py --check

# What Python users see: generated files up to date, types as users check them, behaviour.
test-python: check-generated
	$(BIN)/mypy --strict tests/python/typing/program.py
	$(BIN)/python -m mypy.stubtest opforge._core --ignore-disjoint-bases --allowlist tests/python/typing/allowed
	$(BIN)/pytest --quiet -p no:cacheprovider

wheel: tools $(VENV)/ready
	PATH="$(BIN):$$PATH" $(BIN)/maturin build --quiet --release --out dist

# The driver of GPUs by Vulkan, Metal and DX12: `pip install dist/opforge_wgpu-*.whl` beside opforge brings the device "wgpu".
wheel-wgpu: tools $(VENV)/ready
	PATH="$(BIN):$$PATH" $(BIN)/maturin build --quiet --release --manifest-path crates/opforge-wgpu/Cargo.toml --target-dir target --out dist

$(VENV)/ready: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "opforge needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/python tests/requirements.py | $(BIN)/pip install --quiet --requirement /dev/stdin
	@touch $@

tools:
	@command -v $(CARGO) >/dev/null || { echo "opforge needs Rust 1.89 or later (https://rustup.rs): cargo was not found"; exit 1; }
	@command -v c++ >/dev/null || { echo "opforge needs a C++ compiler: install g++ or clang"; exit 1; }
