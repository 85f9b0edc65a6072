# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What the generator knows of a C header."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Type:
    """A C type.

    ``kind`` is one of ``void``, ``bool``, ``int``, ``float``, ``char`` (as in strings), ``enum``, ``struct``,
    ``handle`` (a pointer to a struct that the header leaves undefined), ``comm`` (MPI_Comm), ``stream`` (a pointer type
    of another library), ``opaque`` (what such pointers point to), ``pointer`` and ``array``; the last two have a
    ``target``.
    """

    kind: str
    name: str = ""
    size: int = 0  # bytes, for the arithmetic kinds
    signed: bool = True
    const: bool = False
    target: Type | None = None
    length: int | None = None  # of an array; None for []
    typedef: str = ""  # the name it had in the header, where that says something about its use

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Lengths of an array, outermost first; empty for everything else."""
        return (self.length, *self.target.shape) if self.kind == "array" else ()

    @property
    def element(self) -> Type:
        """What an array is made of, the type itself for everything else."""
        return self.target.element if self.kind == "array" else self

    def spelling(self) -> str:
        """The type in C, for people and for comparisons."""
        if self.kind == "pointer":
            return f"{self.target.spelling()}*{' const' if self.const else ''}"
        if self.kind == "array":
            lengths = "".join(f"[{'' if length is None else length}]" for length in self.shape)
            return self.element.spelling() + lengths
        return f"{'const ' if self.const else ''}{self.name}"


@dataclass(frozen=True)
class Comment:
    """A doc comment, split into its parts."""

    summary: str = ""
    details: tuple[str, ...] = ()  # paragraphs
    parameters: dict[str, str] = field(default_factory=dict)
    returns: str = ""
    sections: tuple[tuple[str, str], ...] = ()  # (title, text) of every @par


@dataclass(frozen=True)
class Member:
    name: str
    value: int
    comment: Comment = Comment()


@dataclass(frozen=True)
class Enum:
    """An enum; ``name`` is empty for one that only names constants."""

    name: str
    members: tuple[Member, ...]
    size: int = 4
    comment: Comment = Comment()


@dataclass(frozen=True)
class Field:
    name: str
    type: Type
    offset: int
    comment: Comment = Comment()


@dataclass(frozen=True)
class Struct:
    name: str
    fields: tuple[Field, ...]
    size: int
    comment: Comment = Comment()


@dataclass(frozen=True)
class Handle:
    """An opaque pointer type."""

    name: str
    comment: Comment = Comment()


@dataclass(frozen=True)
class Expression:
    """A node of an argument of an inline wrapper.

    ``kind`` is ``param``, ``constant`` (macro or enumerator), ``integer``, ``sizeof``, ``cast``, ``conditional``,
    ``unary`` or ``binary``. ``text`` is the name, number, type or operator; ``boolean`` says of a conditional's first
    operand whether it is a pointer (``"pointer"``) or a number (``"number"``).
    """

    kind: str
    text: str = ""
    operands: tuple[Expression, ...] = ()
    type: Type | None = None

    def spelling(self) -> str:
        match self.kind:
            case "sizeof":
                return f"sizeof({self.text})"
            case "cast":
                return f"({self.text}){self.operands[0].spelling()}"
            case "conditional":
                return "{} ? {} : {}".format(*(operand.spelling() for operand in self.operands))
            case "unary":
                return f"{self.text}{self.operands[0].spelling()}"
            case "binary":
                return f"({self.operands[0].spelling()} {self.text} {self.operands[1].spelling()})"
        return self.text


@dataclass(frozen=True)
class Call:
    """What an inline wrapper does: one call."""

    function: str
    arguments: tuple[Expression, ...]

    def spelling(self) -> str:
        return f"{self.function}({', '.join(argument.spelling() for argument in self.arguments)})"


@dataclass(frozen=True)
class Parameter:
    name: str
    type: Type


@dataclass(frozen=True)
class Function:
    """A function; ``inline`` is set for a static inline wrapper, which the library does not export."""

    name: str
    result: Type
    parameters: tuple[Parameter, ...]
    inline: Call | None = None
    comment: Comment = Comment()


@dataclass(frozen=True)
class Constant:
    """A macro with a value; ``pointer`` for one like ``((void*)0)``."""

    name: str
    value: int
    pointer: bool = False


@dataclass(frozen=True)
class Header:
    """Everything bindings are made from, in the order of the header."""

    version: tuple[int, int, int] | None
    enums: tuple[Enum, ...]
    structs: tuple[Struct, ...]
    handles: tuple[Handle, ...]
    functions: tuple[Function, ...]
    constants: tuple[Constant, ...]
    skipped_macros: tuple[str, ...] = ()

    @property
    def version_text(self) -> str:
        return ".".join(map(str, self.version)) if self.version else "unknown version"

    def summary(self) -> dict[str, Any]:
        """The binary interface as plain data: what model.json holds and reports compare."""
        return {
            "version": self.version_text,
            "constants": {constant.name: constant.value for constant in self.constants},
            "enums": {
                enum.name or "(anonymous)": {member.name: member.value for member in enum.members}
                for enum in self._named_enums()
            },
            "handles": [handle.name for handle in self.handles],
            "structs": {
                struct.name: {
                    "size": struct.size,
                    "fields": {f.name: {"type": f.type.spelling(), "offset": f.offset} for f in struct.fields},
                }
                for struct in self.structs
            },
            "functions": {
                function.name: {
                    "result": function.result.spelling(),
                    "parameters": {parameter.name: parameter.type.spelling() for parameter in function.parameters},
                    "calls": function.inline.spelling() if function.inline else None,
                }
                for function in self.functions
            },
        }

    def _named_enums(self) -> list[Enum]:
        """The enums, all anonymous ones merged into one."""
        named = [enum for enum in self.enums if enum.name]
        loose = tuple(member for enum in self.enums if not enum.name for member in enum.members)
        return [*named, Enum("", loose)] if loose else named
