# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""The example programs: they pass their own checks at small sizes, and those checks can fail."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
import pytest

import cudecomp
from tests.mpi.strict_arrays import StrictPackage, strict
from tests.mpi.support import EXAMPLE_RUNS, load_example

scipy = pytest.importorskip("scipy", reason="the programs use scipy.fft")

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


@pytest.mark.parametrize("name", ["autotuned", "basic", "heat", "particle_mesh", "poisson", "taylor_green"])
def test_help(name, world, capsys):
    with pytest.raises(SystemExit) as caught:
        load_example(name).main(["--help"])
    assert caught.value.code == 0
    printed = capsys.readouterr().out
    assert (load_example(name).__doc__.splitlines()[0] in printed) == (world.rank == 0)


@pytest.mark.parametrize(
    ("name", "arguments", "complaint"),
    [
        ("basic", "--grid 4 0 4", "argument --grid: must be 1 or more, got 0"),
        ("taylor_green", "--dt 0", "argument --dt: must be above 0 and finite, got 0"),
        ("taylor_green", "--end inf", "argument --end: must be above 0 and finite, got inf"),
        ("particle_mesh", "--particles many", "argument --particles: invalid positive value: 'many'"),
    ],
)
def test_wrong_arguments(name, arguments, complaint, world, capsys):
    with pytest.raises(SystemExit) as caught:
        load_example(name).main(arguments.split())
    assert caught.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith(f"error: {complaint}\n") if world.rank == 0 else printed.err == ""


class StrictArrays:
    """`common.Arrays` of a GPU, but in host memory."""

    on_gpu = True
    backends: ClassVar = {}

    def __init__(self, device, comm):
        assert device == "gpu"
        self.xp, self.fft = StrictPackage(np), StrictPackage(scipy.fft)

    def to_host(self, array):
        return self.xp.asnumpy(array)

    def synchronize(self):
        pass


class Proxy:
    """Stands for an object that is used with `with`."""

    def __init__(self, real):
        self._real = real

    def __getattr__(self, name):
        return getattr(self._real, name)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return self._real.__exit__(*exception)


class StrictHandle(Proxy):
    def __init__(self, comm, make=cudecomp.Handle):
        super().__init__(make(comm))

    def create_grid(self, *arguments, **options):
        return StrictGrid(self._real.create_grid(*arguments, **options))


class StrictGrid(Proxy):
    def empty(self, *arguments, **options):
        return strict(self._real.empty(*arguments, **options))


@pytest.mark.parametrize(("name", "arguments"), EXAMPLE_RUNS)
def test_device_arrays_are_never_mixed_with_host_arrays(run, monkeypatch, name, arguments):
    for module in (load_example(name), load_example("poisson")):
        monkeypatch.setattr(module, "Arrays", StrictArrays)
    monkeypatch.setattr(cudecomp, "Handle", StrictHandle)
    run(name, f"{arguments} --device gpu")


def test_strict_arrays_are_strict():
    ours, theirs = StrictPackage(np).ones(3), np.ones(3)
    for mix in (
        lambda: ours + theirs,
        lambda: theirs - ours,
        lambda: np.maximum(ours, theirs),
        lambda: np.concatenate([ours, theirs]),
        lambda: ours.__setitem__(0, theirs),
        lambda: ours[theirs.astype(int)],
        lambda: StrictPackage(np).add(ours, theirs),
    ):
        with pytest.raises(TypeError, match=r"a NumPy array in .*, together with device arrays"):
            mix()
    with pytest.raises(TypeError, match="asnumpy is for device arrays, got ndarray"):
        StrictPackage(np).asnumpy(theirs)
    assert float((2 * ours - 1).sum()) == 3


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


def test_taylor_green_on_grids_that_are_hardly_enough(run):
    """A check of what the grid cannot hold would fail; what it can hold agrees with the serial program."""
    printed = run("taylor_green", "--grid 15 12 9 --end 0.2 --serial")
    assert "off the series" not in printed
    assert "largest difference to the serial program" in printed
    assert "takes 4 points or more" in run("taylor_green", "--grid 8 8 3", expected_code=2)


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


@pytest.mark.parametrize(
    "arguments",
    [
        "--order 2 --grid 16 28 36 --boundaries periodic fixed insulated",
        "--order 4 --grid 16 28 36 --boundaries insulated fixed fixed",
        "--order 6 --grid 18 32 42 --boundaries fixed periodic insulated",
        "--order 6 --grid 24 32 42 --boundaries periodic insulated periodic",
    ],
)
def test_heat_converges_and_is_the_serial_result(run, arguments):
    assert run("heat", f"{arguments} --serial").count("bit for bit") == 2


