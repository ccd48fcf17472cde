"""An option that was given is passed on, whatever its type; one that was not is left out."""

import sys

import pytest

from ansible.modules.cloud.amazon import rds

VALID = [
    "apply_immediately",
    "backup_retention",
    "engine_version",
    "instance_type",
    "iops",
    "license_model",
    "multi_zone",
    "port",
    "size",
    "tags",
    "upgrade",
]


class Fail(Exception):
    pass


class Module:
    def __init__(self, **params):
        self.params = dict(params, command="modify")

    def fail_json(self, msg, **kwargs):
        raise Fail(msg)


@pytest.fixture(params=[True, False], ids=["rds2", "rds"])
def validate(request, monkeypatch):
    monkeypatch.setattr(rds, "has_rds2", request.param, raising=False)

    def run(required=("instance_name",), **given):
        module = Module(instance_name="db", **given)
        return rds.validate_parameters(list(required), VALID, module)

    return run


@pytest.mark.parametrize(
    "option, sent, value",
    [
        ("size", "allocated_storage", "20"),
        ("size", "allocated_storage", 20),
        ("iops", "iops", "1000"),
        ("license_model", "license_model", "general-public-license"),
        ("engine_version", "engine_version", "5.6"),
        ("port", "port", "5432"),
        ("apply_immediately", "apply_immediately", False),
        ("upgrade", "auto_minor_version_upgrade", False),
        ("backup_retention", "backup_retention_period", 0),
        ("multi_zone", "multi_az", True),
        ("multi_zone", "multi_az", False),
    ],
)
def test_what_was_given_is_sent(validate, option, sent, value):
    params = validate(**{option: value})
    assert params[sent] == value


def test_what_was_not_given_is_not_sent(validate):
    assert validate(size=None, iops=None, license_model=None, multi_zone=None) == {}


def test_a_required_option_is_not_sent_a_second_time(validate):
    assert validate(required=("instance_name", "size"), size="20") == {}


@pytest.mark.parametrize("value", ["subnet-1", True])
def test_an_option_that_the_command_does_not_know_is_an_error(validate, value):
    with pytest.raises(Fail, match="subnet"):
        validate(subnet=value)


def test_a_default_of_false_that_the_command_does_not_know_is_passed_over(validate):
    assert validate(force_failover=False) == {}


@pytest.mark.parametrize(
    "command", [["zone", "subnet"], ["option_group", "backup_window"], ["maint_window", "db_name"]], ids="-".join
)
def test_no_option_is_forgotten(validate, monkeypatch, command):
    monkeypatch.setattr(sys.modules[__name__], "VALID", command)
    given = {option: f"the-{option}" for option in command}
    assert sorted(validate(**given).values()) == sorted(given.values())


def test_tags_are_sent_as_pairs(monkeypatch):
    monkeypatch.setattr(rds, "has_rds2", True, raising=False)
    params = rds.validate_parameters(["instance_name"], VALID, Module(instance_name="db", tags={"team": "web"}))
    assert list(params["tags"]) == [("team", "web")]
