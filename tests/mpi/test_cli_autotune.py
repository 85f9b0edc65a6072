# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0

"""`cudecomp autotune` on all ranks: what it chooses, prints, saves and draws."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from mpi4py import MPI

import cudecomp
from cudecomp._cli import autotune, make_parser
from cudecomp._cli.launch import CommandError
from cudecomp._cli.tables import Printer
from tests.parallel import assert_raises_everywhere, environment, same_everywhere


def run(comm: MPI.Comm, *arguments: object) -> str:
    stream = io.StringIO()
    options = make_parser().parse_args(["autotune", "--grid", "16", "12", "8", *map(str, arguments)])
    assert autotune.autotune(comm, Printer(stream), options) == 0
    return stream.getvalue()


@pytest.fixture
def folder(comm: MPI.Comm, tmp_path: Path) -> Path:
    """One folder for all ranks."""
    return comm.bcast(tmp_path)


def test_it_chooses_saves_and_draws(comm: MPI.Comm, folder: Path) -> None:
    report_file, picture = folder / "report.json", folder / "heat.png"
    text = run(comm, "--halo-extents", 1, 0, 0, "--halo-periods", "--save", report_file, "--plot", picture)
    same_everywhere(comm, text)
    comm.Barrier()
    report = cudecomp.AutotuneReport.from_json(report_file.read_text())
    assert picture.read_bytes().startswith(b"\x89PNG")
    config = cudecomp.GridDescConfig(gdims=(16, 12, 8))
    assert report.config == config
    for name in ("pdims", "transpose_comm_backend", "halo_comm_backend"):
        setattr(config, name, getattr(report.chosen, name))
    lines = text.splitlines()
    ranks = f"{comm.size} rank{'s' * (comm.size != 1)}"
    assert lines[0].startswith(f"16 x 12 x 8 points of float64 on {ranks}, ")
    assert f"chosen: {config}" in lines
    assert lines[-2:] == [f"wrote {report_file}", f"wrote {picture}"]
    candidates = [entry for entry in report.candidates if entry.kind == "transpose"]
    assert text.count("MPI_A2A  ") == len({entry.pdims for entry in candidates})
    # The report makes the same choice in a program.
    options = autotune.tuning_of(
        make_parser().parse_args("autotune --grid 16 12 8 --halo-extents 1 0 0 --halo-periods".split())
    )
    fresh = cudecomp.GridDescConfig(gdims=(16, 12, 8))
    with cudecomp.Handle(comm) as handle, handle.create_grid(fresh, options, report=report):
        assert fresh == config


def test_json(comm: MPI.Comm) -> None:
    report = cudecomp.AutotuneReport.from_json(
        run(comm, "--json", "--backends", "MPI_A2A", "--trials", 1, "--warmup", 0)
    )
    same_everywhere(comm, report.to_json())
    assert {entry.backend for entry in report.candidates} == {cudecomp.TransposeCommBackend.MPI_A2A}
    assert report.options.n_trials == 1


def test_candidates(comm: MPI.Comm) -> None:
    """Rows and columns narrow the process grids; halo updates may decide, in a process grid that is given."""
    report = cudecomp.AutotuneReport.from_json(run(comm, "--json", "--rows", 1, 1, "--cols", comm.size, comm.size))
    assert {entry.pdims for entry in report.candidates} == {(1, comm.size)}
    arguments = ["--mode", "halo", "--halo-extents", 1, 1, 1, "--transpose-backend", "MPI_A2A", "--pdims", comm.size, 1]
    report = cudecomp.AutotuneReport.from_json(run(comm, "--json", *arguments))
    assert [(entry.kind, entry.pdims) for entry in report.candidates] == [("halo", (comm.size, 1))] * 2
    assert report.chosen.transpose_comm_backend == cudecomp.TransposeCommBackend.MPI_A2A


def test_nothing_to_choose(comm: MPI.Comm) -> None:
    arguments = ["--pdims", 1, comm.size, "--transpose-backend", "MPI_P2P"]
    match = "^nothing is left to choose; leave out --pdims, or a backend$"
    caught = assert_raises_everywhere(comm, CommandError, match, lambda: run(comm, *arguments))
    assert caught.code == 2


def test_refused_alike(comm: MPI.Comm) -> None:
    arguments = ["--pdims", 1, comm.size + 1]
    assert_raises_everywhere(comm, cudecomp.InvalidUsageError, "^pdims is ", lambda: run(comm, *arguments))
    with environment(CUDECOMP_AUTOTUNE_TRANSPOSE_BACKENDS="NONSENSE"):
        assert_raises_everywhere(comm, cudecomp.InvalidUsageError, "NONSENSE", lambda: run(comm))


def test_no_matplotlib_on_rank_0(comm: MPI.Comm, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found before anything is measured, and by all ranks."""
    if comm.rank == 0:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
    match = r"^drawing needs matplotlib, which cannot be imported \(.*\); pip install 'cudecomp\[plot\]'$"
    assert_raises_everywhere(comm, CommandError, match, lambda: run(comm, "--plot", folder / "heat.png"))


def test_a_file_that_cannot_be_written(comm: MPI.Comm, folder: Path) -> None:
    (folder / "taken").mkdir(exist_ok=True)
    error = None
    try:
        run(comm, "--save", folder / "taken")
    except (OSError, CommandError) as caught:
        error = str(caught)
    same_everywhere(comm, error)
    assert error.startswith("[Errno 21] Is a directory")


@pytest.mark.parametrize("wanted", [True, False])
def test_progress(comm: MPI.Comm, capfd: pytest.CaptureFixture[str], wanted: bool) -> None:
    run(comm, "--progress" if wanted else "--no-progress")
    assert ("autotuning" in capfd.readouterr().err) == (wanted and comm.rank == 0)


def test_progress_without_tqdm(comm: MPI.Comm, monkeypatch: pytest.MonkeyPatch) -> None:
    if comm.rank == 0:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    match = r"^--progress needs tqdm, .*; pip install 'cudecomp\[cli\]'$"
    assert_raises_everywhere(comm, CommandError, match, lambda: run(comm, "--progress"))


def test_a_library_that_does_not_tell(comm: MPI.Comm, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cudecomp._autotune.Problem, "report", lambda *_: None)
    assert run(comm).startswith("chosen: GridDescConfig(gdims=(16, 12, 8), pdims=(")
    match = "^the library in use does not tell what it has measured: there is no report to write$"
    assert_raises_everywhere(comm, CommandError, match, lambda: run(comm, "--save", folder / "report.json"))
