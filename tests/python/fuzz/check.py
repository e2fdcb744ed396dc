"""What must hold of every call: errors are ordinary, arguments stay as they were, results share no memory with them, gradients fit their leaves."""

from __future__ import annotations

import copy
import operator
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, nan
from typing import Any

import opforge as torch

from .calls import Program

# Beyond this many elements, values are not compared and gradients not computed.
MANY = 10**5
# The signal after this many seconds must end a call, within `LATE` more.
PATIENCE, LATE = {False: 2.0, True: 0.05}, 2.0
ORDINARY = (torch.OpforgeError, TypeError, ValueError, IndexError, NotImplementedError, OverflowError, BufferError, RuntimeError)
# What no message for users says.
INTERNAL = ("Scalar(", "Some(", "has a bug", "panicked", "internal error", "unwrap()", "poisoned")


class Interrupted(BaseException):
    """The time of a call is over."""


class Fault(Exception):
    """What must not be: a kind and what is known of it."""

    def __init__(self, kind: str, text: str):
        super().__init__(f"{kind}: {text}")
        self.kind, self.text = kind, text


class Timer:
    """Interrupts what takes long, as Ctrl-C does."""

    def __init__(self) -> None:
        self.armed, self.fired = False, 0.0
        signal.signal(signal.SIGALRM, self._ring)

    def _ring(self, *_: Any) -> None:
        if self.armed:
            raise Interrupted

    def run(self, call: Callable[[], Any], seconds: float) -> Any:
        start = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
        try:
            self.armed = True
            return call()
        finally:
            self.armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            if (late := time.monotonic() - start - seconds) > LATE:
                raise Fault("late", f"interrupted after {seconds} s, it took {late:.1f} s to end")


