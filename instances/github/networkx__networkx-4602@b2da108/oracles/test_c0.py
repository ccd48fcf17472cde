"""Sampling nodes works for nodes that cannot be put in order."""

import random

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


def chosen(nodes):
    """The places of the nodes that a random triad has and from which betweenness is estimated, each for some seeds."""
    places = {id(node): place for place, node in enumerate(nodes)}
    directed = nx.path_graph(nodes, create_using=nx.DiGraph)
    triads, values = [], []
    for seed in range(5):
        random.seed(seed)
        triads.append(sorted(places[id(node)] for node in attempt(nx.random_triad, directed)))
        sampled = attempt(nx.betweenness_centrality, nx.path_graph(nodes), k=3, seed=seed)
        values.append(
            [round(value, 9) for _, value in sorted((places[id(node)], value) for node, value in sampled.items())]
        )
    return triads, values


@pytest.mark.parametrize("kind", ["complex", "mixed", "objects", "types"])
def test_the_same_seed_takes_the_same_places(kind):
    """A sample is drawn from the nodes as they stand in the graph, not from an order of other things, as of addresses."""
    nodes = KINDS[kind][::-1]
    assert chosen(nodes) == chosen(list(range(6)))
