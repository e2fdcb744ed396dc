#!/bin/sh
# Runs the core suites under valgrind's memcheck: reads of uninitialised memory, accesses outside of blocks and lost memory fail.
# `tests/memcheck.sh [PACKAGE..]`. It takes minutes and is no part of `make test`.
#
# Valgrind 3.19 does not know AVX-512, so the kernels are the AVX2 ones.
set -eu
cd "$(dirname "$0")/.."

if ! command -v valgrind >/dev/null; then
    echo "memcheck: skipped, valgrind was not found"
    exit 0
fi

runner="valgrind --quiet --error-exitcode=1 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite"
host=$(rustc -vV | awk '/^host:/ { print $2 }' | tr 'a-z-' 'A-Z_')
export "CARGO_TARGET_${host}_RUNNER=$runner --fair-sched=try"
export OPFORGE_ISA=avx2

# `suite PACKAGE TARGET.. -- TEST-ARGUMENTS..`: what takes too long under valgrind is left out.
suite() {
    case " ${packages:-$1} " in
    *" $1 "*) echo "memcheck: $*" && ${CARGO:-cargo} test --quiet --package "$@" ;;
    esac
}

packages="$*"
suite opforge-core --lib --tests
suite opforge-runtime --lib --test vm --test failure --test alloc -- --skip address_space --skip system_may_refuse
suite opforge-cpu --test kernels -- arange:: copy::
suite opforge --test new_operator
suite opforge --test tensors -- spine::
