# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The example programs: they pass their own checks at small sizes, and those checks can fail."""

from __future__ import annotations

import itertools

import pytest

import cudecomp
from tests.mpi.support import load_example

Y = 1


@pytest.fixture(autouse=True)
def _builtin_library(monkeypatch):
    monkeypatch.setenv("CUDECOMP_LIBRARY", "builtin")  # as the programs set it for NumPy, but for this test only


@pytest.fixture
def run(world, capsys):
    """Runs a program on all ranks; what rank 0 prints, after checking its exit code and that the others are silent."""

    def run(name: str, arguments: str, expected_code: int = 0) -> str:
        code = load_example(name).main(arguments.split())
        printed = capsys.readouterr()
        assert code == expected_code, printed.out
        assert printed.err == ""
        if world.rank:
            assert printed.out == ""
        else:
            assert ("TOO LARGE" in printed.out) == (expected_code == 1)
        return world.bcast(printed.out)

    return run


@pytest.mark.parametrize("name", ["autotuned", "basic", "poisson", "taylor_green"])
def test_help(name, world, capsys):
    with pytest.raises(SystemExit) as caught:
        load_example(name).main(["--help"])
    assert caught.value.code == 0
    printed = capsys.readouterr().out
    assert (load_example(name).__doc__.splitlines()[0] in printed) == (world.rank == 0)


def test_basic(run, world):
    printed = run("basic", "--grid 9 10 11")
    assert printed.count("wrong cells") == 5
    assert printed.count("global indices from") == 3 * world.size


def test_basic_sees_a_wrong_cell(run, monkeypatch):
    basic = load_example("basic")
    numbers, calls = basic.cell_numbers, itertools.count()
    # The second call is about the Y-pencil: it goes in as it should, and comes out as something else.
    monkeypatch.setattr(basic, "cell_numbers", lambda *a, **o: numbers(*a, **o) + (next(calls) == Y))
    assert run("basic", "--grid 8 8 8", expected_code=1).count("TOO LARGE") == 2


def test_autotuned_measures_then_reuses(run, world, tmp_path):
    path = world.bcast(tmp_path / "tuned.json")
    first = run("autotuned", f"--grid 16 12 20 --trials 1 --report {path} --dtype complex64")
    assert "transpose backend" in first
    assert f"Kept in {path}" in first
    second = run("autotuned", f"--grid 16 12 20 --trials 1 --report {path} --dtype complex64")
    assert f"Nothing is measured: the choice comes from {path}" in second
    assert "transpose backend" not in second

    def choice(text):
        return [line for line in text.splitlines() if line.startswith("Chosen")]

    assert choice(first) == choice(second)
    assert len(choice(first)) == 1


def test_autotuned_tells_why_a_report_does_not_fit(run, world, tmp_path):
    path = world.bcast(tmp_path / "tuned.json")
    run("autotuned", f"--grid 16 12 20 --trials 1 --report {path}")
    other = run("autotuned", f"--grid 16 12 24 --trials 1 --report {path}")
    assert f"{path} is not used: report does not fit: config.gdims is (16, 12, 24)" in other
    assert f"Kept in {path}" in other
    assert cudecomp.AutotuneReport.from_json(path.read_text()).config.gdims.tolist() == [16, 12, 24]


TAYLOR_GREEN = "--grid 12 10 15 --end 0.12 --dt 0.04 --serial"


def test_taylor_green_agrees_with_the_serial_program(run):
    printed = run("taylor_green", TAYLOR_GREEN)
    assert "velocity, largest difference to the serial program" in printed


def test_taylor_green_at_a_low_reynolds_number(run):
    assert "off the series" in run("taylor_green", "--grid 16 16 16 --end 0.2 --dt 0.02 --reynolds 20")


@pytest.mark.parametrize(
    ("method", "line"),
    [("remove_divergence", "divergence"), ("curl", "off the series"), ("mean_square", "energy at the start")],
)
def test_taylor_green_sees_what_is_wrong(run, monkeypatch, method, line):
    box = load_example("taylor_green").SpectralBox
    right = getattr(box, method)
    wrong = {
        "remove_divergence": lambda self, field: None,
        "curl": lambda self, field, axis: 1.01 * right(self, field, axis),
        "mean_square": lambda self, field, factor=1: 1.01 * right(self, field, factor),
    }
    monkeypatch.setattr(box, method, wrong[method])
    printed = run("taylor_green", TAYLOR_GREEN, expected_code=1)
    assert [text for text in printed.splitlines() if line in text and text.endswith("TOO LARGE")]
