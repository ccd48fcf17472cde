# Builds the image of a Rust instance (environment.ecosystem: rust). See python.Dockerfile for the context; install.sh fetches the
# crates, compiles what the tree's tests need, and runs the install commands.
#
# Build arguments: BASE, SYSTEM (Debian packages), WORKDIR; CARGO_HTTP_CAINFO and its kin only while building.
#
# What a Dockerfile of your own must leave behind: /opt/crab/tree, the built tree, whose target folder may have links into
# /opt/crab/caches; /opt/crab/caches/home (CARGO_HOME, for all users to read); cargo and rustc themselves (not rustup's), a C compiler
# and python3 (for what runs inside a workspace) on PATH; sh, cp, env and cat; /opt/crab/distributions.txt, which may be empty.
ARG BASE
FROM ${BASE}

USER 0:0
ARG SYSTEM=""
RUN : install the system packages, and python3 where the base has none; \
    set -e; \
    command -v python3 >/dev/null || SYSTEM="${SYSTEM} python3"; \
    if [ -n "${SYSTEM}" ]; then \
        apt-get update && apt-get install -y --no-install-recommends ${SYSTEM} && rm -rf /var/lib/apt/lists/*; \
    fi; \
    own=$(rustc --print sysroot); \
    [ ! -x "${own}/bin/cargo" ] || ln -sf "${own}/bin/cargo" "${own}/bin/rustc" /usr/local/bin/
ENV PATH=/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin

COPY route/ /opt/crab/route/
ARG CARGO_HTTP_CAINFO
ARG CARGO_HTTP_PROXY
ARG CARGO_HTTP_TIMEOUT
ARG CARGO_NET_RETRY
ARG CARGO_NET_GIT_FETCH_WITH_CLI
ARG CARGO_NET_OFFLINE=false
ARG WORKDIR=/workspace
ENV CARGO_HOME=/opt/crab/caches/home CARGO_TERM_COLOR=never RUSTC_WRAPPER= RUSTC_WORKSPACE_WRAPPER=
COPY tree/ ${WORKDIR}/
COPY install.sh /opt/crab/install.sh
WORKDIR ${WORKDIR}
RUN : fetch the crates, compile and run the install commands; \
    set -e; \
    CRAB_CACHES=/opt/crab/caches sh /opt/crab/install.sh; \
    : > /opt/crab/distributions.txt; \
    cd /; \
    mv ${WORKDIR} /opt/crab/tree; \
    mkdir ${WORKDIR}
ENV CARGO_NET_OFFLINE=true
