"""The update service is looked for where the caller says, not at an address of the function's own."""

import ast
import inspect
import re
import textwrap
import types

import pytest

from ansible.module_utils.redfish_utils import RedfishUtils
from ansible.modules.remote_management.redfish import redfish_facts

PROTOCOLS = ["HTTP", "TFTP"]
ROOT = r"""(["'])/redfish/v1/?\1"""
ENTRIES = {"simple": PROTOCOLS, "#UpdateService.StartUpdate": ["NFS"]}


def service(root):
    """A Redfish service that answers at *root* and below, and nowhere else."""
    base = root.rstrip("/")
    pages = {
        base: {"UpdateService": {"@odata.id": "/services/of/updates"}},
        "/services/of/updates": {
            "FirmwareInventory": {"@odata.id": "/services/of/updates/firmware"},
            "Actions": {
                "#UpdateService.SimpleUpdate": {
                    "title": "simple",
                    "TransferProtocol@Redfish.AllowableValues": PROTOCOLS,
                },
                "#UpdateService.StartUpdate": {"TransferProtocol@Redfish.AllowableValues": ["NFS"]},
            },
        },
    }

    def get_request(self, uri):
        path = uri[len("https://bmc") :].rstrip("/")
        if path in pages:
            return {"ret": True, "data": pages[path]}
        return {"ret": False, "msg": "HTTP Error: 404"}

    return get_request


def found(root):
    """What has looked for the update service below *root*, and how it is asked for the capabilities."""
    taken = len(inspect.signature(RedfishUtils.__init__).parameters) - 1
    redfish = RedfishUtils(*[{"user": "u", "pswd": "p"}, "https://bmc", root][:taken])
    assert redfish._find_updateservice_resource(root)["ret"] is True
    wanted = inspect.signature(redfish.get_firmware_update_capabilities).parameters
    return redfish, lambda: redfish.get_firmware_update_capabilities(*[root][: len(wanted)])


@pytest.mark.parametrize("root", ["/redfish/v2/", "/rest/v9"], ids=["v2", "v9"])
def test_the_root_is_the_callers(monkeypatch, root):
    monkeypatch.setattr(RedfishUtils, "get_request", service(root))
    redfish, ask = found(root)
    result = ask()
    assert result["ret"] is True, result.get("msg")
    assert result["entries"] == ENTRIES


def test_what_cannot_be_reached_is_answered_for(monkeypatch):
    monkeypatch.setattr(RedfishUtils, "get_request", service("/rest/v9"))
    redfish, ask = found("/rest/v9")
    monkeypatch.setattr(RedfishUtils, "get_request", lambda self, uri: {"ret": False, "msg": "HTTP Error: 503"})
    result = ask()
    assert str(result["ret"]) == "False"
    assert not result.get("entries")


def test_the_address_is_not_written_into_the_function():
    source = inspect.getsource(RedfishUtils.get_firmware_update_capabilities)
    texts = [
        node.value
        for node in ast.walk(ast.parse(textwrap.dedent(source)))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert [text for text in texts if "redfish/" in text] == []


@pytest.mark.parametrize("service", [{}, {"Actions": {}}], ids=["empty", "without-updates"])
def test_a_service_that_updates_nothing_is_answered_for(monkeypatch, service):
    pages = {
        "/rest/v9": {"UpdateService": {"@odata.id": "/rest/v9/Update"}},
        "/rest/v9/Update": {"FirmwareInventory": {"@odata.id": "/x"}, **service},
    }
    monkeypatch.setattr(
        RedfishUtils,
        "get_request",
        lambda self, uri: {"ret": True, "data": pages[uri[len("https://bmc") :].rstrip("/")]},
    )
    redfish, ask = found("/rest/v9")
    for page in (pages["/rest/v9/Update"], {}):
        pages["/rest/v9/Update"] = page
        assert not ask().get("entries")


class Exit(Exception):
    pass


class Module:
    def __init__(self, **kwargs):
        self.params = {
            "category": ["Update"],
            "command": ["GetFirmwareUpdateCapabilities"],
            "baseuri": "bmc",
            "username": "u",
            "password": "p",
            "timeout": 10,
        }

    def exit_json(self, **kwargs):
        raise Exit(kwargs)

    def fail_json(self, **kwargs):
        raise AssertionError(kwargs)


@pytest.mark.parametrize("root", ["/redfish/v1/", "/rest/v9/"], ids=["its-own", "another"])
def test_the_module_still_gets_the_capabilities(monkeypatch, root):
    """The root is written down in the module; where that has another one, it is used."""
    module = types.ModuleType("redfish_facts")
    source = inspect.getsource(redfish_facts)
    assert re.search(ROOT, source), "the module does not name the root of the service"
    exec(compile(re.sub(ROOT, repr(root), source), "redfish_facts", "exec"), vars(module))
    monkeypatch.setattr(RedfishUtils, "get_request", service(root))
    module.AnsibleModule = Module
    with pytest.raises(Exit) as caught:
        module.main()
    facts = caught.value.args[0]["ansible_facts"]["redfish_facts"]
    assert facts["firmware_update_capabilities"]["entries"] == ENTRIES
