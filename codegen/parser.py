# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a C header into a :class:`~codegen.model.Header` with libclang."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Diagnostic, Index, TranslationUnit, TypeKind
from clang.cindex import Type as ClangType

from . import CodegenError
from .comments import parse_comment
from .model import Call, Constant, Enum, Expression, Field, Function, Handle, Header, Member, Parameter, Struct, Type

STUBS = Path(__file__).parent / "stubs"

# A fixed 64-bit target: sizes and offsets must not depend on the machine that generates.
_ARGUMENTS = [
    "-x",
    "c",
    "-std=gnu11",
    "-nostdinc",
    f"-I{STUBS}",
    "-target",
    "x86_64-unknown-linux-gnu",
    "-ferror-limit=0",
]

_INTEGERS = {
    TypeKind.CHAR_U, TypeKind.CHAR_S, TypeKind.SCHAR, TypeKind.UCHAR, TypeKind.SHORT, TypeKind.USHORT, TypeKind.INT,
    TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG, TypeKind.ULONGLONG,
}  # fmt: skip
_UNSIGNED = {
    TypeKind.CHAR_U, TypeKind.UCHAR, TypeKind.USHORT, TypeKind.UINT, TypeKind.ULONG, TypeKind.ULONGLONG,
}  # fmt: skip
# Typedefs that Cython knows under the same name; every other typedef of a number is resolved.
_KNOWN_INTEGERS = {f"{u}int{bits}_t" for u in ("", "u") for bits in (8, 16, 32, 64)} | {
    "size_t",
    "intptr_t",
    "uintptr_t",
}


