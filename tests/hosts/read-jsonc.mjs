// Prints a file as the parser of VS Code reads its settings, and fails at what it does not accept.

import { readFileSync } from "node:fs";

import { parse, printParseErrorCode } from "jsonc-parser";

const [file] = process.argv.slice(2);
const errors = [];
const value = parse(readFileSync(file, "utf8"), errors, { allowTrailingComma: true });
for (const { error, offset } of errors) {
  console.error(`${file}, offset ${offset}: ${printParseErrorCode(error)}`);
}
process.exitCode = errors.length === 0 ? 0 : 1;
console.log(JSON.stringify(value));
