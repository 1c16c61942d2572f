// The native library: its interface, and how it is found and loaded.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { thrownBy } from "../errors.js";
import { version } from "../generated/waist.js";
import { home, library, place } from "./place.js";

/**
 * The native interface that docs/bridge.md describes. Bodies are JSON strings. Errors have the kind
 * as `code`, and the error object as JSON in `message`.
 */
export interface NativePort {
  register(kind: string, json: string): number;
  unregister(handle: number): void;
  open(json: string): number;
  openPipe(server: number, reader: number, writer: number): number;
  check(json: string): void;
  close(handle: number, deadlineMs: number): void;
  closeDeadlineMs(handle: number): number;
  request(handle: number, json: string): number;
  notify(target: number, json: string): void;
  cancel(ticket: number, reason: string): void;
  complete(ticket: number, shape: number, body: string): boolean;
  fail(ticket: number, json: string): boolean;
  httpRequest(listener: number, head: string, end: boolean): number;
  httpBody(exchange: number, bytes: Uint8Array, end: boolean): boolean;
  httpCredit(exchange: number, bytes: number): void;
  drain(max: number, waitMs: number): Event[];
  describe(target: number): string;
  telemetry(target: number, request?: string): string;
  measurements(): string;
  cancelled(ticket: number): boolean;
  /**
   * Lets the event loop read a pipe that the core hands over; returns false if it cannot. `onRead`
   * is called after each read, with false once the core reads again.
   */
  watch(handle: number, onRead: (watched: boolean) => void): boolean;
  hold(held: boolean): void;
  /** Keeps the event loop alive until `unref` has been called as often. */
  ref(): void;
  unref(): void;
}

/** The fields of an event; the body of a response chunk is bytes. */
export type Event = [kind: number, ticket: number, handle: number, ok: boolean, name: string, body: string | Uint8Array, cause: number];

interface Native {
  Port: { new (bell: () => void): NativePort; prototype: NativePort };
  VERSION: string;
  /** Returns the known name that was probably meant by a misspelt one. */
  nearest(name: string, known: readonly string[]): string | null;
  /** Writes to standard error without blocking if nothing reads it. */
  writeStderr(text: string): void;
}

/** The platforms for which there is a library. */
const platforms = ["darwin-arm64", "darwin-x64", "linux-arm64-gnu", "linux-arm64-musl", "linux-x64-gnu", "linux-x64-musl", "win32-arm64-msvc", "win32-x64-msvc"];

let loaded: Native | undefined;

/** Creates a port whose functions throw the errors of this package. */
export function nativePort(bell: () => void): NativePort {
  const { Port } = native();
  const port = new Port(bell);
  const names = Object.getOwnPropertyNames(Port.prototype).filter((name) => name !== "constructor") as (keyof NativePort)[];
  const functions = names.map((name) => [name, converting((port[name] as AnyFunction).bind(port))]);
  let refs = 0;
  return {
    ...(Object.fromEntries(functions) as NativePort),
    ref: () => refs++ === 0 && port.hold(true),
    unref: () => --refs === 0 && port.hold(false),
  };
}

type AnyFunction = (...args: unknown[]) => unknown;

function converting(call: AnyFunction): AnyFunction {
  return (...args) => {
    try {
      return call(...args);
    } catch (error) {
      throw thrownBy(error);
    }
  };
}

/**
 * Returns the native library of this platform. If it is missing, the error names the package to
 * install.
 */
export function native(): Native {
  return (loaded ??= load());
}

function load(): Native {
  const named = process.env["TRUNKLINE_NATIVE"];
  if (named !== undefined && named !== "") return open(named, "named by TRUNKLINE_NATIVE");
  // In a source checkout, `cargo xtask build` copies the library to this file.
  const built = home && join(home, "../trunkline.node");
  if (built !== undefined && existsSync(built)) return open(built, "built from source");
  const platform = platformName();
  const adjacent = join(dirname(place), `trunkline.${platform}.node`);
  if (existsSync(adjacent)) return open(adjacent, "next to the bundle");
  if (!platforms.includes(platform)) {
    throw new Error(
      `trunkline has no native library for ${platform}; supported platforms are ${platforms.join(", ")}. ` +
        "To use one that you built from source, set the environment variable TRUNKLINE_NATIVE to its path",
    );
  }
  const packageName = `@trunkline/${platform}`;
  const found = loading(`${packageName} is installed but`, () => library(platform));
  if (found !== undefined) return checked(found, packageName);
  const missing = `trunkline needs its native library for ${platform}, the optional package ${packageName}, which is not `;
  throw new Error(
    home === undefined
      ? `${missing}in a node_modules at or above ${place}. Install it there, copy its file to ${adjacent}, or set the environment variable TRUNKLINE_NATIVE to its path. In Next.js, list trunkline in serverExternalPackages instead`
      : `${missing}installed. Run: npm install ${packageName}@${version} (in a checkout of the source: cargo xtask build)`,
  );
}

/** Loads a file with any extension. */
function open(file: string, what: string): Native {
  const module = { exports: {} };
  const name = `${file} (${what})`;
  loading(name, () => process.dlopen(module, file));
  return checked(module.exports, name);
}

/** Names the library in the error of loading it. */
function loading<T>(name: string, load: () => T): T {
  try {
    return load();
  } catch (error) {
    throw new Error(`trunkline's native library ${name} failed to load: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Checks the version: a library of another version has other functions, which would fail in odd
 * ways later.
 */
function checked(library: unknown, name: string): Native {
  const found = (library as Partial<Native>).VERSION ?? "another version";
  if (found === version) return library as Native;
  throw new Error(`trunkline ${version} needs its native library in the same version, but ${name} is ${found}: reinstall both, as in npm install trunkline@${version}`);
}

/**
 * Returns the platform name, such as `linux-x64-gnu`, `linux-arm64-musl`, `darwin-arm64`,
 * `win32-x64-msvc`.
 */
function platformName(): string {
  const base = `${process.platform}-${process.arch}`;
  if (process.platform === "win32") return `${base}-msvc`;
  return process.platform === "linux" ? `${base}-${isMusl() ? "musl" : "gnu"}` : base;
}

/**
 * Returns whether libc is musl. `ldd` is a script of glibc, or the musl library itself; small
 * images lack it.
 */
function isMusl(): boolean {
  // Deno asks the user for permission to get Node's report; it is only built for glibc.
  if (process.versions["deno"] !== undefined) return false;
  try {
    const ldd = readFileSync("/usr/bin/ldd", "latin1");
    if (ldd.includes("musl")) return true;
    if (ldd.includes("GNU C Library")) return false;
  } catch {
    // The report also contains it.
  }
  const { report } = process;
  // Otherwise the report resolves the host names of open sockets.
  const settings = report as typeof report & { excludeNetwork?: boolean };
  const before = settings.excludeNetwork;
  settings.excludeNetwork = true;
  const { header } = report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  if (before !== undefined) settings.excludeNetwork = before;
  return header.glibcVersionRuntime === undefined;
}
