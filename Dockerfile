# bertlab with what it needs on NVIDIA GPUs, in the versions of constraints.txt.
#
#   docker build . --tag bertlab
#   docker run --rm --gpus all --user "$(id -u):$(id -g)" --volume "$PWD:/work" bertlab ablate masking --gpus 1
#
# Runs, reports and the cache of the Hub are then in the current directory. PyTorch brings its own CUDA libraries; the image
# needs of CUDA what finds the driver. Several GPUs: add `--shm-size 8g`, through which NCCL and Ray exchange data.
# For drivers before 580: `--build-arg CUDA=12.8.1`, and a build of torch for that version.
ARG CUDA=13.0.1
FROM nvidia/cuda:${CUDA}-base-ubuntu24.04

SHELL ["/bin/bash", "-o", "pipefail", "-c"]

# torch.compile needs a C++ compiler and Python's headers. Ubuntu's archive keeps only the newest versions: pinned ones vanish.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ python3 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*

ENV PATH=/opt/bertlab/bin:$PATH \
    PYTHONUNBUFFERED=1

# torch first: by far the largest layer, which changes only with its version
WORKDIR /source
COPY constraints.txt ./
RUN python3 -m venv /opt/bertlab \
    && pip install --no-cache-dir --constraint constraints.txt torch

COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY ablations ablations
COPY bertlab bertlab
RUN pip install --no-cache-dir --constraint constraints.txt '.[cluster,tensorboard,trackio,wandb]'

# Any other user works too: nothing is written outside of /work and /tmp.
RUN useradd --uid 10001 --no-create-home --home-dir /work bertlab \
    && install --directory --owner bertlab --mode 0777 /work
USER 10001
ENV HOME=/work
WORKDIR /work

ENTRYPOINT ["bertlab"]
CMD ["--help"]
