# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""How each C function looks from Cython and from Python.

The rules, for a parameter that the annotation table says nothing about:

======================================== ============================================================
number, bool                             the same in Python
enum                                     an int, so any IntEnum member
handle, stream, communicator, ``void*``  an int (the address, or the value of the communicator)
``const char*``                          a str or bytes
pointer to a struct                      an object of the struct's class; None too if const
``const T[]``, ``const T*`` of a number  a sequence, None for null
``T[n]``                                 a tuple that is returned
pointer to number, enum, handle, void*   returned
======================================== ============================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field

from . import CodegenError
from .annotations import LOCAL_NAMES, Annotations, FunctionFacts, safe_name
from .model import Comment, Expression, Function, Parameter, Type

_ADDRESSES = ("handle", "stream", "comm")

# Integers that conversions know by another name.
_BUILTIN_NUMBERS = {
    "char": "int8_t",
    "signed char": "int8_t",
    "unsigned char": "uint8_t",
    "short": "int16_t",
    "unsigned short": "uint16_t",
    "unsigned int": "uint32_t",
    "long": "int64_t",
    "long long": "int64_t",
    "unsigned long": "uint64_t",
    "unsigned long long": "uint64_t",
    "uintptr_t": "size_t",
}


@dataclass
class Argument:
    """One parameter of the Python function, or one of its return values, as lines of Cython."""

    name: str  # in Python
    passed: str  # the expression the C function gets
    signature: str = ""  # in the .pyx; empty when Python does not pass it
    stub: str = ""  # type in the .pyi
    nullable: bool = False
    setup: list[str] = field(default_factory=list)
    returned: str = ""  # expression; empty when it is no return value
    doc: str = ""


@dataclass
class BoundFunction:
    """A function of the Python level."""

    c_name: str
    name: str
    arguments: list[Argument]
    keeps_gil: bool
    checked: bool  # returns a status
    result: str  # C type of the result, empty for void or status
    result_value: str  # the Python value of `result`
    result_stub: str
    comment: Comment

    @property
    def inputs(self) -> list[Argument]:
        return [argument for argument in self.arguments if argument.signature]

    @property
    def outputs(self) -> list[Argument]:
        return [argument for argument in self.arguments if argument.returned]

    @property
    def signature(self) -> list[str]:
        return self._with_defaults("signature")

    @property
    def stub_signature(self) -> list[str]:
        return self._with_defaults("stub")

    @property
    def stub_result(self) -> str:
        types = ([self.result_stub] if self.result_value else []) + [argument.stub for argument in self.outputs]
        return "None" if not types else types[0] if len(types) == 1 else f"tuple[{', '.join(types)}]"

    @property
    def passed(self) -> list[str]:
        return [argument.passed for argument in self.arguments]

    @property
    def returned(self) -> str:
        values = ([self.result_value] if self.result_value else []) + [argument.returned for argument in self.outputs]
        return ", ".join(values)

    def _with_defaults(self, what: str) -> list[str]:
        """Parameters in order; nullable ones at the end may be left out."""
        inputs = self.inputs
        required = max((number for number, argument in enumerate(inputs, 1) if not argument.nullable), default=0)
        texts = []
        for number, argument in enumerate(inputs, 1):
            if what == "stub":
                text = f"{argument.name}: {argument.stub}" + (" = ..." if number > required else "")
            else:
                text = argument.signature + ("=None" if number > required else "")
            texts.append(text)
        return texts


def cython_type(kind: Type) -> str:
    """A type as cycudecomp.pxd spells it."""
    match kind.kind:
        case "pointer":
            if kind.target.kind == "opaque":
                return "void*"
            return cython_type(kind.target) + "*" + (" const" if kind.const else "")
        case "array":
            return cython_type(kind.element) + "*"
    names = {"comm": "intptr_t", "stream": "void*", "bool": "bool_t"}
    return ("const " if kind.const else "") + names.get(kind.kind, kind.name)


def number_type(kind: Type) -> str:
    """The number that stands for a value of this type in conversions and views."""
    if kind.kind == "enum":
        return "int"
    if kind.kind in (*_ADDRESSES, "pointer"):
        return "intptr_t"
    return "bool_t" if kind.kind == "bool" else _BUILTIN_NUMBERS.get(kind.name, kind.name)


