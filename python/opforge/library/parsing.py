"""Schemas from their text: "(Tensor(a!) x, SymInt[2] n=1, *, Device? device=None) -> (Tensor, Tensor[])"."""

from __future__ import annotations

import ast
import re

from .. import _core
from .._tensors import layouts
from .conversion import converter
from .schema import REQUIRED, Parameter, Result, Schema

_TEXT = r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_TOKEN = re.compile(rf"\s*(?P<token>->|{_TEXT}|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?[A-Za-z_][\w.:]*|\S)\s*")
_WORDS = {"None": None, "True": True, "False": False, "inf": float("inf"), "-inf": -float("inf"), "nan": float("nan")}
_SYMBOLS = {"SymInt": "int", "SymFloat": "float", "SymBool": "bool"}


def parse(text: str, name: str = "") -> Schema:
    """The schema of a text, which may begin with the operator's name. ValueError for what is no schema, RuntimeError for types and defaults that cannot be."""
    head, bare = text.partition("(")[0], re.sub(_TEXT, "", text)
    if not 0 < bare.count("(") == bare.count(")") or "->" not in bare:
        raise ValueError(f"schema {text!r}: misses an arrow or a bracket (accepted: a text such as \"(Tensor x, int n=1) -> Tensor\")")
    reader = _Reader(text, text[len(head) :])
    parameters = reader.parameters()
    reader.take("->")
    results, wraps = reader.results()
    return Schema(parameters, results, name or head.strip(), wraps)


class _Reader:
    """Reads a schema token by token."""

    def __init__(self, text, body):
        self._text = text
        self._tokens = [match["token"] for match in _TOKEN.finditer(body)]

    def _error(self, reason):
        return RuntimeError(f"schema {self._text!r}: {reason}")

    def _sees(self, token):
        return bool(self._tokens) and self._tokens[0] == token

    def _next(self):
        if not self._tokens:
            raise self._error("ends too early")
        return self._tokens.pop(0)

    def take(self, token):
        """Reads this token, or raises."""
        if (found := self._next()) != token:
            raise self._error(f"{found!r} stands where {token!r} is expected")

    def _skips(self, token):
        return self._sees(token) and bool(self._next())

    def parameters(self):
        """What stands in the first brackets."""
        found, by_name = [], False
        self.take("(")
        while not self._skips(")"):
            if found or by_name:
                self.take(",")
            if self._skips("*"):
                by_name = True
                continue
            found.append(self._parameter(by_name))
            before = found[-2] if len(found) > 1 else None
            if before and not by_name and before.default is not REQUIRED and found[-1].default is REQUIRED:
                raise self._error(f"parameter {found[-1].name!r} has no default, which the one before it has")
        if len({parameter.name for parameter in found}) < len(found):
            raise self._error("two parameters have one name")
        return tuple(found)

    def _parameter(self, by_name):
        kind, alias = self._type()
        name = self._next()
        default = REQUIRED
        if self._skips("="):
            value = self._literal()
            try:
                default = converter(kind)(_meant(kind, value))
            except TypeError:
                raise self._error(f"{value!r} is no default of parameter {name!r}, which is {kind}") from None
        return Parameter(kind, alias, name, default, by_name)

    def _type(self):
        word = self._next()
        kind, alias = _SYMBOLS.get(word, word), ""
        if self._sees("(") or self._sees("!"):
            alias = self._alias()
        while self._sees("?") or self._sees("["):
            kind += self._next()
            while kind.count("[") > kind.count("]"):
                kind += self._next()
        try:
            converter(kind)
        except ValueError as error:
            raise self._error(str(error)) from None
        return kind, alias

    def _alias(self):
        """Which memory: "(a!)", also with sets of names, "(a! -> b)" and "(a|b)", or a mere "!"."""
        if self._skips("!"):
            return "!"
        self.take("(")
        parts = []
        while not self._skips(")"):
            parts.append(self._next())
        changed = "!" in parts
        return "".join(part for part in parts if part != "!") + "!" * changed

    def results(self):
        """What stands behind the arrow, and whether it is a tuple of one."""
        if not self._sees("("):
            found, wraps = (self._result(),), False
        else:
            self.take("(")
            wraps = self._skips("(")
            found = tuple(self._listed())
            if wraps:
                self.take(")")
        if self._tokens:
            raise self._error(f"{self._tokens[0]!r} stands behind its end")
        return found, wraps

    def _listed(self):
        while not self._skips(")"):
            yield self._result()
            if not self._sees(")"):
                self.take(",")

    def _result(self):
        result = Result(*self._type())
        if self._tokens and self._tokens[0].isidentifier():
            self._next()  # a name, which documents
        return result

    def _literal(self):
        token = self._next()
        if token == "[":
            items = []
            while not self._skips("]"):
                items.append(self._literal())
                self._skips(",")
            return items
        if token in _WORDS:
            return _WORDS[token]
        if token.isidentifier():
            return token
        try:
            return ast.literal_eval(token)
        except (ValueError, SyntaxError):
            raise self._error(f"{token!r} is no default") from None


def _meant(kind, value):
    """What a default's word stands for: "float32" is a dtype where the type is one."""
    if isinstance(value, str) and kind.startswith(("ScalarType", "Layout", "MemoryFormat")):
        place = _core if kind.startswith("ScalarType") else layouts
        return getattr(place, value, value)
    return value
