# SPDX-FileCopyrightText: Copyright (c) 2026 The cudecomp-python authors
# SPDX-License-Identifier: Apache-2.0
"""What a grid descriptor tells about the ways of its data, checked against what the environment forces."""

import pytest

import cudecomp


@pytest.mark.parametrize("ranks_per_node", [1, 2, None])
def test_describe_tells_the_way(comm, monkeypatch, ranks_per_node):
    if ranks_per_node is None:
        monkeypatch.delenv("CUDECOMP_BUILTIN_RANKS_PER_NODE", raising=False)
    else:
        monkeypatch.setenv("CUDECOMP_BUILTIN_RANKS_PER_NODE", str(ranks_per_node))
    config = cudecomp.GridDescConfig(gdims=(16, 16, 16), pdims=(1, comm.size))
    with cudecomp.Handle(comm) as handle, handle.create_grid(config) as grid:
        lines = grid.describe().splitlines()
    assert lines[0] == f"rank {comm.rank} at row 0, column {comm.rank} of 1 x {comm.size}"
    assert lines[1] == "transposes X-Y, peers: stays on this rank: one copy"
    elsewhere = comm.size - 1
    # Ranks are put together in twos; the last of an odd number is by itself.
    beside = 1 if ranks_per_node == 2 and (comm.rank | 1) < comm.size else 0
    if comm.size == 1:
        assert lines[2] == "transposes Y-Z, peers: stays on this rank: one copy"
    elif ranks_per_node is None:
        assert lines[2] == f"transposes Y-Z, peers: {elsewhere} through memory of this node"
    elif ranks_per_node == 1:
        assert lines[2].startswith(f"transposes Y-Z, peers: {elsewhere} through MPI with MPI_P2P, since no memory")
    elif beside:
        far = f"; {elsewhere - 1} through MPI with MPI_P2P, being on other nodes" if elsewhere > 1 else ""
        assert lines[2] == f"transposes Y-Z, peers: 1 through memory of this node{far}"
    else:
        assert lines[2].startswith(f"transposes Y-Z, peers: {elsewhere} through MPI with MPI_P2P, ")
