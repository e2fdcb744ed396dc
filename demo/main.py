"""The Python part of `make demo`: a small network, and a convolutional network that learns handwritten digits."""

import pathlib
import sys

import cnn
import network

OUT = pathlib.Path(__file__).parents[1] / "demo-out"


def main() -> int:
    OUT.mkdir(exist_ok=True)
    network.show()
    accuracy = cnn.train(picture=OUT / "cnn-loss.png")
    print(f"  accuracy on held-out digits: {accuracy:.2%}; loss curve: {OUT / 'cnn-loss.png'}")
    if accuracy < 0.98:
        print("  expected 98 % or more", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
