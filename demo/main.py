"""The Python part of `make demo`: a small network, and some that learn handwritten digits: a convolutional one, one with operators of its own, and one on four
processes."""

import pathlib
import sys

import cnn
import custom
import distributed
import network

OUT = pathlib.Path(__file__).parents[1] / "demo-out"


def main() -> int:
    OUT.mkdir(exist_ok=True)
    network.show()
    accuracy = cnn.train(picture=OUT / "cnn-loss.png")
    print(f"  accuracy on held-out digits: {accuracy:.2%}; loss curve: {OUT / 'cnn-loss.png'}")
    with_own_operators = custom.train()
    print(f"  accuracy on held-out digits: {with_own_operators:.2%}")
    if accuracy < 0.98 or with_own_operators < 0.95:
        print("  expected 98 % and 95 % or more", file=sys.stderr)
        return 1
    if not distributed.show(OUT):
        print("  the losses of four processes are not those of one", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
