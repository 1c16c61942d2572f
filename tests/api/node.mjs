// Prints the public API of the npm package as one declaration file, rolled up by API Extractor from
// those that the TypeScript compiler writes.
//   node node.mjs PACKAGE FOLDER
// PACKAGE is the folder of the built package; FOLDER is for the report.
import { readFileSync, mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

const [source, folder] = process.argv.slice(2).map((path) => resolve(path));
const manifest = join(source, "package.json");
const { Extractor, ExtractorConfig } = createRequire(manifest)("@microsoft/api-extractor");

mkdirSync(folder, { recursive: true });
const report = { enabled: true, reportFolder: folder, reportTempFolder: join(folder, "temporary"), reportFileName: "node", includeForgottenExports: true };
const off = { enabled: false };
const silent = { default: { logLevel: "none" } };
const config = ExtractorConfig.prepare({
  packageJsonFullPath: manifest,
  configObjectFullPath: undefined,
  configObject: {
    projectFolder: source,
    mainEntryPointFilePath: join(source, "dist/index.d.ts"),
    newlineKind: "lf",
    compiler: { tsconfigFilePath: join(source, "tsconfig.json") },
    apiReport: report,
    docModel: off,
    dtsRollup: off,
    tsdocMetadata: off,
    messages: { extractorMessageReporting: silent, tsdocMessageReporting: silent, compilerMessageReporting: { default: { logLevel: "error" } } },
  },
});
// By default, API Extractor prints that the report changed.
const faults = [];
const { succeeded } = Extractor.invoke(config, {
  localBuild: true,
  messageCallback: (message) => {
    if (message.logLevel === "error") faults.push(message.formatMessageWithLocation(source));
    message.handled = true;
  },
});
if (!succeeded) throw new Error(faults.join("\n"));

// The declarations are a block of code. Comments in it name release tags, which we don't use.
const [, code] = readFileSync(join(folder, "node.api.md"), "utf8").split(/^```.*\n/m);
const lines = code.split("\n").filter((line) => !line.trimStart().startsWith("// "));
console.log(lines.join("\n").replaceAll(/\n{3,}/g, "\n\n").trim());
