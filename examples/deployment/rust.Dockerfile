# A server in Rust: a crate with the binary `server`.
FROM rust:1-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev
WORKDIR /app
COPY . .
RUN cargo build --release --locked --bin server

FROM debian:bookworm-slim
# For clients in the server, which use the system's CA certificates.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=build /app/target/release/server /usr/local/bin/server
USER 65534
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=2s --start-period=30s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8000; printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3; grep -q ' 200 ' <&3"]
CMD ["server"]
