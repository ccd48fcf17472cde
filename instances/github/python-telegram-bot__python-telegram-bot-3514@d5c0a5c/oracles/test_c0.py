"""A keyboard whose rows are no sequences is answered with False, not with an exception."""

import pytest

from telegram._utils.markup import check_keyboard_type


def answer(keyboard):
    try:
        return check_keyboard_type(keyboard)
    except Exception as error:
        pytest.fail(f"{keyboard!r} raised {type(error).__name__}: {error}")


@pytest.mark.parametrize(
    "keyboard",
    [[1], (1,), [None], [object(), ["button"]], [{"row": 1}], [{0: "row"}], [{"row"}], [1.5, 2], [True], [range]],
)
def test_rows_that_are_no_sequences_are_answered_with_false(keyboard):
    assert answer(keyboard) is False


@pytest.mark.parametrize("keyboard", [[[["button"]]], ((("button",),),), [[[1, 2]]]])
def test_a_third_dimension_is_still_refused(keyboard):
    assert answer(keyboard) is False


@pytest.mark.parametrize("keyboard", [[["a", "b"], ["c"]], (("a",), ["b"])])
def test_two_dimensions_are_still_accepted(keyboard):
    assert answer(keyboard) is True


@pytest.mark.parametrize("keyboard", [[["a"], 1], [["a"], ["b"], None], (("a",), {"row"}), [["a"], "row"]])
def test_a_later_row_that_is_no_sequence_is_answered_with_false(keyboard):
    assert answer(keyboard) is False


@pytest.mark.parametrize(
    "keyboard", [1, None, object(), {"a": ["b"]}, "keyboard", b"keyboard", ["row"], [b"row"], ["row", ["b"]]]
)
def test_what_is_no_keyboard_at_all_is_answered_with_false(keyboard):
    assert answer(keyboard) is False
