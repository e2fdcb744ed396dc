#!/bin/sh
# Counts the instructions of small calls (crates/opforge-python/examples/call_path.rs) and compares them with tests/callgrind.ceilings: a line
# each, the case and the most instructions that one call may take. `tests/callgrind.sh --update` writes ceilings 10 % above what it counts.
#
# The build is the release profile's: the only one with the code that users run. The example is one of the extension's crate, so that it is made of what
# the extension was: with other features, all of it would be compiled again.
# Valgrind 3.19 does not know AVX-512, so the counts are those of the AVX2 kernels; calls as small as these differ by a handful.
set -eu
cd "$(dirname "$0")/.."

ceilings=tests/callgrind.ceilings
few=1000
many=3000

if ! command -v valgrind >/dev/null; then
    echo "callgrind: skipped, valgrind was not found"
    exit 0
fi
if [ "$(uname -m)" != x86_64 ]; then
    echo "callgrind: skipped, the ceilings are for x86-64"
    exit 0
fi

${CARGO:-cargo} build --release --quiet --package opforge-python --example call_path
example=${CARGO_TARGET_DIR:-target}/release/examples/call_path

# The instructions of a run of `$2` calls of case `$1`. What is not of the calls themselves falls out of differences.
count() {
    output=$(OPFORGE_ISA=avx2 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$example" "$1" "$2" 2>&1) || {
        echo "$output" >&2
        return 1
    }
    echo "$output" | awk '/Collected/ { print $NF }'
}

per_call() {
    before=$(count "$1" $few)
    after=$(count "$1" $many)
    echo $(((after - before) / (many - few)))
}

if [ "${1:-}" = --update ]; then
    for case in $("$example" --list); do
        echo "$case $(($(per_call "$case") * 11 / 10))"
    done >$ceilings.new
    mv $ceilings.new $ceilings
    cat $ceilings
    exit 0
fi

status=0
printf '%-16s %12s %9s\n' "instructions" "per call" ceiling
for case in $("$example" --list); do
    counted=$(per_call "$case")
    ceiling=$(awk -v case="$case" '$1 == case { print $2 }' $ceilings)
    verdict=
    if [ -z "$ceiling" ]; then
        verdict="no ceiling"
        status=1
    elif [ "$counted" -gt "$ceiling" ]; then
        verdict="ABOVE THE CEILING"
        status=1
    fi
    printf '%-16s %12s %9s %s\n' "$case" "$counted" "$ceiling" "$verdict"
done
exit $status
