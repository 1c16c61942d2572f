import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  // Tests write programs to `test/tmp-*` and remove them, maybe while this runs.
  { ignores: ["dist/", "npm/", "node_modules/", "test/tmp-*/"] },
  js.configs.recommended,
  {
    files: ["src/**/*.ts", "src/**/*.mts", "test-types/**/*.ts", "test-types/**/*.mts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      // `() => port.close()` is a function without a result.
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // Events reach a listener that throws as they do in Node itself.
      "@typescript-eslint/only-throw-error": ["error", { allowThrowingUnknown: true }],
      // Deprecated by a revision of the protocol, and served all the same.
      "@typescript-eslint/no-deprecated": ["error", { allow: [{ from: "file", name: ["listRoots", "log", "sample"] }] }],
    },
  },
  {
    files: ["**/*.mjs", "**/*.cjs"],
    languageOptions: { globals: Object.fromEntries(["AbortController", "AbortSignal", "Buffer", "console", "performance", "process", "setImmediate", "setTimeout", "clearTimeout", "URL", "require", "module", "structuredClone", "fetch", "ReadableStream", "Request", "Response"].map((name) => [name, "readonly"])) },
  },
  {
    // Parts of these run in a page.
    files: ["tests/inspect/*.mjs"],
    languageOptions: { globals: Object.fromEntries(["window", "document", "location", "innerWidth", "addEventListener", "requestAnimationFrame", "sessionStorage", "PerformanceObserver"].map((name) => [name, "readonly"])) },
  },
);
