# A server in C: server.c, and the library's sources in the folder trunkline.
FROM rust:1-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev pkg-config
WORKDIR /app/trunkline
COPY trunkline ./
RUN cargo build --release --locked --package trunkline-c && target/release/trunkline-c-install --prefix /usr/local
WORKDIR /app
COPY server.c ./
RUN cc -O2 server.c -o server $(pkg-config --cflags --libs trunkline)

FROM debian:bookworm-slim
# For clients in the server, which use the system's CA certificates.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/local/lib/libtrunkline.so.* /usr/local/lib/
COPY --from=build /app/server /usr/local/bin/server
RUN ldconfig
USER 65534
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=2s --start-period=30s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8000; printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3; grep -q ' 200 ' <&3"]
CMD ["server"]
