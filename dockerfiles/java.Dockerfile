# Builds the image of a Java instance (environment.ecosystem: java). See python.Dockerfile for the context; install.sh runs the
# install commands, fetches what Maven and the project need, and compiles the tree and its tests.
#
# Build arguments: BASE, SYSTEM (Debian packages), WORKDIR.
#
# What a Dockerfile of your own must leave behind: /opt/crab/tree, the built tree with its target folders; /opt/crab/caches as
# install.sh fills it (Maven's repository m2, the jars of junit, how javac was called); javac, mvn and python3 (for what runs
# inside a workspace) on PATH; sh, cp, env and cat; /opt/crab/distributions.txt, which may be empty.
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

ARG WORKDIR=/workspace
ENV CRAB_JAVA=/opt/crab/caches MAVEN_OPTS="-Xmx1g -Dmaven.repo.local=/opt/crab/caches/m2"
COPY tree/ ${WORKDIR}/
COPY install.sh /opt/crab/install.sh
WORKDIR ${WORKDIR}
RUN : run the install commands, fetch and compile; \
    set -e; \
    sh /opt/crab/install.sh; \
    : > /opt/crab/distributions.txt; \
    cd /; \
    mv ${WORKDIR} /opt/crab/tree; \
    mkdir ${WORKDIR}
