"""Packs the direction numbers of Sobol sequences: `python tools/sobol.py new-joe-kuo-6.21201` writes python/opforge/quasirandom/directions.bin.

The text is that of https://web.maths.unsw.edu.au/~fkuo/sobol/: a line for each dimension from 2, its number, the polynomial's degree `s` and inner
coefficients `a`, and the numbers `m`. What is written, compressed by zlib: a bit for each odd number below 2**19, from the lowest, that is set for the
polynomials (dimensions are in their order); then, for each dimension, the numbers `m` without their lowest bit, which is always 1: `i - 1` bits for the `i`-th.
"""

from __future__ import annotations

import pathlib
import sys
import zlib

PACKED = pathlib.Path(__file__).parents[1] / "python/opforge/quasirandom/directions.bin"


def packed(text: str) -> bytes:
    """The packed form of the text."""
    polynomials, bits = 0, []
    for line in text.splitlines()[1:]:
        _, degree, inner, *numbers = map(int, line.split())
        polynomials |= 1 << ((1 << degree) + 2 * inner + 1 >> 1)
        bits += [format(number >> 1, f"0{place}b") for place, number in enumerate(numbers) if place]
    joined = "".join(bits)
    joined += "0" * (-len(joined) % 8)
    return zlib.compress(polynomials.to_bytes(2**15, "little") + int(joined, 2).to_bytes(len(joined) // 8, "big"), 9)


if __name__ == "__main__":
    PACKED.write_bytes(packed(pathlib.Path(sys.argv[1]).read_text()))
