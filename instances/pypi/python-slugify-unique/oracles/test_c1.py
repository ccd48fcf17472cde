"""The slugs in use are looked at a fixed number of times each, however many there are."""

from slugify import unique_slugify


class Slug(str):
    """A slug that counts how often it is compared with another one."""

    compared = 0

    def __eq__(self, other):
        Slug.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def in_use(count):
    return [Slug("a")] + [Slug(f"a-{number}") for number in range(2, count + 1)]


def comparisons(count):
    taken = in_use(count)
    Slug.compared = 0
    assert unique_slugify("a", taken) == f"a-{count + 1}"
    return Slug.compared


def test_work_grows_with_the_slugs_and_not_with_their_square():
    count = 400
    assert comparisons(count) <= 5 * count


def test_what_can_be_walked_only_once_will_do():
    assert unique_slugify("a", iter(["a-2", "a"])) == "a-3"


def test_the_callers_list_is_left_alone():
    taken = ["a", "a-2"]
    assert unique_slugify("a", taken) == "a-3"
    assert taken == ["a", "a-2"]


class Once(list):
    """Slugs that count how often somebody walks through them."""

    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()

    def __contains__(self, slug):
        self.walks += 1
        return super().__contains__(slug)


def test_they_are_walked_once():
    for count in (0, 1, 5, 50):
        taken = Once(in_use(count) if count else [])
        unique_slugify("a", taken)
        assert taken.walks <= 1


def test_any_iterable_and_any_order():
    for taken in (lambda: (slug for slug in ["a-3", "a-2", "a"]), lambda: {"a", "a-2", "a-3"}, lambda: dict.fromkeys(["a", "a-3", "a-2"]), lambda: ("a", "a-2", "a-3"), lambda: frozenset(["a", "a-2", "a-3"])):
        assert unique_slugify("a", taken()) == "a-4"
    assert unique_slugify("a", iter([])) == "a"
    assert unique_slugify("a", ["a", "a-3"]) == "a-2"
    assert unique_slugify("a", iter(["b", "a-2"])) == "a"
