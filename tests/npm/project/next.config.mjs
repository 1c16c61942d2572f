export default {
  output: "standalone",
  serverExternalPackages: ["trunkline"],
  outputFileTracingRoot: import.meta.dirname,
  turbopack: { root: import.meta.dirname },
};
