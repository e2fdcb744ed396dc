# Written by `make generate` from the declared functions; do not edit.
# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc"
from typing import Any

