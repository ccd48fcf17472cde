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
