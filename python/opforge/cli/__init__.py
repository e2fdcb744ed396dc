"""The command `opforge`: custom operators are checked, timed, and begun from a template; PyTorch's programs are run."""

from __future__ import annotations

import argparse
import sys


def main(argv=None) -> int:
    """Runs the command. Returns 0, or 1 when an operator is to blame, or 2 for wrong use."""
    from . import bench, check, new_op, run

    argv = sys.argv[1:] if argv is None else list(argv)
    if argv and argv[0].endswith(".py"):
        argv.insert(0, "run")
    parser = argparse.ArgumentParser(prog="opforge", description="Tools for custom operators, and PyTorch's programs on opforge.")
    commands = parser.add_subparsers(required=True, metavar="command")
    for module in (check, bench, new_op, run):
        module.add_to(commands)
    args = parser.parse_args(argv, argparse.Namespace(argv=argv))

    from .. import CustomOpError, OpforgeError

    try:
        done = args.run(args)
    except (OpforgeError, OSError, UsageError) as error:
        print(f"opforge: {error}", file=sys.stderr)
        return 1 if isinstance(error, CustomOpError) else 2
    # A program of the user's, whose errors are shown as Python shows them.
    return done() if callable(done) else done


class UsageError(Exception):
    """Arguments that are wrong, or make no sense together."""
