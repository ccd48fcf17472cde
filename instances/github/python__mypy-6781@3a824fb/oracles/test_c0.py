"""The third party modules are named as they are imported, not as they are installed."""

import pytest

from mypy import moduleinfo

IMPORTED = [
    "OpenSSL",
    "PIL",
    "attr",
    "bs4",
    "dateutil",
    "skimage",
    "yaml",
    "IPython",
    "jwt",
    "nacl",
    "zmq",
    "cv2",
    "sklearn",
    "websocket",
    "grpc",
]
IMPORTED += [
    "google.protobuf",
    "googleapiclient",
    "typed_ast",
    "more_itertools",
    "lazy_object_proxy",
    "requests_toolbelt",
]
INSTALLED = [
    "python-dateutil",
    "python_dateutil",
    "pyyaml",
    "pillow",
    "pyopenssl",
    "beautifulsoup4",
    "scikit_image",
    "protobuf",
    "pyjwt",
    "pynacl",
    "pyzmq",
]
INSTALLED += [
    "opencv_python",
    "websocket_client",
    "docker_compose",
    "discord_py",
    "grpcio",
    "scikit_learn",
    "ipython",
    "google_auth",
]

STAYING = set(
    """
    pip urllib3 six botocore s3transfer requests pyasn1 docutils jmespath certifi rsa setuptools idna colorama chardet wheel
    simplejson boto3 pytz numpy markupsafe jinja2 cffi cryptography pycparser click pytest future decorator pbr pandas werkzeug
    pyparsing flask psutil itsdangerous cachetools virtualenv pluggy scipy boto coverage mock jsonschema pygments psycopg2
    httplib2 matplotlib docopt tornado lxml paramiko docker oauthlib sqlalchemy wrapt redis gevent pymysql tqdm django
    selenium dask isort h5py tensorflow html5lib pylint pymongo nose xmltodict formencode pkg_resources wx gi.repository
    PyQt5 __dummy_third_party1
""".split()
)


@pytest.mark.parametrize("name", IMPORTED)
def test_what_is_imported_is_known(name):
    assert moduleinfo.is_third_party_module(name)
    assert moduleinfo.is_third_party_module(name + ".part")


@pytest.mark.parametrize("name", INSTALLED)
def test_what_is_only_installed_is_not(name):
    assert not moduleinfo.is_third_party_module(name)


def test_every_name_can_be_imported():
    wrong = [
        name for name in moduleinfo.third_party_modules if not all(part.isidentifier() for part in name.split("."))
    ]
    assert wrong == []


@pytest.mark.parametrize("name", sorted(STAYING))
def test_the_others_are_still_there(name):
    assert moduleinfo.is_third_party_module(name)
