# Builds the image of a Ruby instance (environment.ecosystem: ruby). See python.Dockerfile for the context; install.sh installs the
# gems and runs the install commands.
#
# Build arguments: BASE, SYSTEM (Debian packages), WORKDIR; BUNDLE_MIRROR__ALL and SSL_CERT_FILE only while building.
#
# What a Dockerfile of your own must leave behind: /opt/crab/tree, the built tree; /opt/crab/caches (GEM_HOME), and in it the file
# load_path with the folders of the gems, a line each; ruby and python3 (for what runs inside a workspace) on PATH; sh, cp, env and
# cat; /opt/crab/distributions.txt, which may be empty.
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
ARG BUNDLE_MIRROR__ALL
ARG SSL_CERT_FILE
ARG WORKDIR=/workspace
ENV GEM_HOME=/opt/crab/caches BUNDLE_APP_CONFIG=/opt/crab/caches/bundle
COPY tree/ ${WORKDIR}/
COPY install.sh /opt/crab/install.sh
WORKDIR ${WORKDIR}
RUN : install the gems and run the install commands; \
    set -e; \
    sh /opt/crab/install.sh; \
    : > /opt/crab/distributions.txt; \
    cd /; \
    mv ${WORKDIR} /opt/crab/tree; \
    mkdir ${WORKDIR}