@pytest.mark.parametrize(
    ("attribute", "value", "line"),
    [
        ("SIGNS", {"fixed": 1, "insulated": -1}, "order of convergence"),
        ("COEFFICIENTS", {2: (-2, 1), 4: (-5 / 2, 4 / 3, -1 / 13)}, "order of convergence"),
    ],
)
def test_heat_sees_what_is_wrong(run, monkeypatch, attribute, value, line):
    monkeypatch.setattr(load_example("heat"), attribute, value)
    printed = run("heat", "--order 4 --grid 16 16 16", expected_code=1)
    assert [text for text in printed.splitlines() if line in text and text.endswith("TOO LARGE")]


def test_heat_sees_the_least_difference_to_the_serial_result(run, monkeypatch, world):
    if world.size == 1:
        pytest.skip("one rank is the serial program")
    solver = load_example("heat").HeatSolver
    right = solver._rate

    def slightly_off(self, u):
        rate = right(self, u)
        if self.grid.handle.nranks > 1 and self.info.lo[0] == 0:
            rate[0, 0, 0] += 1e-12
        return rate

    monkeypatch.setattr(solver, "_rate", slightly_off)
    printed = run("heat", "--order 2 --grid 16 16 16 --serial", expected_code=1)
    assert [text for text in printed.splitlines() if "bit for bit" in text and text.endswith("TOO LARGE")]


def test_heat_refuses_an_odd_grid(run):
    printed = run("heat", "--grid 16 15 16", expected_code=2)
    assert printed == "--grid takes even numbers, since the coarse grid has half the points\n"


def test_heat_refuses_a_grid_that_is_too_small(run, world):
    printed = run("heat", f"--order 6 --grid 32 {4 * world.size} 32 --pdims {world.size} 1", expected_code=2)
    assert printed.splitlines() == [
        "order 6 needs 3 points along each axis on each rank, also on the coarse grid,",
        "which has 2 here; use a larger --grid or fewer ranks",
    ]


@pytest.mark.parametrize("pdims", ["rows", "columns", "default"])
def test_particle_mesh(run, world, pdims):
    # With all ranks in one line each has a single layer of points, whose two neighbours may be one rank, or itself.
    n = world.size
    given = {"rows": f"--grid 5 {n} 6 --pdims {n} 1", "columns": f"--grid 5 6 {n} --pdims 1 {n}"}
    printed = run("particle_mesh", f"{given.get(pdims, '--grid 8 9 10')} --particles 500 --steps 2")
    assert printed.count("at most") == 5


@pytest.mark.parametrize("name", ["basic", "particle_mesh"])
def test_halos_need_a_point_on_every_rank(name, run, world):
    if world.size == 1:
        pytest.skip("one rank has all points")
    n = world.size
    printed = run(name, f"--grid 8 {n - 1} 8 --pdims {n} 1", expected_code=2)
    told = f"a halo needs {n} points or more along Y and 1 along Z: use a larger --grid or fewer ranks"
    assert printed.splitlines()[-1] == told


def test_particle_mesh_with_fewer_particles_than_ranks(run):
    run("particle_mesh", "--grid 8 9 10 --particles 1 --steps 3")


def test_particle_mesh_sees_mass_that_stays_in_the_halo(run, monkeypatch):
    monkeypatch.setattr(load_example("particle_mesh").Mesh, "fold", lambda *arguments: None)
    assert too_large(run("particle_mesh", FEW_PARTICLES, expected_code=1)) == ["mass", "density", "potential"]


def test_particle_mesh_sees_a_lost_particle(run, monkeypatch):
    particles = load_example("particle_mesh").Particles
    right = particles.migrate

    def lossy(self, owners):
        right(self, owners)
        self.rows = self.rows[1:]

    monkeypatch.setattr(particles, "migrate", lossy)
    assert too_large(run("particle_mesh", FEW_PARTICLES, expected_code=1)) == ["particles lost"]


def test_particle_mesh_sees_a_particle_that_strays(run, monkeypatch, world):
    if world.size == 1:
        pytest.skip("one rank owns all cells")
    mesh = load_example("particle_mesh").Mesh
    right = mesh.deposit

    def straying(self, particles):
        right(self, particles)
        particles.position[0, 1:3] = self.info.lo[1] - 1, self.info.lo[0] - 1

    monkeypatch.setattr(mesh, "deposit", straying)
    assert "particles on a rank" in too_large(run("particle_mesh", FEW_PARTICLES, expected_code=1))


FEW_PARTICLES = "--grid 8 8 8 --particles 500 --steps 1"


def too_large(printed: str) -> list[str]:
    """How the lines of failed checks begin."""
    beginnings = ["mass", "particles lost", "particles on a rank", "density", "potential"]
    failed = [line.strip() for line in printed.splitlines() if line.endswith("TOO LARGE")]
    return [next(text for text in beginnings if line.startswith(text)) for line in failed]
