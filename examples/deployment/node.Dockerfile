# A server in Node.js: server.ts, and a package.json with `trunkline` and `zod` as dependencies.
FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev

# The same base image, because the package has one library per system.
FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production
COPY --from=packages /app/node_modules node_modules
COPY package.json server.ts ./
USER node
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=2s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8000/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# A list, so that SIGTERM reaches the server rather than a shell. Node.js 24 runs TypeScript
# directly.
CMD ["node", "server.ts"]
