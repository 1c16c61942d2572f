# A server in Swift: its package in this folder, with the program `server`, and the sources of
# Trunkline in the folder trunkline.
FROM rust:1-slim-trixie AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev swiftlang
WORKDIR /app/trunkline
COPY trunkline ./
RUN cargo build --release --locked --package trunkline-uniffi && cp target/release/libtrunkline_uniffi.so /usr/local/lib/
WORKDIR /app
COPY Package.swift ./
COPY Sources Sources
RUN swift build --configuration release -Xlinker -L/usr/local/lib && cp .build/release/server /usr/local/bin/

FROM debian:trixie-slim
# The libraries of Swift, and for clients in the server, the system's CA certificates.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates libswiftlang && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/local/lib/libtrunkline_uniffi.so /usr/local/lib/
COPY --from=build /usr/local/bin/server /usr/local/bin/
RUN ldconfig
USER 65534
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=2s --start-period=30s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8000 && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && grep -q ' 200 ' <&3"]
# A list, so that SIGTERM reaches the server rather than a shell.
CMD ["server"]
