# Builds the image of a Go instance (environment.ecosystem: go). See python.Dockerfile for the context; install.sh fetches the
# modules, compiles what the tree and its tests need, and runs the install commands.
#
# Build arguments: BASE, SYSTEM (Debian packages), WORKDIR; GOPROXY and its kin and SSL_CERT_FILE only while building.
#
# What a Dockerfile of your own must leave behind: /opt/crab/tree, the built tree; /opt/crab/caches with the folders mod and build
# (GOMODCACHE and GOCACHE, for all users to read) and in build Go's own program test2json; go and python3 (for what runs inside a
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
ARG GOPROXY
ARG GONOSUMDB
ARG GOSUMDB
ARG GOINSECURE
ARG GONOPROXY
ARG GOPRIVATE
ARG GOTOOLCHAIN=local
ARG SSL_CERT_FILE
ARG WORKDIR=/workspace
ENV GOMODCACHE=/opt/crab/caches/mod GOCACHE=/opt/crab/caches/build GOENV=off GOFLAGS=-buildvcs=false GODEBUG=goindex=0
COPY tree/ ${WORKDIR}/
COPY install.sh /opt/crab/install.sh
WORKDIR ${WORKDIR}
RUN : fetch the modules, compile and run the install commands; \
    set -e; \
    sh /opt/crab/install.sh; \
    : > /opt/crab/distributions.txt; \
    cd /; \
    mv ${WORKDIR} /opt/crab/tree; \
    mkdir ${WORKDIR}
ENV GOPROXY=off