def parse_header(path: Path, oldest: tuple[int, int] | None = None) -> Header:
    """Parses ``path`` as C.

    Raises:
        CodegenError: The header is older than ``oldest``, is not C, or has something bindings cannot express.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CodegenError(f"cannot read the header {path}: {error.strerror}") from None
    _refuse_old(path, text, oldest)
    unit = Index.create().parse(str(path), args=_ARGUMENTS, options=TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
    _refuse_errors(path, unit)
    return _Reader(path, unit).read()


def _refuse_old(path: Path, text: str, oldest: tuple[int, int] | None) -> None:
    """Headers before 0.5 are C++; say so instead of showing a page of syntax errors."""
    version = [
        re.search(rf"^\s*#\s*define\s+CUDECOMP_{part}\s+(\d+)", text, re.M) for part in ("MAJOR", "MINOR", "PATCH")
    ]
    if oldest is None or not all(version) or (found := tuple(int(match[1]) for match in version))[:2] >= oldest:
        return
    reasons = [f"its version is {'.'.join(map(str, found))}, the oldest supported is {oldest[0]}.{oldest[1]}"]
    if match := re.search(r"^\s*#\s*include\s+<(string|vector|array|c[a-z]+)>", text, re.M):
        reasons.append(f"it includes the C++ header <{match[1]}> (line {text[: match.start(1)].count(chr(10)) + 1})")
    if match := re.search(r"^\s*enum\s+(\w+_t)\s*\{", text, re.M):
        reasons.append(
            f"it uses enum tags such as {match[1]} (line {text[: match.start(1)].count(chr(10)) + 1}) as type names, "
            "which only C++ does"
        )
    raise CodegenError(f"not supported: {path}\n" + "\n".join(f"  - {reason}" for reason in reasons))


def _refuse_errors(path: Path, unit: TranslationUnit) -> None:
    errors = [diagnostic for diagnostic in unit.diagnostics if diagnostic.severity >= Diagnostic.Error]
    if errors:
        shown = "\n".join(f"  {error.location.file}:{error.location.line}: {error.spelling}" for error in errors[:5])
        more = f"\n  … and {len(errors) - 5} more" if len(errors) > 5 else ""
        raise CodegenError(
            f"not supported: {path} does not parse as C (only mpi.h, cuda_runtime.h, stdbool.h, stddef.h and stdint.h "
            f"may be included from outside its folder):\n{shown}{more}"
        )


class _Reader:
    """Collects the declarations of one translation unit."""

    def __init__(self, path: Path, unit: TranslationUnit):
        self.path = path
        self.unit = unit
        self.sources: dict[str, bytes] = {}
        self.enums: list[Enum] = []
        self.structs: dict[str, Struct] = {}
        self.handles: dict[str, Handle] = {}
        self.functions: dict[str, Function] = {}
        # Tag → typedef name, for `typedef enum tag {...} name;` and the anonymous form.
        self.names: dict[int, str] = {}
        self.macro_uses: dict[tuple[str, int], str] = {}

    def read(self) -> Header:
        cursors = [cursor for cursor in self.unit.cursor.get_children() if self._is_ours(cursor)]
        constants, skipped = self._constants([c for c in cursors if c.kind == CursorKind.MACRO_DEFINITION])
        self.constant_names = {constant.name for constant in constants}
        for cursor in cursors:
            if cursor.kind == CursorKind.MACRO_INSTANTIATION:
                self.macro_uses[cursor.location.file.name, cursor.location.offset] = cursor.spelling
            elif cursor.kind == CursorKind.TYPEDEF_DECL:
                self._note_typedef(cursor)
        for cursor in cursors:
            self._read_declaration(cursor)
        return Header(
            version=_version(constants),
            enums=tuple(self.enums),
            structs=tuple(self.structs.values()),
            handles=tuple(self.handles.values()),
            functions=tuple(self.functions.values()),
            constants=tuple(constants),
            skipped_macros=tuple(skipped),
        )

    def _is_ours(self, cursor: Cursor) -> bool:
        """Whether a cursor is of the header or of one that came with it, rather than built in or a stub."""
        file = cursor.location.file
        return file is not None and Path(file.name).parent != STUBS

    # Names

    def _note_typedef(self, cursor: Cursor) -> None:
        declared = cursor.underlying_typedef_type.get_declaration()
        if declared.kind in (CursorKind.ENUM_DECL, CursorKind.STRUCT_DECL):
            self.names.setdefault(declared.hash, cursor.spelling)

    def _name(self, cursor: Cursor) -> str:
        """Name of an enum or struct: its typedef, else its tag; empty when it has neither."""
        if cursor.hash in self.names:
            return self.names[cursor.hash]
        return "" if "(" in cursor.spelling else cursor.spelling

    def _fail(self, cursor: Cursor, what: str) -> CodegenError:
        location = cursor.location
        return CodegenError(f"not supported: {location.file}:{location.line}: {what}")

    # Declarations

    def _read_declaration(self, cursor: Cursor) -> None:
        match cursor.kind:
            case CursorKind.ENUM_DECL if cursor.is_definition():
                self.enums.append(self._enum(cursor))
            case CursorKind.STRUCT_DECL if cursor.is_definition():
                struct = self._struct(cursor)
                self.structs[struct.name] = struct
            case CursorKind.UNION_DECL:
                raise self._fail(cursor, f"union {cursor.spelling}")
            case CursorKind.TYPEDEF_DECL:
                if self._type(cursor.type, cursor).kind == "handle":
                    self.handles[cursor.spelling] = Handle(cursor.spelling, parse_comment(cursor.raw_comment))
            case CursorKind.FUNCTION_DECL:
                function = self._function(cursor)
                # A declaration repeated, or a declaration and its inline definition: the richer one counts.
                if function.name not in self.functions or function.inline:
                    self.functions[function.name] = function
            case CursorKind.VAR_DECL:
                raise self._fail(cursor, f"variable {cursor.spelling}")

    def _comment(self, cursor: Cursor):
        """The comment of a type stands before `typedef`, which libclang gives to the tag or to the typedef."""
        if cursor.raw_comment:
            return parse_comment(cursor.raw_comment)
        name = self._name(cursor)
        for other in self.unit.cursor.get_children():
            if other.kind == CursorKind.TYPEDEF_DECL and other.spelling == name:
                return parse_comment(other.raw_comment)
        return parse_comment(None)

    def _enum(self, cursor: Cursor) -> Enum:
        members = tuple(
            Member(child.spelling, child.enum_value, parse_comment(child.raw_comment))
            for child in cursor.get_children()
            if child.kind == CursorKind.ENUM_CONSTANT_DECL
        )
        return Enum(self._name(cursor), members, cursor.type.get_size(), self._comment(cursor))

    def _struct(self, cursor: Cursor) -> Struct:
        name = self._name(cursor)
        if not name:
            raise self._fail(cursor, "a struct without a name")
        fields = []
        for child in cursor.type.get_fields():
            if child.is_bitfield():
                raise self._fail(child, f"bit field {name}.{child.spelling}")
            kind = self._type(child.type, child)
            if kind.kind == "struct" or kind.element.kind in ("struct", "char") or len(kind.shape) > 2:
                raise self._fail(child, f"field {name}.{child.spelling} of type {child.type.spelling}")
            fields.append(
                Field(child.spelling, kind, child.get_field_offsetof() // 8, parse_comment(child.raw_comment))
            )
        return Struct(name, tuple(fields), cursor.type.get_size(), self._comment(cursor))

    def _function(self, cursor: Cursor) -> Function:
        if cursor.type.kind == TypeKind.FUNCTIONPROTO and cursor.type.is_function_variadic():
            raise self._fail(cursor, f"variadic function {cursor.spelling}")
        result = self._type(cursor.result_type, cursor)
        if result.kind in ("struct", "comm"):
            raise self._fail(cursor, f"function {cursor.spelling} returns {cursor.result_type.spelling} by value")
        parameters = []
        for number, argument in enumerate(cursor.get_arguments()):
            kind = self._type(argument.type, argument)
            if kind.kind == "struct":
                raise self._fail(argument, f"parameter {argument.spelling} of {cursor.spelling} is a struct by value")
            parameters.append(Parameter(argument.spelling or f"arg{number}", kind))
        inline = self._call(cursor) if cursor.is_definition() else None
        return Function(cursor.spelling, result, tuple(parameters), inline, parse_comment(cursor.raw_comment))

    # Types

    def _type(self, clang: ClangType, at: Cursor) -> Type:
        const = clang.is_const_qualified()
        if clang.kind == TypeKind.ELABORATED:
            return self._with_const(self._type(clang.get_named_type(), at), const)
        if clang.kind == TypeKind.TYPEDEF:
            return self._with_const(self._typedef(clang, at), const)
        if clang.kind == TypeKind.VOID:
            return Type("void", "void", const=const)
        if clang.kind == TypeKind.BOOL:
            return Type("bool", "bool", 1, signed=False, const=const)
        if clang.kind in (TypeKind.CHAR_S, TypeKind.CHAR_U):
            return Type("char", "char", 1, const=const)
        if clang.kind in _INTEGERS:
            name = re.sub(r"\b(const|volatile) ", "", clang.spelling)
            return Type("int", name, clang.get_size(), clang.kind not in _UNSIGNED, const)
        if clang.kind in (TypeKind.FLOAT, TypeKind.DOUBLE):
            return Type("float", "float" if clang.kind == TypeKind.FLOAT else "double", clang.get_size(), const=const)
        if clang.kind == TypeKind.ENUM:
            return self._enum_type(clang, const)
        if clang.kind == TypeKind.RECORD:
            return Type("struct", self._name(clang.get_declaration()), const=const)
        if clang.kind == TypeKind.POINTER:
            return self._pointer(clang, at, const)
        if clang.kind in (TypeKind.CONSTANTARRAY, TypeKind.INCOMPLETEARRAY):
            length = clang.element_count if clang.kind == TypeKind.CONSTANTARRAY else None
            return Type("array", target=self._type(clang.element_type, at), length=length)
        raise self._fail(at, f"type {clang.spelling} of {at.spelling}")

    def _with_const(self, kind: Type, const: bool) -> Type:
        return replace(kind, const=True) if const else kind

    def _enum_type(self, clang: ClangType, const: bool) -> Type:
        """An enum used as a type; one without a name is just a number."""
        declaration = clang.get_declaration()
        name = self._name(declaration)
        if not name:
            return Type("int", "int", 4, const=const)
        return Type("enum", name, clang.get_size(), const=const)

    def _typedef(self, clang: ClangType, at: Cursor) -> Type:
        name = clang.get_typedef_name()
        if name == "MPI_Comm":
            return Type("comm", name)
        declaration = clang.get_declaration()
        kind = self._type(declaration.underlying_typedef_type, at)
        if kind.kind in ("int", "char") and name in _KNOWN_INTEGERS:
            return Type("int", name, kind.size, kind.signed)
        if name == "MPI_Fint":
            return replace(kind, typedef=name)
        if kind.kind == "pointer" and kind.target.kind == "opaque":
            return Type("handle" if self._is_ours(declaration) else "stream", name)
        return kind

    def _pointer(self, clang: ClangType, at: Cursor, const: bool) -> Type:
        target = clang.get_pointee()
        if target.get_canonical().kind in (TypeKind.FUNCTIONPROTO, TypeKind.FUNCTIONNOPROTO):
            raise self._fail(at, f"function pointer {at.spelling}")
        record = target.get_canonical().get_declaration()
        if record.kind == CursorKind.STRUCT_DECL and record.get_definition() is None:
            return Type("pointer", const=const, target=Type("opaque", record.spelling))
        return Type("pointer", const=const, target=self._type(target, at))

    # Macros

    def _constants(self, macros: list[Cursor]) -> tuple[list[Constant], list[str]]:
        """Evaluates every object-like macro by the compiler; those that are no number are skipped."""
        names = list(dict.fromkeys(macro.spelling for macro in macros if not _is_function_like(macro)))
        # One line per macro, so that an error tells which macro it is about.
        probe = f'#include "{self.path.resolve()}"\n'
        probe += "".join(f"enum {{ probe_{name} = (long)({name}) }};\n" for name in names)
        probe += "".join(f"enum {{ negative_{name} = ({name}) < 0 }};\n" for name in names)
        unit = Index.create().parse("probe.c", args=[*_ARGUMENTS, "-w"], unsaved_files=[("probe.c", probe)])
        failed = {
            diagnostic.location.line
            for diagnostic in unit.diagnostics
            if diagnostic.severity >= Diagnostic.Error and diagnostic.location.file.name == "probe.c"
        }
        values = {
            child.spelling: child.enum_value
            for cursor in unit.cursor.get_children()
            if cursor.kind == CursorKind.ENUM_DECL and cursor.location.file.name == "probe.c"
            for child in cursor.get_children()
        }
        constants, skipped = [], []
        for line, name in enumerate(names, start=2):
            value = values.get(f"probe_{name}")
            if line in failed or value is None:
                skipped.append(name)
                continue
            if value < 0 and not values.get(f"negative_{name}"):
                value += 1 << 64  # an unsigned number, which the cast to long has wrapped
            constants.append(Constant(name, value, self._is_pointer(name, macros)))
        return constants, skipped

    def _is_pointer(self, name: str, macros: list[Cursor]) -> bool:
        """Whether a macro casts to a pointer; the tokens say so, since libclang tells no type of a macro."""
        tokens = next([t.spelling for t in macro.get_tokens()] for macro in macros if macro.spelling == name)
        return "*" in tokens and "void" in tokens

    # Inline wrappers

    def _call(self, cursor: Cursor) -> Call:
        """The one call that a static inline wrapper consists of."""
        body = next(child for child in cursor.get_children() if child.kind == CursorKind.COMPOUND_STMT)
        statements = list(body.get_children())
        if len(statements) == 1 and statements[0].kind == CursorKind.RETURN_STMT:
            statements = list(statements[0].get_children())
        call = _unwrap(statements[0]) if len(statements) == 1 else None
        if call is None or call.kind != CursorKind.CALL_EXPR:
            raise self._fail(cursor, f"inline function {cursor.spelling} is more than one call")
        return Call(call.spelling, tuple(self._expression(argument, cursor) for argument in call.get_arguments()))

    def _expression(self, cursor: Cursor, function: Cursor) -> Expression:
        if name := self._macro_at(cursor):
            return Expression("constant", name)
        children = list(cursor.get_children())
        match cursor.kind:
            case CursorKind.UNEXPOSED_EXPR | CursorKind.PAREN_EXPR if len(children) == 1:
                return self._expression(children[0], function)
            case CursorKind.DECL_REF_EXPR:
                if cursor.referenced.kind == CursorKind.ENUM_CONSTANT_DECL:
                    return Expression("constant", cursor.spelling)
                return Expression("param", cursor.spelling, type=self._type(cursor.referenced.type, cursor))
            case CursorKind.INTEGER_LITERAL:
                return Expression("integer", next(cursor.get_tokens()).spelling.rstrip("uUlL"))
            case CursorKind.CSTYLE_CAST_EXPR:
                kind = self._type(cursor.type, cursor)
                return Expression("cast", kind.spelling(), (self._expression(children[-1], function),), kind)
            case CursorKind.CXX_UNARY_EXPR:
                return self._sizeof(cursor, function)
            case CursorKind.CONDITIONAL_OPERATOR:
                return Expression("conditional", "?:", tuple(self._expression(child, function) for child in children))
            case CursorKind.UNARY_OPERATOR if (operator := next(cursor.get_tokens()).spelling) in ("-", "~", "&", "*"):
                return Expression("unary", operator, (self._expression(children[0], function),))
            case CursorKind.BINARY_OPERATOR:
                operator = self._operator(cursor, children)
                if operator in ("+", "-", "*", "|", "&", "<<", ">>", "==", "!=", "<", ">", "<=", ">="):
                    return Expression("binary", operator, tuple(self._expression(c, function) for c in children))
        text = " ".join(token.spelling for token in cursor.get_tokens())
        raise self._fail(cursor, f"expression `{text}` in inline function {function.spelling}")

    def _operator(self, cursor: Cursor, children: list[Cursor]) -> str:
        """The token between the operands; libclang before 19 does not tell it."""
        end, start = children[0].extent.end.offset, children[1].extent.start.offset
        return self._source(cursor.location.file.name)[end:start].decode().strip("() \t\n")

    def _sizeof(self, cursor: Cursor, function: Cursor) -> Expression:
        tokens = [token.spelling for token in cursor.get_tokens()]
        name = " ".join(tokens[2:-1])
        known = {*self.structs, *(enum.name for enum in self.enums), *_KNOWN_INTEGERS, "int", "double", "float"}
        parameters = {argument.spelling for argument in function.get_arguments()}
        if tokens[0] != "sizeof" or tokens[1] != "(" or not (name in known or name.lstrip("* ") in parameters):
            raise self._fail(cursor, f"expression `{' '.join(tokens)}` in inline function {function.spelling}")
        if name.startswith("* "):
            argument = next(a for a in function.get_arguments() if a.spelling == name[2:])
            name = self._type(argument.type, argument).target.name
        return Expression("sizeof", name)

    def _macro_at(self, cursor: Cursor) -> str:
        """The constant macro that a whole expression was written as, if it was."""
        start = cursor.extent.start
        name = self.macro_uses.get((start.file.name, start.offset), "") if start.file else ""
        ends_with_it = cursor.extent.end.offset <= start.offset + len(name)
        return name if name in self.constant_names and ends_with_it else ""

    def _source(self, name: str) -> bytes:
        return self.sources.setdefault(name, Path(name).read_bytes())


def _is_function_like(macro: Cursor) -> bool:
    """Whether a macro takes parameters: its name is followed by a parenthesis without a space."""
    tokens = list(macro.get_tokens())[:2]
    return (
        len(tokens) == 2 and tokens[1].spelling == "(" and tokens[1].extent.start.offset == tokens[0].extent.end.offset
    )


def _unwrap(cursor: Cursor) -> Cursor:
    while cursor.kind in (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR):
        (cursor,) = cursor.get_children()
    return cursor


def _version(constants: list[Constant]) -> tuple[int, int, int] | None:
    values = {constant.name: constant.value for constant in constants}
    parts = [values.get(f"CUDECOMP_{part}") for part in ("MAJOR", "MINOR", "PATCH")]
    return None if None in parts else tuple(parts)
