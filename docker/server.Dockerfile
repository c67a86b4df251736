# The server for machines with an NVIDIA GPU: as server-cpu.Dockerfile, with the CUDA backend and the CUDA libraries that it loads. The driver's
# own library comes from the host (--gpus all).
#   docker build -f docker/server.Dockerfile -t kedge/server:0.1.0 .                              drivers from 580 on
#   docker build -f docker/server.Dockerfile --build-arg CUDA=12 -t kedge/server:0.1.0-cuda12 .   drivers from 525 on, and GPUs from Volta on
# ARROW=no: see there.
# BASE: any Debian 12; where it has no CUDA toolkit 13 under /usr/local/cuda, NVIDIA's packages are installed; those of CUDA 12 come from PyPI.
# PROGRAMS=prebuilt: see there; the base then has the CUDA libraries, CUDA 12's under /usr/local/cuda-12/lib64.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS programs
ARG PROGRAMS=compiled
ARG ARROW=yes
ARG CUDA=13
RUN if [ "$PROGRAMS" = compiled ] && [ "$CUDA" = 13 ] && [ ! -x /usr/local/cuda/bin/nvcc ]; then \
      apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates curl && \
      curl -fsSLO https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/cuda-keyring_1.1-1_all.deb && \
      dpkg -i cuda-keyring_1.1-1_all.deb && apt-get update -qq && \
      apt-get install -y -qq --no-install-recommends cuda-minimal-build-13-0 cuda-libraries-dev-13-0; fi
COPY . /source
WORKDIR /source
ENV PATH=/usr/local/cuda/bin:${PATH}
RUN if [ "$PROGRAMS" = compiled ] && [ "$CUDA" = 12 ]; then \
      ./run.sh cuda12 release && mkdir -p /usr/local/cuda-12/lib64 && cp -L build/cuda12/toolkit/lib64/*.so.* /usr/local/cuda-12/lib64/; \
    elif [ "$PROGRAMS" = compiled ]; then ./run.sh build; fi && mkdir /programs && \
    if [ "$CUDA" = 12 ]; then plugin=libkedge_cuda12.so; else plugin=libkedge_cuda.so; fi && \
    cp build/release/bin/kedge build/release/bin/kedged build/release/bin/kedge-worker build/release/bin/kedge-gpu-check "build/release/bin/$plugin" /programs
RUN mkdir /arrow && if [ "$ARROW" = yes ]; then \
      if [ "$PROGRAMS" = compiled ]; then ./run.sh image-arrow release; fi && cp -r build/release/arrow/. /arrow; fi

FROM programs AS collected
ARG SOURCE_DATE_EPOCH=1767225600
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends ca-certificates binutils tzdata \
      libssl3 libcurl4 libcapnp-0.9.2 libsqlite3-0 libisal2 libre2-9 libfmt9 libspdlog1.10 libsimdjson14 libgomp1 libgfortran5 libprometheus-cpp-core1.0 libtomlplusplus3
RUN LD_LIBRARY_PATH=/usr/local/cuda/lib64:/usr/local/cuda-12/lib64 sh docker/collect.sh /programs /image /arrow

FROM scratch
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="Kedge server (CUDA)" \
      org.opencontainers.image.description="Runs scikit-learn pipelines that clients describe, on NVIDIA GPUs" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=collected /image/ /
ENV KEDGE_DATA_DIR=/data KEDGE_LISTEN=0.0.0.0:5334 SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    LD_LIBRARY_PATH=/usr/local/cuda/lib64:/usr/local/cuda-12/lib64 NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001
VOLUME /data
EXPOSE 5334
STOPSIGNAL SIGTERM
# An engine asks first after one interval, and a new server is to be healthy within 2 s; a check takes 0.03 s of CPU. For less: --health-interval.
HEALTHCHECK --interval=1s --timeout=5s --start-period=5s CMD ["/kedge/kedge", "health"]
ENTRYPOINT ["/kedge/kedge", "host"]
