# isoglot on CPUs:  docker build -t isoglot .  &&  docker run --rm -v "$PWD:/data" isoglot align en-de.tsv -o links.txt
FROM python:3.12-slim AS wheel
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 isoglot && mkdir /data && chown isoglot /data
COPY constraints.txt /tmp/constraints.txt
COPY --from=wheel /wheels /tmp/wheels
RUN pip install --no-cache-dir --constraint /tmp/constraints.txt \
      --extra-index-url https://download.pytorch.org/whl/cpu /tmp/wheels/*.whl \
    && rm -r /tmp/wheels /tmp/constraints.txt
USER 1000
WORKDIR /data
ENTRYPOINT ["isoglot"]
CMD ["--help"]
