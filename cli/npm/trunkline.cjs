#!/usr/bin/env node
// Runs the program, which is in the package of this platform.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `@trunkline/cli-${process.platform}-${process.arch}`;

function program() {
  try {
    return require.resolve(`${name}/bin/trunkline${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    const { version } = require("./package.json");
    console.error(`error: the package ${name} is not installed\n  tried: ${module.path}\n  do:    npm install ${name}@${version}`);
    process.exit(1);
  }
}

const file = program();
const words = process.argv.slice(2);
// Newer versions of Node.js can make way for the program, so that only that remains.
if (process.execve && process.platform !== "win32") process.execve(file, [file, ...words]);
const child = spawn(file, words, { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`error: cannot start trunkline: ${error.message}\n  tried: ${file}\n  do:    install trunkline-cli again`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  process.exitCode = code ?? 128 + constants.signals[signal];
});