class Binder:
    """Makes BoundFunctions; ``number_types`` collects the conversions they need."""

    def __init__(self, annotations: Annotations):
        self.annotations = annotations
        self.number_types: set[str] = set()

    def bind(self, function: Function, facts: FunctionFacts) -> BoundFunction:
        unknown = set(facts.out) - {parameter.name for parameter in function.parameters}
        if unknown:
            raise CodegenError(
                f"{self.annotations.source}: {function.name}: out names {min(unknown)}, which is no parameter; "
                f"they are {', '.join(parameter.name for parameter in function.parameters)}"
            )
        checked = function.result.kind == "enum" and function.result.name == self.annotations.status_enum
        result, value, stub = ("", "", "") if checked else self._result(function.result)
        arguments = []
        for parameter in function.parameters:
            argument = self._argument(function, parameter, parameter.name in facts.out)
            argument.doc = _document(parameter.type, function.comment.parameters.get(parameter.name, ""))
            arguments.append(argument)
        return BoundFunction(
            function.name, facts.python, arguments, facts.gil == "kept", checked, result, value, stub, function.comment
        )

    def _result(self, kind: Type) -> tuple[str, str, str]:
        """C type, Python value and stub type of a result that is no status."""
        match kind.kind:
            case "void":
                return "", "", ""
            case "enum":
                name = self.annotations.enum_name(kind.name)
                return cython_type(kind), f"enum_member(_{name}_members, {name}, <int>result)", name
            case "pointer" if kind.target.kind == "char":
                return "const char*", 'result.decode() if result != NULL else ""', "str"
            case "pointer" | "handle" | "stream":
                return cython_type(kind), "<intptr_t>result", "int"
            case "bool":
                return "bool_t", "result != 0", "bool"
            case "float":
                return kind.name, "result", "float"
        return cython_type(kind), "result", "int"

    def _argument(self, function: Function, parameter: Parameter, out: bool) -> Argument:
        name, kind = safe_name(parameter.name, LOCAL_NAMES), parameter.type
        target = kind.target
        match kind.kind:
            case "bool" | "enum" | "int" | "float" | "char":
                return self._scalar(name, kind)
            case "handle" | "stream" | "comm":
                return self._address(name, kind)
            case "array":
                return self._array(function, parameter, name)
        match target.kind:
            case "struct":
                return self._struct(name, target, out)
            case "char" if target.const:
                setup = [
                    f'cdef bytes {name}_bytes = as_bytes({name}, "{name}")',
                    f"cdef const char* {name}_pointer = {name}_bytes",
                ]
                return Argument(name, f"{name}_pointer", name, "str | bytes", setup=setup)
            case "int" | "float" | "bool" if target.const:
                return self._sequence(name, target, self.annotations.array_length)
            case "int" | "float" | "bool" | "enum" | "handle" if not target.const:
                return self._output(name, target)
            case "pointer" if target.target.kind in ("void", "opaque") and not target.const:
                return self._output(name, target)
        return self._address(name, kind)

    def _scalar(self, name: str, kind: Type) -> Argument:
        number = number_type(kind)
        self.number_types.add(number)
        setup = [f'cdef {number} {name}_value = to_{number}({name}, "{name}")']
        cast = f"<{kind.name}>" if kind.kind == "enum" else ""
        return Argument(name, f"{cast}{name}_value", name, self._stub_input(kind), setup=setup)

    def _address(self, name: str, kind: Type) -> Argument:
        self.number_types.add("intptr_t")
        setup = [f'cdef intptr_t {name}_value = to_intptr_t({name}, "{name}")']
        cast = "" if kind.kind == "comm" else f"<{cython_type(kind)}>"
        return Argument(name, f"{cast}{name}_value", name, "int", setup=setup)

    def _struct(self, name: str, target: Type, out: bool) -> Argument:
        python = self.annotations.struct_name(target.name)
        if out:
            setup = [f"cdef {python} {name} = {python}.__new__({python})"]
            return Argument(name, f"&{name}.data", stub=python, setup=setup, returned=name)
        if target.const:
            setup = [
                f"cdef const {target.name}* {name}_pointer = NULL",
                f"if {name} is not None:",
                f"    {name}_pointer = &{name}.data",
            ]
            return Argument(name, f"{name}_pointer", f"{python} {name}", f"{python} | None", True, setup)
        return Argument(name, f"&{name}.data", f"{python} {name} not None", python)

    def _array(self, function: Function, parameter: Parameter, name: str) -> Argument:
        kind = parameter.type
        if len(kind.shape) > 1 or kind.element.kind not in ("int", "float", "bool", "enum"):
            raise CodegenError(
                f"not supported: parameter {parameter.name} of {function.name} has type {kind.spelling()}; arrays of "
                "one dimension over numbers are"
            )
        if kind.element.const:
            return self._sequence(name, kind.element, kind.length or self.annotations.array_length)
        if kind.length is None:
            return self._address(name, kind)
        values = ", ".join(self._value(kind.element, f"{name}_values[{i}]") for i in range(kind.length))
        setup = [f"cdef {cython_type(kind.element)} {name}_values[{kind.length}]",
                 f"memset({name}_values, 0, sizeof({name}_values))"]  # fmt: skip
        element = self._stub(kind.element)
        return Argument(name, f"&{name}_values[0]", setup=setup, returned=f"({values},)", stub=f"tuple[{element}, ...]")

    def _sequence(self, name: str, element: Type, length: int) -> Argument:
        number = number_type(element)
        self.number_types.add(number)
        stub = {"float": "Sequence[float]", "bool": "Sequence[bool]"}.get(element.kind, "Sequence[int]")
        setup = [
            f"cdef {number} {name}_values[{length}]",
            f"cdef const {number}* {name}_pointer = NULL",
            f"if {name} is not None:",
            f'    read_{number}({name}, {name}_values, {length}, "{name}", -1)',
            f"    {name}_pointer = {name}_values",
        ]
        cast = f"<const {element.name}*>" if element.kind == "enum" else ""
        return Argument(name, f"{cast}{name}_pointer", name, f"{stub} | None", True, setup)

    def _output(self, name: str, target: Type) -> Argument:
        zero = "NULL" if target.kind in ("handle", "pointer") else f"<{target.name}>0" if target.kind == "enum" else "0"
        setup = [f"cdef {cython_type(target)} {name} = {zero}"]
        return Argument(name, f"&{name}", setup=setup, returned=self._value(target, name), stub=self._stub(target))

    def _value(self, kind: Type, expression: str) -> str:
        """A C value as a Python one."""
        match kind.kind:
            case "handle" | "pointer":
                return f"<intptr_t>{expression}"
            case "bool":
                return f"{expression} != 0"
            case "enum":
                name = self.annotations.enum_name(kind.name)
                return f"enum_member(_{name}_members, {name}, <int>{expression})"
        return expression

    def _stub_input(self, kind: Type) -> str:
        return {"bool": "bool", "float": "float"}.get(kind.kind, "int")

    def _stub(self, kind: Type) -> str:
        if kind.kind == "enum":
            return self.annotations.enum_name(kind.name)
        return {"bool": "bool", "float": "float"}.get(kind.kind, "int")


def _document(kind: Type, comment: str) -> str:
    """A parameter's comment, with what Python users must know of communicators."""
    more = {"MPI_Comm": "the value of the C handle, ``comm.handle`` of mpi4py", "MPI_Fint": "``comm.py2f()`` of mpi4py"}
    name = kind.name if kind.kind == "comm" else kind.typedef
    return "; ".join(part for part in (comment, more.get(name, "")) if part)


def expression(node: Expression, boolean: bool = False) -> str:
    """An argument of an inline wrapper in Cython."""
    match node.kind:
        case "sizeof":
            return f"sizeof({node.text})"
        case "cast":
            return f"<{cython_type(node.type)}>({expression(node.operands[0])})"
        case "conditional":
            condition, yes, no = node.operands
            return f"({expression(yes)} if {expression(condition, boolean=True)} else {expression(no)})"
        case "unary" if node.text == "*":
            return f"{expression(node.operands[0])}[0]"
        case "unary":
            return f"({node.text}{expression(node.operands[0])})"
        case "binary":
            return f"({expression(node.operands[0])} {node.text} {expression(node.operands[1])})"
        case "param" if boolean and node.type.kind in ("pointer", "array", "handle", "stream"):
            return f"{node.text} != NULL"
    return node.text
