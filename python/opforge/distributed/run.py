"""PyTorch's launcher: `python -m opforge.distributed.run --nproc-per-node 2 train.py`, or `opforge run -m torch.distributed.run ..`.

It starts the processes of one machine, with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; `import torch` means opforge in them. On several machines it
is called on each, with `--nnodes`, `--node-rank` and rank 0's `--master-addr` and `--master-port`. Processes are not started again when they fail.
"""

from __future__ import annotations

import argparse
import os
import sys

from ..cli import ranks

__all__ = ["get_args_parser", "main", "parse_args", "run"]

_PORT = 29500
# PyTorch's options that change nothing here.
_IGNORED = "rdzv-backend rdzv-conf max-restarts monitor-interval start-method role log-dir redirects tee local-addr"


def get_args_parser() -> argparse.ArgumentParser:
    """The parser of the command's arguments."""
    parser = argparse.ArgumentParser(prog="torchrun", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--nproc-per-node", "--nproc_per_node", default="1", metavar="N", help="how many processes this machine runs; auto or cpu: one for each of its CPUs")
    add("--nnodes", type=int, default=1, help="how many machines there are")
    add("--node-rank", "--node_rank", type=int, default=0, help="this machine's number")
    add("--master-addr", "--master_addr", default="127.0.0.1", help="the machine of rank 0")
    add("--master-port", "--master_port", type=int, help=f"where rank 0 listens; by default any port that is free, with several machines {_PORT}")
    add("--rdzv-endpoint", "--rdzv_endpoint", default="", metavar="HOST:PORT", help="another form of --master-addr and --master-port")
    add("--standalone", action="store_true", help="one machine, any port")
    add("-m", "--module", action="store_true", help="the program is a module, as in python -m")
    add("--no-python", "--no_python", action="store_true", help="the program is a command")
    add("--rdzv-id", "--rdzv_id", default="none", help="a name for the run, as TORCHELASTIC_RUN_ID")
    for name in _IGNORED.split():
        add(*{f"--{name}", f"--{name.replace('-', '_')}"}, help=argparse.SUPPRESS)
    add("training_script", metavar="PROGRAM")
    add("training_script_args", metavar="..", nargs=argparse.REMAINDER)
    return parser


def parse_args(args=None) -> argparse.Namespace:
    """The command's arguments. Raises SystemExit for wrong ones."""
    parser = get_args_parser()
    args = parser.parse_args(args)
    if args.nproc_per_node in ("auto", "cpu"):
        args.nproc_per_node = os.cpu_count() or 1
    elif not args.nproc_per_node.isdigit() or int(args.nproc_per_node) < 1:
        parser.error(f"--nproc-per-node {args.nproc_per_node}: expected a number, auto or cpu")
    args.nproc_per_node = int(args.nproc_per_node)
    if not 0 <= args.node_rank < args.nnodes:
        parser.error(f"--node-rank {args.node_rank}: expected 0 to {args.nnodes - 1}")
    return args


def _address(args):
    """Where rank 0 listens."""
    host, _, port = args.rdzv_endpoint.rpartition(":") if not args.standalone else ("", "", "")
    port = int(port or args.master_port or 0)
    return host or args.master_addr, port or (ranks.free_port() if args.nnodes == 1 else _PORT)


def run(args) -> int:
    """Runs the program as the arguments say; the exit status of the first process that failed."""
    address, port = _address(args)
    command = [*([] if args.no_python else [sys.executable, "-m", "opforge", "run"]), *(["-m"] if args.module else [])]
    each = {"TORCHELASTIC_RUN_ID": args.rdzv_id, "TORCHELASTIC_RESTART_COUNT": "0"}
    of_rank = lambda local: ranks.variables(local, args.nproc_per_node, address, port, node=args.node_rank, nodes=args.nnodes)
    environments = [each | of_rank(local) for local in range(args.nproc_per_node)]
    status, how = ranks.run([*command, args.training_script, *args.training_script_args], environments)
    if how is not None:
        print(f"torchrun: {how}", file=sys.stderr)
    return status


def main(args=None):
    """The command. Raises SystemExit with the status of the first process that failed, if one did."""
    if status := run(parse_args(args)):
        raise SystemExit(status)


if __name__ == "__main__":
    main()
