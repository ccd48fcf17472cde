"""The distance measures count edges unless a weight is asked for."""

import pytest

import networkx as nx


def graph():
    """A path a-b-c-d by edges; by weights the way to d is the longest by far."""
    made = nx.Graph()
    made.add_edge("a", "b", weight=10, toll=1)
    made.add_edge("b", "c", weight=1, toll=1)
    made.add_edge("c", "d", weight=100, toll=20)
    made.add_edge("c", "e", weight=1, toll=1)
    return made


BY_EDGES = {"a": 3, "b": 2, "c": 2, "d": 3, "e": 3}
BY_WEIGHT = {"a": 111, "b": 101, "c": 100, "d": 111, "e": 101}
BY_TOLL = {"a": 22, "b": 21, "c": 20, "d": 22, "e": 21}


def measures(**options):
    made = graph()
    return {
        "diameter": nx.diameter(made, **options),
        "radius": nx.radius(made, **options),
        "center": sorted(nx.center(made, **options)),
        "periphery": sorted(nx.periphery(made, **options)),
    }


def expected(eccentricity):
    high, low = max(eccentricity.values()), min(eccentricity.values())
    return {
        "diameter": high,
        "radius": low,
        "center": sorted(node for node, value in eccentricity.items() if value == low),
        "periphery": sorted(node for node, value in eccentricity.items() if value == high),
    }


def test_eccentricity_counts_edges_by_default():
    assert nx.eccentricity(graph()) == BY_EDGES
    assert nx.eccentricity(graph(), "a") == 3
    assert nx.eccentricity(graph(), v=["a", "c"]) == {"a": 3, "c": 2}


@pytest.mark.parametrize("usebounds", [False, True])
def test_the_others_count_edges_by_default(usebounds):
    assert measures(usebounds=usebounds) == expected(BY_EDGES)


@pytest.mark.parametrize("weight, values", [("weight", BY_WEIGHT), ("toll", BY_TOLL)], ids=["weight", "toll"])
def test_a_weight_that_is_asked_for_counts(weight, values):
    assert nx.eccentricity(graph(), weight=weight) == values
    assert measures(weight=weight) == expected(values)


def test_a_function_may_weigh():
    assert nx.eccentricity(graph(), weight=lambda u, v, data: data["toll"]) == BY_TOLL
    assert measures(weight=lambda u, v, data: data["toll"]) == expected(BY_TOLL)


def test_a_directed_graph_counts_edges_too():
    made = graph().to_directed()
    assert nx.eccentricity(made) == BY_EDGES
    assert nx.diameter(made) == 3 and nx.radius(made) == 2


def test_an_attribute_that_cannot_be_added_does_not_matter():
    made = nx.path_graph(3)
    nx.set_edge_attributes(made, "heavy", "weight")
    assert nx.eccentricity(made) == {0: 2, 1: 1, 2: 2}
    assert nx.center(made) == [1] and nx.diameter(made, usebounds=True) == 2
