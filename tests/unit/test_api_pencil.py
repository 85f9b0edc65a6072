# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""PencilInfo as a value: immutable, hashable, comparable, picklable."""

import copy
import dataclasses
import pickle

import pytest

import cudecomp
from cudecomp import PencilInfo

FIELDS = {
    "shape": (8, 4, 6),
    "lo": (0, 4, 0),
    "hi": (7, 7, 3),
    "order": (2, 1, 0),
    "halo_extents": (1, 0, 0),
    "padding": (0, 0, 0),
    "size": 192,
}


def test_fields_are_those_of_the_contract():
    assert [field.name for field in dataclasses.fields(PencilInfo)] == list(FIELDS)


def test_value_semantics():
    info, same = PencilInfo(**FIELDS), PencilInfo(**FIELDS)
    assert info == same
    assert hash(info) == hash(same)
    assert len({info, same}) == 1
    for name in FIELDS:
        assert dataclasses.replace(info, **{name: None}) != info


def test_repr_and_copies():
    info = PencilInfo(**FIELDS)
    assert repr(info) == (
        "PencilInfo(shape=(8, 4, 6), lo=(0, 4, 0), hi=(7, 7, 3), order=(2, 1, 0), halo_extents=(1, 0, 0), "
        "padding=(0, 0, 0), size=192)"
    )
    assert eval(repr(info), vars(cudecomp)) == info
    for twin in (copy.copy(info), copy.deepcopy(info), pickle.loads(pickle.dumps(info))):
        assert twin == info


def test_immutable():
    info = PencilInfo(**FIELDS)
    for name in FIELDS:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(info, name, None)
    # Python 3.11 and 3.12 raise TypeError here, for slots.
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError)):
        info.other = 1
