# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""Fields of configuration objects: descriptors over the memory of a C struct.

A class lists its fields once; construction, checks, copies, equality, repr and pickling follow from the list.
Assignment checks the whole value before it changes anything. What a field *means* is checked later, when a grid is
created, since fields are set one by one, and elements of array fields are set behind Python's back.
"""

import numbers
import operator
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, ClassVar, Generic, Self, SupportsIndex, TypeAlias, TypeVar, overload

import numpy as np
import numpy.typing as npt

from cudecomp._errors import InvalidUsageError

_Value = TypeVar("_Value")
_Input = TypeVar("_Input")
_Enum = TypeVar("_Enum", bound=IntEnum)

# What assignment takes. Nested fields, such as one triple per operation, take sequences of sequences.
Ints: TypeAlias = Sequence[SupportsIndex] | Sequence[Sequence[SupportsIndex]] | npt.NDArray[np.integer[Any]]
Bools: TypeAlias = Sequence[bool | np.bool_] | npt.NDArray[np.bool_]
Floats: TypeAlias = Sequence[float] | npt.NDArray[np.floating[Any] | np.integer[Any]]

INT32 = range(-(2**31), 2**31)


class Field(Generic[_Value, _Input]):
    """A field of a Record: reads from and writes to the struct member of the same name."""

    def __init__(self, default: object, doc: str) -> None:
        self.default = default
        self.__doc__ = doc

    def __set_name__(self, owner: type["Record"], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, record: None, owner: type["Record"]) -> Self: ...
    @overload
    def __get__(self, record: "Record", owner: type["Record"]) -> _Value: ...
    def __get__(self, record: "Record | None", owner: type["Record"]) -> Self | _Value:
        return self if record is None else self._read(record)

    def __set__(self, record: "Record", value: _Input) -> None:
        raise NotImplementedError

    def _read(self, record: "Record") -> _Value:
        raise NotImplementedError

    def plain(self, record: "Record") -> object:
        """The value as Python ints, floats and bools, in tuples where it is an array."""
        raise NotImplementedError

    def text(self, value: object) -> str:
        """A plain value as Python source."""
        return repr(value)


class _Scalar(Field[_Value, _Input]):
    """A single number; `convert` checks it, `present` makes what reading gives."""

    def __init__(
        self, convert: Callable[[object, str], object], present: Callable[[Any], _Value], default: object, doc: str
    ) -> None:
        super().__init__(default, doc)
        self._convert = convert
        self._present = present

    def __set__(self, record: "Record", value: _Input) -> None:
        setattr(record._struct, self.name, self._convert(value, self.name))

    def _read(self, record: "Record") -> _Value:
        return self._present(getattr(record._struct, self.name))

    def plain(self, record: "Record") -> object:
        value = self._read(record)
        return int(value) if isinstance(value, IntEnum) else value


class EnumField(_Scalar[_Enum, _Enum | int]):
    """A member of one enumeration; a value that the enumeration does not know is kept."""

    def __init__(self, kind: type[_Enum], default: _Enum, doc: str) -> None:
        def convert(value: object, name: str) -> int:
            if isinstance(value, IntEnum) and not isinstance(value, kind):
                raise TypeError(f"{name} takes a {kind.__name__}, got {value!r} of {type(value).__name__}")
            return as_int(value, name, expected=f"a {kind.__name__}")

        super().__init__(convert, kind, int(default), doc)
        self._kind = kind

    def text(self, value: object) -> str:
        known = self._kind._value2member_map_.get(value)
        # Members made on demand for unknown values have no name that evaluates.
        return f"{self._kind.__name__}.{known.name}" if known and known.name in self._kind.__members__ else repr(value)


class _Array(Field[_Value, _Input]):
    """An array; reading gives one writable NumPy view, always the same object, that keeps the struct alive."""

    def __init__(
        self, convert: Callable[[object, str], object], what: str, shape: tuple[int, ...], default: object, doc: str
    ) -> None:
        super().__init__(_filled(default, shape), doc)
        self._convert = convert
        self._what = what
        self._shape = shape

    def __set__(self, record: "Record", value: _Input) -> None:
        checked = nested(value, self._shape, self._convert, self._what, self.name)
        self._array(record)[...] = checked

    def _read(self, record: "Record") -> _Value:
        return self._array(record)  # type: ignore[return-value]

    def _array(self, record: "Record") -> npt.NDArray[Any]:
        view = record._views.get(self.name)
        if view is None:
            view = record._views[self.name] = np.asarray(getattr(record._struct, self.name))
        return view

    def plain(self, record: "Record") -> object:
        return _as_tuple(self._array(record).tolist())


def int_field(default: int, doc: str) -> _Scalar[int, SupportsIndex]:
    return _Scalar(as_int, int, default, doc)


def bool_field(default: bool, doc: str) -> _Scalar[bool, bool | np.bool_]:
    return _Scalar(as_bool, bool, default, doc)


def float_field(default: float, doc: str) -> _Scalar[float, float]:
    return _Scalar(as_float, float, default, doc)


def ints_field(shape: tuple[int, ...], default: int, doc: str) -> _Array[npt.NDArray[np.int32], Ints]:
    return _Array(as_int, "integers", shape, default, doc)


def bools_field(shape: tuple[int, ...], default: bool, doc: str) -> _Array[npt.NDArray[np.bool_], Bools]:
    return _Array(as_bool, "bools", shape, default, doc)


def floats_field(shape: tuple[int, ...], default: float, doc: str) -> _Array[npt.NDArray[np.float64], Floats]:
    return _Array(as_float, "numbers", shape, default, doc)


class Record:
    """Base of configuration objects: a C struct, with a checked field for each of its members."""

    __slots__ = ("_struct", "_views")
    __hash__ = None  # type: ignore[assignment]

    _fields: ClassVar[dict[str, Field[Any, Any]]] = {}
    _struct_type: ClassVar[type]
    _struct: Any
    _views: dict[str, npt.NDArray[Any]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        cls._fields = {**cls._fields, **own}

    def __init__(self, **fields: Any) -> None:
        object.__setattr__(self, "_struct", self._struct_type())
        object.__setattr__(self, "_views", {})
        for name in fields:
            if name not in self._fields:
                raise TypeError(f"{type(self).__name__}() has no field {name!r}{self._suggestion(name)}")
        for name, field in self._fields.items():
            setattr(self, name, fields.get(name, field.default))

    def __setattr__(self, name: str, value: object) -> None:
        try:
            object.__setattr__(self, name, value)
        except AttributeError:
            text = f"{type(self).__name__} has no field {name!r}{self._suggestion(name)}"
            raise AttributeError(text, name=name, obj=self) from None

    @classmethod
    def _suggestion(cls, name: str) -> str:
        import difflib  # only needed to help with a mistake

        close = difflib.get_close_matches(name, cls._fields, n=1)
        return f"; did you mean {close[0]!r}?" if close else f"; its fields are {', '.join(cls._fields)}"

    def _plain(self) -> dict[str, object]:
        return {name: field.plain(self) for name, field in self._fields.items()}

    def _texts(self) -> dict[str, str]:
        """Every field as Python source."""
        return {name: field.text(field.plain(self)) for name, field in self._fields.items()}

    def copy(self) -> Self:
        """Returns an independent copy; ``copy.copy`` and ``copy.deepcopy`` do the same."""
        return type(self)(**self._plain())

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[object, ...]:
        # By name and value, so that a pickle does not depend on the layout of the struct.
        return _restore, (type(self), self._plain())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._plain() == other._plain()

    def __repr__(self) -> str:
        """Fields that differ from their defaults, as a call that makes an equal object."""
        shown = (
            f"{name}={field.text(field.plain(self))}"
            for name, field in self._fields.items()
            if field.plain(self) != field.default
        )
        return f"{type(self).__name__}({', '.join(shown)})"


def _restore(kind: type[Record], fields: dict[str, object]) -> Record:
    return kind(**fields)


def as_int(value: object, name: str, expected: str = "an integer") -> int:
    """A Python int that fits 32 bits, from anything that is an integer and not a bool."""
    if isinstance(value, bool | np.bool_) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} takes {expected}, got {value!r} of type {type(value).__name__}")
    try:
        number = operator.index(value)
    except TypeError:  # arrays have __index__ but most of them cannot
        raise TypeError(f"{name} takes {expected}, got {value!r} of type {type(value).__name__}") from None
    if number not in INT32:
        raise InvalidUsageError(f"{name} is {number}, expected a 32-bit integer (-2147483648 to 2147483647)")
    return number


def as_bool(value: object, name: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} takes True or False, got {value!r} of type {type(value).__name__}")
    return bool(value)


def as_float(value: object, name: str) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} takes a number, got {value!r} of type {type(value).__name__}")
    return float(value)


def nested(
    value: object, shape: tuple[int, ...], convert: Callable[[object, str], object], what: str, name: str
) -> object:
    """Nested lists of checked elements from nested sequences or an array of exactly this shape."""
    if not shape:
        return convert(value, name)
    wanted = f"{' x '.join(map(str, shape))} {what}"
    if isinstance(value, str | bytes | Mapping) or not (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
        raise TypeError(f"{name} takes {wanted}, got {value!r} of type {type(value).__name__}")
    try:
        count = len(value)
    except TypeError:  # arrays without axes
        raise TypeError(f"{name} takes {wanted}, got {value!r}, an array without axes") from None
    if count != shape[0]:
        raise InvalidUsageError(f"{name} takes {wanted}, got {count}: {value!r}")
    return [nested(value[i], shape[1:], convert, what, f"{name}[{i}]") for i in range(count)]


def _filled(value: object, shape: tuple[int, ...]) -> object:
    """Nested tuples of one value."""
    return (_filled(value, shape[1:]),) * shape[0] if shape else value


def _as_tuple(value: object) -> object:
    return tuple(_as_tuple(item) for item in value) if isinstance(value, list) else value
