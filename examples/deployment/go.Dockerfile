# A server in Go: its module in this folder, with server.go. The program contains the library of
# Trunkline, and loads it from memory.
FROM golang:1.26-alpine AS build
WORKDIR /app
COPY go.mod go.sum ./
RUN go mod download
COPY server.go ./
RUN CGO_ENABLED=0 go build -o server server.go

FROM debian:bookworm-slim
# For clients in the server, which use the system's CA certificates.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /usr/local/bin
COPY --from=build /app/server ./
USER 65534
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=2s --start-period=30s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8000 && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && grep -q ' 200 ' <&3"]
# A list, so that SIGTERM reaches the server rather than a shell.
CMD ["server"]
