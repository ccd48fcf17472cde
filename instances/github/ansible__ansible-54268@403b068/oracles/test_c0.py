"""The update service is looked for where the caller says, not at an address of the function's own."""

import ast
import inspect
import textwrap

import pytest

from ansible.module_utils.redfish_utils import RedfishUtils
from ansible.modules.remote_management.redfish import redfish_facts

PROTOCOLS = ["HTTP", "TFTP"]


def service(root):
    """A Redfish service that answers at *root* and below, and nowhere else."""
    base = root.rstrip("/")
    pages = {
        base: {"UpdateService": {"@odata.id": base + "/Update"}},
        base + "/Update": {
            "FirmwareInventory": {"@odata.id": base + "/Update/Firmware"},
            "Actions": {
                "#UpdateService.SimpleUpdate": {
                    "title": "simple",
                    "TransferProtocol@Redfish.AllowableValues": PROTOCOLS,
                }
            },
        },
    }

    def get_request(self, uri):
        path = uri[len("https://bmc"):].rstrip("/")
        if path in pages:
            return {"ret": True, "data": pages[path]}
        return {"ret": False, "msg": "HTTP Error: 404"}

    return get_request


@pytest.mark.parametrize("root", ["/redfish/v2/", "/rest/v9"], ids=["v2", "v9"])
def test_the_root_is_the_callers(monkeypatch, root):
    monkeypatch.setattr(RedfishUtils, "get_request", service(root))
    redfish = RedfishUtils.__new__(RedfishUtils)
    redfish.root_uri = "https://bmc"
    redfish.creds = {"user": "u", "pswd": "p"}
    assert redfish._find_updateservice_resource(root)["ret"] is True
    wanted = inspect.signature(redfish.get_firmware_update_capabilities).parameters
    needed = [given for given in wanted.values() if given.default is given.empty]
    result = redfish.get_firmware_update_capabilities(*[root][: len(needed)])
    assert result["ret"] is True, result.get("msg")
    assert result["entries"] == {"simple": PROTOCOLS}


def test_the_address_is_not_written_into_the_function():
    source = inspect.getsource(RedfishUtils.get_firmware_update_capabilities)
    texts = [node.value for node in ast.walk(ast.parse(textwrap.dedent(source))) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert [text for text in texts if "redfish/" in text] == []


@pytest.mark.parametrize("service", [{}, {"Actions": {}}], ids=["empty", "without-updates"])
def test_a_service_that_updates_nothing_is_answered_for(monkeypatch, service):
    pages = {"/rest/v9": {"UpdateService": {"@odata.id": "/rest/v9/Update"}}, "/rest/v9/Update": {"FirmwareInventory": {"@odata.id": "/x"}, **service}}
    monkeypatch.setattr(RedfishUtils, "get_request", lambda self, uri: {"ret": True, "data": pages[uri[len("https://bmc"):].rstrip("/")]})
    redfish = RedfishUtils.__new__(RedfishUtils)
    redfish.root_uri = "https://bmc"
    redfish.creds = {}
    redfish._find_updateservice_resource("/rest/v9")
    wanted = inspect.signature(redfish.get_firmware_update_capabilities).parameters
    for page in (pages["/rest/v9/Update"], {}):
        pages["/rest/v9/Update"] = page
        result = redfish.get_firmware_update_capabilities(*["/rest/v9"][: len(wanted)])
        assert str(result["ret"]) == "False"
        assert not result.get("entries")


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


def test_the_module_still_gets_the_capabilities(monkeypatch):
    monkeypatch.setattr(RedfishUtils, "get_request", service("/redfish/v1/"))
    monkeypatch.setattr(redfish_facts, "AnsibleModule", Module)
    with pytest.raises(Exit) as caught:
        redfish_facts.main()
    facts = caught.value.args[0]["ansible_facts"]["redfish_facts"]
    assert facts["firmware_update_capabilities"]["entries"] == {"simple": PROTOCOLS}