def leaves(value: Any) -> Iterator[Any]:
    """The tensors of a result or an argument."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves(part)


@dataclass
class Snapshot:
    """A tensor as it was before a call."""

    tensor: Any
    looks: tuple[Any, ...]
    content: bytes | None

    @staticmethod
    def of(tensor: Any) -> Snapshot:
        return Snapshot(tensor, _looks(tensor), _content(tensor))

    def check(self, name: str) -> None:
        if (looks := _looks(self.tensor)) != self.looks:
            raise Fault("changed", f"{name} was {self.looks} and is {looks} (shape, strides, dtype, version, requires_grad)")
        self.check_elements(name)

    def check_elements(self, name: str) -> None:
        try:
            content = _content(self.tensor)
        except torch.OpforgeError:
            return  # What a kernel failed to write is an error to those who read it.
        if tuple(self.tensor.shape) != self.looks[0] or content != self.content:
            raise Fault("changed", f"the elements of {name}")


def _looks(tensor: Any) -> tuple[Any, ...]:
    return tuple(tensor.shape), tensor.stride(), str(tensor.dtype), tensor._version, tensor.requires_grad


def _content(tensor: Any) -> bytes | None:
    if tensor.is_meta or tensor.numel() > MANY:
        return None
    return bytes(tensor.detach().clone().untyped_storage())


def shares(a: Any, b: Any) -> bool:
    return a.untyped_storage() is b.untyped_storage()


def repeats(tensor: Any) -> bool:
    """Whether one place in memory is several elements."""
    return tensor.numel() > 1 and any(n > 1 and step == 0 for n, step in zip(tensor.shape, tensor.stride()))


def check_sharing(results: list[Any], given: dict[str, Any]) -> None:
    for i, result in enumerate(results):
        if result.numel() == 0:
            continue
        for name, argument in given.items():
            if argument.numel() and shares(result, argument):
                raise Fault("shared", f"result {i} shares memory with {name}")
        if repeats(result):
            raise Fault("shared", f"elements of result {i} share memory: shape {tuple(result.shape)}, strides {result.stride()}")
        if any(shares(result, other) and result.storage_offset() == other.storage_offset() for other in results[:i] if other.numel()):
            raise Fault("shared", f"result {i} shares memory with another result")


def ordinary(error: BaseException) -> None:
    """Raises a fault for what is not an error as users know them."""
    kind, text = type(error), str(error)
    if kind is AttributeError and "has no attribute" in text and "'Tensor'" not in text:
        return  # Of functions in Python, which ask their arguments what they are.
    if kind.__name__ == "PanicException":
        raise Fault("panic", text)
    if not isinstance(error, ORDINARY) or isinstance(error, (SystemError, UnboundLocalError, RecursionError)):
        raise Fault("error", f"{kind.__name__}: {text}")
    if isinstance(error, torch.KernelError) and "interrupt" not in text:
        raise Fault("error", f"{kind.__name__}: {text}")
    if len(text) < 10 or any(word in text for word in INTERNAL):
        raise Fault("error", f"{kind.__name__} whose text tells nothing: {text}")


def look(results: list[Any]) -> None:
    """Reads results, so that late errors come."""
    for result in results:
        repr(result)


def differentiate(results: list[Any], given: dict[str, Any], changed: list[str]) -> None:
    """Goes back through results; leaves get gradients of their own shape and dtype, in memory of their own."""
    for result in results:
        if not result.requires_grad or result.numel() > MANY or result.is_meta:
            continue
        (result.abs() if result.is_complex() else result).sum().backward(retain_graph=True)
    for name, leaf in given.items():
        if not leaf.is_leaf or (grad := leaf.grad) is None:
            continue
        if grad.shape != leaf.shape or grad.dtype is not leaf.dtype:
            raise Fault("gradient", f"{name} is {tuple(leaf.shape)} of {leaf.dtype}, its gradient {tuple(grad.shape)} of {grad.dtype}")
        if not changed and (repeats(grad) or any(grad.numel() and shares(grad, other) for other in given.values())):
            raise Fault("shared", f"the gradient of {name} has no memory of its own: strides {grad.stride()}")
        repr(grad)


class Runner:
    """Runs programs and tells of each how it went: a kind (`fine`, `refused`, `interrupted`, `unbuilt`, or a fault's) and a text."""

    def __init__(self) -> None:
        self.timer = Timer()
        self.stray: list[str] = []
        sys.unraisablehook = self._unraisable

    def _unraisable(self, what: Any) -> None:
        if not isinstance(what.exc_value, Interrupted):
            self.stray.append(f"{type(what.exc_value).__name__}: {what.exc_value}")

    def run(self, program: Program) -> tuple[str, str]:
        space = {"torch": torch, "operator": operator, "copy": copy, "pickle": pickle, "inf": inf, "nan": nan, "called": False}
        torch.manual_seed(0)
        self.stray.clear()
        try:
            ended = self._run(program, space)
            self._settle(False)
        except Fault as fault:
            return fault.kind, fault.text
        except Interrupted:
            return "interrupted", ""
        except torch.OutOfMemoryError:
            return "unbuilt", "no memory is left to look at its arguments"
        if self.stray:
            return "error", f"raised where nobody could catch it: {self.stray[0]}"
        return ended

    def _settle(self, may_be_spared: bool) -> None:
        """Waits for kernels whose results nobody read, and sees what failed; those of an interrupted call end soon too, some at a second interrupt
        only: the first spares what changes memory with content, and may have come while nobody waited for a kernel."""
        for _ in range(100):
            try:
                return self.timer.run(torch.synchronize, PATIENCE[True] if may_be_spared else LATE)
            except Interrupted:
                if not may_be_spared:
                    raise Fault("late", f"its kernels ran for {LATE} s after it") from None
                may_be_spared = False
            except Fault:
                raise
            except BaseException as error:  # noqa: BLE001 (a panic is none of Exception)
                ordinary(error)
        raise Fault("error", "failures without an end")

    def _run(self, program: Program, space: dict[str, Any]) -> tuple[str, str]:
        try:
            self.timer.run(lambda: [space.update({name: eval(source, space)}) for name, source in program.setup], 5.0)
        except (Interrupted, Fault):
            return "unbuilt", "too slow"
        except NameError as error:
            return "unbuilt", str(error)
        except BaseException as error:  # noqa: BLE001 (a panic is none of Exception)
            ordinary(error)
            return "unbuilt", f"{type(error).__name__}: {error}"
        given = {name: space[name] for name, _ in program.setup if isinstance(space[name], torch.Tensor)}
        before = {name: Snapshot.of(tensor) for name, tensor in given.items()}
        touched = [given[name] for name in program.changed if name in given]
        kept = {name: snapshot for name, snapshot in before.items() if not any(shares(snapshot.tensor, t) for t in touched)}
        ended = self._judged(lambda: self._call(program, space, given), PATIENCE[program.stretched])
        # What functions written in Python had begun when they refused goes on.
        if ended[0] != "fine" or program.stretched:
            self._settle(ended[0] != "refused" or bool(program.changed) or "." in program.name)
        for name, snapshot in kept.items():
            snapshot.check(name)
            if program.view is not None and any(t.numel() and shares(snapshot.tensor, t) for t in touched):
                raise Fault("shared", f"what was written to shares memory with {name} now")
        # Steps of optimizers and `out` of several results may stop half-way.
        if not space["called"] and ended[0] == "refused" and "_step_(" not in program.call and "out=" not in program.call:
            for name in before.keys() - kept.keys():
                before[name].check_elements(name)
        return ended

    def _judged(self, call: Callable[[], None], seconds: float) -> tuple[str, str]:
        try:
            self.timer.run(call, seconds)
        except Interrupted:
            return "interrupted", ""
        except Fault:
            raise
        except BaseException as error:  # noqa: BLE001 (a panic is none of Exception)
            ordinary(error)
            return "refused", f"{type(error).__name__}: {error}"
        return "fine", ""

    def _call(self, program: Program, space: dict[str, Any], given: dict[str, Any]) -> None:
        result = eval(program.call, space)
        space["called"] = True
        results = list(leaves(result))
        if program.returned:
            meant = list(leaves(eval(program.returned, space)))
            if any(a is not b for a, b in zip(results, meant, strict=True)):
                raise Fault("returned", f"it returned another object than {program.returned}")
        elif program.view is False:
            check_sharing(results, given)
        look(results)
        differentiate(results, given, program.changed)
