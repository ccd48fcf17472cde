"""Sampling nodes works for nodes that cannot be put in order."""

import pytest

import networkx as nx

NODES = [0, "a", (1, 2), frozenset([3]), 4.5, b"b"]


def attempt(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except (TypeError, nx.NetworkXException) as error:
        pytest.fail(f"{function.__name__} needs nodes that can be sorted: {error}")


@pytest.mark.parametrize("k", [1, 3, len(NODES)])
def test_betweenness_can_be_estimated_from_a_sample(k):
    graph = nx.path_graph(NODES)
    result = attempt(nx.betweenness_centrality, graph, k=k, seed=7)
    assert set(result) == set(NODES)


def test_a_sample_of_all_nodes_gives_the_exact_values():
    graph = nx.path_graph(NODES)
    sampled = attempt(nx.betweenness_centrality, graph, k=len(NODES), seed=7)
    exact = nx.betweenness_centrality(graph)
    for node in NODES:
        assert sampled[node] == pytest.approx(exact[node])


def test_random_triad_picks_any_three_nodes():
    graph = nx.path_graph(NODES, create_using=nx.DiGraph)
    triad = attempt(nx.random_triad, graph)
    assert len(triad) == 3
    assert set(triad) <= set(NODES)


class Plain:
    """Hashable, and neither in an order nor with a text of its own."""

    def __repr__(self):
        raise RuntimeError("nothing to show")

    __str__ = __repr__


KINDS = {
    "complex": [complex(0, number) for number in range(6)],
    "objects": [Plain() for _ in range(6)],
    "pairs": [(1, "a"), ("a", 1), (1, 2), (2, "b"), (2, 1j), (2, 2j)],
    "mixed": [7, "7", 7.5, frozenset([7]), b"7", (7,)],
    "types": [int, str, float, list, dict, set],
    "numbers": [5, 3, 1, 0, 2, 4],
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_nodes_of_any_kind(kind):
    nodes = KINDS[kind]
    graph = nx.path_graph(nodes)
    directed = nx.path_graph(nodes, create_using=nx.DiGraph)
    for seed in (1, 2, 3):
        result = attempt(nx.betweenness_centrality, graph, k=3, seed=seed)
        assert len(result) == 6 and all(node in result for node in nodes)
        triad = attempt(nx.random_triad, directed)
        assert len(triad) == 3 and all(node in nodes for node in triad)
