# Builds the image of a PHP instance (environment.ecosystem: php). See python.Dockerfile for the context; install.sh takes what
# composer.lock pins, runs the install commands, and notes where PHPUnit is.
#
# Build arguments: BASE, SYSTEM (Debian packages), WORKDIR; SSL_CERT_FILE only while building.
#
# What a Dockerfile of your own must leave behind: /opt/crab/tree, the built tree; /opt/crab/caches with what install.sh writes there;
# php, composer, PHPUnit 9 and python3 (for what runs inside a workspace); sh, cp, env and cat; /opt/crab/distributions.txt, which may
# be empty.
ARG BASE
FROM ${BASE}

USER 0:0
ARG SYSTEM=""
RUN : install the system packages, and what the base has not, PHPUnit beside a PHP that is not Debian\'s too; \
    set -e; \
    command -v python3 >/dev/null || SYSTEM="${SYSTEM} python3"; \
    [ -e /usr/share/php/PHPUnit ] || SYSTEM="${SYSTEM} phpunit"; \
    command -v composer >/dev/null || SYSTEM="${SYSTEM} composer"; \
    if [ -n "${SYSTEM}" ]; then \
        rm -f /etc/apt/preferences.d/no-debian-php; \
        apt-get update && apt-get install -y --no-install-recommends ${SYSTEM} && rm -rf /var/lib/apt/lists/*; \
    fi

COPY route/ /opt/crab/route/
ARG SSL_CERT_FILE
ARG WORKDIR=/workspace
COPY tree/ ${WORKDIR}/
COPY install.sh /opt/crab/install.sh
WORKDIR ${WORKDIR}
RUN : take the packages, run the install commands and note where PHPUnit is; \
    set -e; \
    mkdir -p /opt/crab/caches; \
    export CRAB_PHP=/opt/crab/caches COMPOSER_HOME=/opt/crab/caches/composer; \
    sh /opt/crab/install.sh; \
    : > /opt/crab/distributions.txt; \
    cd /; \
    mv ${WORKDIR} /opt/crab/tree; \
    mkdir ${WORKDIR}
