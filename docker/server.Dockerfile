# The server for machines with an NVIDIA GPU: as server-cpu.Dockerfile, with the CUDA backend and the CUDA libraries that it loads. The driver's
# own library comes from the host (--gpus all).
#   docker build -f docker/server.Dockerfile -t kedge/server:0.1.0 .
# BASE: a Debian 12 with the CUDA toolkit 13 under /usr/local/cuda. PROGRAMS=prebuilt: see there.
ARG BASE=nvidia/cuda:13.0.1-devel-debian12
ARG PROGRAMS=compiled

FROM ${BASE} AS compiled
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates
COPY . /source
WORKDIR /source
ENV PATH=/usr/local/cuda/bin:${PATH}
RUN ./run.sh build && mkdir /programs && \
    cp build/release/bin/kedge build/release/bin/kedged build/release/bin/kedge-worker build/release/bin/libkedge_cuda.so /programs

FROM ${BASE} AS prebuilt
COPY build/release/bin/kedge build/release/bin/kedged build/release/bin/kedge-worker build/release/bin/libkedge_cuda.so /programs/

FROM ${PROGRAMS} AS collected
ARG SOURCE_DATE_EPOCH=1767225600
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates binutils tzdata \
      libssl3 libcurl4 libcapnp-0.9.2 libsqlite3-0 libisal2 libfmt9 libspdlog1.10 libsimdjson14 libgomp1 libgfortran5 libprometheus-cpp-core1.0 libtomlplusplus3
COPY docker/collect.sh /collect.sh
RUN LD_LIBRARY_PATH=/usr/local/cuda/lib64 sh /collect.sh /programs /image

FROM scratch
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="Kedge server (CUDA)" \
      org.opencontainers.image.description="Runs scikit-learn pipelines that clients describe, on NVIDIA GPUs" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=collected /image/ /
ENV KEDGE_DATA_DIR=/data KEDGE_LISTEN=0.0.0.0:5334 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    LD_LIBRARY_PATH=/usr/local/cuda/lib64 NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001
VOLUME /data
EXPOSE 5334
STOPSIGNAL SIGTERM
# An engine asks first after one interval, and a new server is to be healthy within 2 s; a check takes 0.03 s of CPU. For less: --health-interval.
HEALTHCHECK --interval=1s --timeout=5s --start-period=5s CMD ["/kedge/kedge", "health"]
ENTRYPOINT ["/kedge/kedge", "host"]
