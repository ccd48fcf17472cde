# Builds the image of an instance in C or C++ (environment.ecosystem: cpp). See python.Dockerfile for the context; install.sh runs the
# install and build commands, and compiles the main functions of oracles.
#
# Build arguments: BASE, SYSTEM (Debian packages), WORKDIR; SSL_CERT_FILE only while building.
#
# What a Dockerfile of your own must leave behind: /opt/crab/tree, the built tree; /opt/crab/caches with what install.sh writes there;
# g++, gcc and python3 (for what runs inside a workspace) on PATH; sh, cp, env and cat; /opt/crab/distributions.txt, which may be empty.
ARG BASE
FROM ${BASE}

USER 0:0
ARG SYSTEM=""
RUN : install the system packages, and python3 where the base has none; \
    set -e; \
    command -v python3 >/dev/null || SYSTEM="${SYSTEM} python3"; \
    command -v cmake >/dev/null || SYSTEM="${SYSTEM} make cmake ninja-build pkg-config libgtest-dev doctest-dev catch2"; \
    if [ -n "${SYSTEM}" ]; then \
        apt-get update && apt-get install -y --no-install-recommends ${SYSTEM} && rm -rf /var/lib/apt/lists/*; \
    fi

COPY route/ /opt/crab/route/
ARG SSL_CERT_FILE
ARG WORKDIR=/workspace
COPY tree/ ${WORKDIR}/
COPY install.sh /opt/crab/install.sh
WORKDIR ${WORKDIR}
RUN : run the install and build commands and compile the main functions; \
    set -e; \
    mkdir -p /opt/crab/caches; \
    export CXX="$(command -v g++)" CRAB_MAINS=/opt/crab/caches; \
    export CC="${CXX%g++}gcc"; \
    sh /opt/crab/install.sh; \
    : > /opt/crab/distributions.txt; \
    cd /; \
    mv ${WORKDIR} /opt/crab/tree; \
    mkdir ${WORKDIR}
