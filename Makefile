# `make demo` and `make test` are all that a fresh clone needs; each checks for what it uses.

CARGO ?= cargo
OPERATOR_FILES = $(wildcard crates/opforge/src/ops/*/*.rs)

.PHONY: demo test bench lint fmt doc loom memcheck callgrind tools

demo: tools
	$(CARGO) run --release --quiet --package opforge-demo

# Unoptimised where tests are small (seconds to build instead of minutes), optimised where they sweep over millions of numbers.
test: tools lint doc
	$(CARGO) test --workspace --exclude opforge-cpu --quiet
	$(CARGO) test --package opforge-cpu --release --quiet
	$(MAKE) --no-print-directory loom callgrind

bench: tools
	$(CARGO) run --release --quiet --manifest-path bench/Cargo.toml

# The operators' files are named by the catalogue's macro, where `cargo fmt` does not look.
fmt:
	$(CARGO) fmt
	@rustfmt --edition 2024 $(OPERATOR_FILES)

lint:
	$(CARGO) fmt --check
	@rustfmt --edition 2024 --check $(OPERATOR_FILES)
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet

# Every interleaving of the VM's core, in models of a few instructions.
loom:
	RUSTFLAGS="--cfg loom" $(CARGO) test --package opforge-runtime --release --quiet --target-dir target/loom --test loom

# Instruction counts of the call path against their ceilings; skipped with a word where valgrind is missing.
callgrind:
	tests/callgrind.sh

# The core suites under valgrind; takes some minutes.
memcheck:
	tests/memcheck.sh

tools:
	@command -v $(CARGO) >/dev/null || { echo "opforge needs Rust 1.89 or later (https://rustup.rs): cargo was not found"; exit 1; }
	@command -v cc >/dev/null || { echo "opforge needs a C linker: install gcc or clang"; exit 1; }
