# The server as an image. docs/how-to/deploy.md says how to use it.
#
#   docker build -t swyb .                            for processors, with the embedded model
#   docker build -t swyb-gpu --build-arg DEVICE=gpu . for GPUs: vLLM's official image, and the server in it
ARG DEVICE=cpu
ARG PYTHON=3.11
# A version that pyproject.toml allows.
ARG VLLM=0.32.0

FROM python:${PYTHON}-slim-bookworm AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE swyb.py ./
COPY grammar_cache grammar_cache
COPY server server
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

# What `make install` does, in its order: torch first and pinned.
FROM python:${PYTHON}-slim-bookworm AS installed
# Requirement of torch, or the address of a wheel for processors alone: else it brings CUDA, gigabytes that nothing here uses.
ARG TORCH=torch==2.13.0
ENV PATH=/opt/swyb/bin:$PATH
RUN python3 -m venv /opt/swyb \
 && pip install --no-cache-dir "$TORCH"
COPY --from=wheel /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/swyb-*.whl)[embedded,redis]"
# Compiled for any processor of this kind: those for the machine that builds would be compiled anew on every other one.
ENV NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=/opt/swyb/loops SWYB_CACHE=/var/cache/swyb
RUN python3 -m grammar_cache.warm_up
# An answer of the embedded model: it is fetched and unpacked, its vocabulary is kept, and all of it works.
RUN echo 'yes|no' | SWYB_STORE=none swyb generate "Is water wet?" --regex - --max-tokens 4 \
 && chmod -R a+rX /opt/swyb

FROM python:${PYTHON}-slim-bookworm AS cpu
COPY --from=installed /opt/swyb /opt/swyb
COPY --from=installed --chown=10001:10001 /var/cache/swyb /var/cache/swyb

FROM vllm/vllm-openai:v${VLLM} AS gpu
COPY --from=wheel /wheels /wheels
RUN uv pip install --system --no-cache "$(echo /wheels/swyb-*.whl)[redis]"
ENV NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=/opt/swyb/loops
RUN python3 -m grammar_cache.warm_up \
 && chmod -R a+rX /opt/swyb

FROM ${DEVICE}
RUN useradd --uid 10001 --create-home swyb \
 && install --directory --owner=swyb --group=swyb /home/swyb/.cache /var/cache/swyb
COPY --chmod=755 docker/entrypoint.sh /usr/local/bin/swyb-entrypoint
# The loops are copied to where numba may write; see the entry point.
ENV PATH=/opt/swyb/bin:$PATH \
    NUMBA_CPU_NAME=generic \
    NUMBA_CACHE_DIR=/tmp/swyb-loops \
    SWYB_LOOPS=/opt/swyb/loops \
    SWYB_CACHE=/var/cache/swyb
USER 10001
WORKDIR /home/swyb
EXPOSE 8000
# 503 until the model is loaded, and whenever no request would be answered.
HEALTHCHECK --interval=15s --timeout=10s --start-period=10m --start-interval=2s --retries=3 \
  CMD ["python3", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/ready', timeout=8)"]
ENTRYPOINT ["swyb-entrypoint"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
