# Builds the image of an instance that names a ready-made one (environment.image): only the tree and its install are added,
# and pinned packages, if there are any, go to the image's own Python. See python.Dockerfile for arguments and context.
ARG BASE
FROM ${BASE}

USER 0:0
ARG SYSTEM=""
RUN : install the system packages; \
    if [ -n "${SYSTEM}" ]; then \
        apt-get update && apt-get install -y --no-install-recommends ${SYSTEM} && rm -rf /var/lib/apt/lists/*; \
    fi

COPY route/ /opt/crab/route/
COPY packages.txt /opt/crab/packages.txt
ARG PIP_INDEX_URL
ARG PIP_CERT
ARG SSL_CERT_FILE
ARG REQUESTS_CA_BUNDLE
RUN : install the pinned packages; \
    set -e; \
    if [ -s /opt/crab/packages.txt ]; then \
        python3 -m pip install --no-cache-dir --disable-pip-version-check -r /opt/crab/packages.txt; \
    fi; \
    ls "$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" > /opt/crab/distributions.txt

ARG WORKDIR=/workspace
RUN : clear the place of the tree; rm -rf "${WORKDIR}"
COPY tree/ ${WORKDIR}/
COPY install.sh /opt/crab/install.sh
WORKDIR ${WORKDIR}
RUN : run the install commands; \
    set -e; \
    sh /opt/crab/install.sh; \
    mkdir /opt/crab/tree; \
    cp -a ./. /opt/crab/tree/
