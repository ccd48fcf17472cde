import json
import os
import subprocess
import sys

SCRIPT = """
import json
import pytest
from ledger.rates import Rates

true, codes = Rates.convert, {}


def worth(self, commodity, other, day):
    return 1 if commodity == other else self.rate(commodity, other, day)


WRONG = {
    "as it is": true,
    "divided": lambda self, amount, commodity, other, day: amount / worth(self, commodity, other, day),
    "left alone": lambda self, amount, commodity, other, day: amount,
}
for mode, convert in WRONG.items():
    Rates.convert = convert
    codes[mode] = int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", "tests"]))
print(json.dumps(codes))
"""


def test_the_suite_notices_a_wrong_conversion():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=25)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"as it is": 0, "divided": 1, "left alone": 1}
