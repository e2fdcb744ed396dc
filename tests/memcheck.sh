#!/bin/sh
# Runs the core suites under valgrind's memcheck: reads of uninitialised memory, accesses outside of blocks, and memory that is lost fail.
#
# Valgrind 3.19 does not know AVX-512, so the kernels are the AVX2 ones, and one thread at a time runs; minutes, not part of `make test`.
# Arguments name the packages to check; without any, all of them.
set -eu
cd "$(dirname "$0")/.."

if ! command -v valgrind >/dev/null; then
    echo "memcheck: skipped, valgrind was not found"
    exit 0
fi

export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="valgrind --quiet --error-exitcode=1 --leak-check=full \
    --show-leak-kinds=definite --errors-for-leak-kinds=definite --fair-sched=yes"
export OPFORGE_ISA=avx2
