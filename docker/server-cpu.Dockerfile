# The server for machines without a GPU: three programs and the shared objects that they load, nothing else.
#   docker build -f docker/server-cpu.Dockerfile -t kedge/server-cpu:0.1.0 .
# ARROW=no leaves out kedge-arrow, which reads Parquet and Arrow files (62 MB with Arrow's libraries, of PyPI's pyarrow).
# BASE: any Debian 12. PROGRAMS=prebuilt takes build/release/bin as it is in place of compiling here.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS programs
ARG PROGRAMS=compiled
ARG ARROW=yes
COPY . /source
WORKDIR /source
RUN if [ "$PROGRAMS" = compiled ]; then ./run.sh build; fi && mkdir /programs && \
    cp build/release/bin/kedge build/release/bin/kedged build/release/bin/kedge-worker /programs
RUN mkdir /arrow && if [ "$ARROW" = yes ]; then \
      if [ "$PROGRAMS" = compiled ]; then ./run.sh image-arrow release; fi && cp -r build/release/arrow/. /arrow; fi

FROM programs AS collected
ARG SOURCE_DATE_EPOCH=1767225600
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates binutils tzdata \
      libssl3 libcurl4 libcapnp-0.9.2 libsqlite3-0 libisal2 libre2-9 libfmt9 libspdlog1.10 libsimdjson14 libgomp1 libgfortran5 libprometheus-cpp-core1.0 libtomlplusplus3
RUN sh docker/collect.sh /programs /image /arrow

FROM scratch
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="Kedge server (CPU)" \
      org.opencontainers.image.description="Runs scikit-learn pipelines that clients describe" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=collected /image/ /
ENV KEDGE_DATA_DIR=/data KEDGE_LISTEN=0.0.0.0:5334 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
USER 10001:10001
VOLUME /data
EXPOSE 5334
STOPSIGNAL SIGTERM
# An engine asks first after one interval, and a new server is to be healthy within 2 s; a check takes 0.03 s of CPU. For less: --health-interval.
HEALTHCHECK --interval=1s --timeout=5s --start-period=5s CMD ["/kedge/kedge", "health"]
ENTRYPOINT ["/kedge/kedge", "host"]
