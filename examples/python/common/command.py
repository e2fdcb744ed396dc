"""How a program ends: errors of one line and exit status 2 where the user can mend something."""

import argparse
import os
import sys


class UserError(Exception):
    """What the user can mend: a missing file, weights that do not fit the configuration. Its text is one line."""


def run(program, main):
    """Ends the process with the status that `main()` gives; a UserError or an error of the system is a line on stderr and status 2."""
    try:
        status = main()
        sys.stdout.flush()
        sys.exit(status)
    except UserError as error:
        sys.exit(_complain(program, error))
    except BrokenPipeError:  # The reader of our output has gone, as `| head` does: nobody is left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        sys.exit(_complain(program, f"{name}{error.strerror or error}"))
    except KeyboardInterrupt:
        sys.exit(130)


def _complain(program, text):
    print(f"{program}: {' '.join(str(text).split())}", file=sys.stderr)
    return 2


def at_least(lowest, kind=int):
    """A type for argparse: a number that is not below `lowest`."""

    def number(text):
        value = kind(text)
        if not value >= lowest:
            raise argparse.ArgumentTypeError(f"{text} is below {lowest}")
        return value

    number.__name__ = kind.__name__  # argparse names it where the text is no number.
    return number
