# Builds the image of a JavaScript or TypeScript instance (environment.node). See python.Dockerfile for the context; install.sh puts
# npm's pinned packages into the tree's node_modules and runs the install commands.
#
# Build arguments: BASE, SYSTEM (Debian packages), WORKDIR; NPM_CONFIG_REGISTRY and NODE_EXTRA_CA_CERTS only while building.
#
# What a Dockerfile of your own must leave behind: /opt/crab/tree, the built tree; node and python3 (for what runs inside a
# workspace) on PATH; sh, cp, env and cat; /opt/crab/distributions.txt, which may be empty.
ARG BASE
FROM ${BASE}

USER 0:0
ARG SYSTEM=""
RUN : install the system packages, and python3 where the base has none; \
    set -e; \
    command -v python3 >/dev/null || SYSTEM="${SYSTEM} python3"; \
    if [ -n "${SYSTEM}" ]; then \
        apt-get update && apt-get install -y --no-install-recommends ${SYSTEM} && rm -rf /var/lib/apt/lists/*; \
    fi

COPY route/ /opt/crab/route/
ARG NPM_CONFIG_REGISTRY
ARG NODE_EXTRA_CA_CERTS
ARG WORKDIR=/workspace
COPY tree/ ${WORKDIR}/
COPY install.sh /opt/crab/install.sh
WORKDIR ${WORKDIR}
RUN : install packages and run the install commands; \
    set -e; \
    sh /opt/crab/install.sh; \
    : > /opt/crab/distributions.txt; \
    cd /; \
    mv ${WORKDIR} /opt/crab/tree; \
    mkdir ${WORKDIR}
