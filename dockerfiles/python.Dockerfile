# Builds the image of a Python instance. Layers go from what most instances share to what only one has.
#
# Build arguments: BASE, SYSTEM (Debian packages), WORKDIR, PIP_OPTIONS (--no-deps where packages.txt names all that is
# needed); PIP_INDEX_URL, PIP_CERT, SSL_CERT_FILE and REQUESTS_CA_BUNDLE only while building. Build context:
# packages.txt, install.sh, route/ (a CA bundle, if this machine needs one), tree/ (head, with the two public commits).
#
# What a Dockerfile of your own must leave behind: /opt/crab/tree, the built tree; an interpreter at
# /opt/crab/venv/bin/python or a python3 on PATH; sh, cp, env and cat; /opt/crab/distributions.txt, the names in
# site-packages before the project's own install.
ARG BASE
FROM ${BASE}

ARG SYSTEM=""
RUN : install the system packages; \
    if [ -n "${SYSTEM}" ]; then \
        apt-get update && apt-get install -y --no-install-recommends ${SYSTEM} && rm -rf /var/lib/apt/lists/*; \
    fi

COPY route/ /opt/crab/route/
COPY packages.txt /opt/crab/packages.txt
ARG PIP_OPTIONS=""
ARG PIP_INDEX_URL
ARG PIP_CERT
ARG SSL_CERT_FILE
ARG REQUESTS_CA_BUNDLE
RUN : install the pinned packages; \
    set -e; \
    export PIP_NO_CACHE_DIR=1; \
    python3 -m venv /opt/crab/venv; \
    /opt/crab/venv/bin/python -m pip install --disable-pip-version-check ${PIP_OPTIONS} -r /opt/crab/packages.txt; \
    ls "$(/opt/crab/venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
        > /opt/crab/distributions.txt

ENV PATH=/opt/crab/venv/bin:/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
ARG WORKDIR=/workspace
COPY tree/ ${WORKDIR}/
COPY install.sh /opt/crab/install.sh
WORKDIR ${WORKDIR}
# Here the tree stays in WORKDIR too, where a revised tree is installed anew.
RUN : run the install commands; \
    set -e; \
    PIP_NO_CACHE_DIR=1 sh /opt/crab/install.sh; \
    mkdir /opt/crab/tree; \
    cp -a ./. /opt/crab/tree/
