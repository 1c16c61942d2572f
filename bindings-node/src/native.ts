// The native library: its interface, and how it is found and loaded.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

/**
 * The waist, as docs/bridge.md describes it. Bodies are JSON texts. Errors have the kind as `code`
 * and the error object as JSON in `message`.
 */
export interface NativePort {
  register(kind: string, json: string): number;
  unregister(handle: number): void;
  open(json: string): number;
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
  /**
   * Kind, ticket, handle, ok, name, body and cause of each event in turn. A response chunk is
   * bytes.
   */
  drain(lane: "queue" | "pool", max: number, waitMs: number): (number | boolean | string | Uint8Array)[];
  wait(ticket: number, waitMs: number): [ok: boolean, body: string] | null;
  describe(target: number): string;
  cancelled(ticket: number): boolean;
  /**
   * Lets the event loop read a pipe that the core hands over; false if it cannot. `onRead` is
   * called after each read, with false once the core reads again.
   */
  watch(handle: number, onRead: (watched: boolean) => void): boolean;
  ref(): void;
  unref(): void;
}

interface Native {
  Port: new (bell: () => void) => NativePort;
}

let loaded: Native | undefined;

/** The native library of this platform. Without it, the error names the package to install. */
export function native(): Native {
  return (loaded ??= load());
}

function load(): Native {
  const named = process.env["TRUNKLINE_NATIVE"];
  if (named !== undefined && named !== "") return open(named, "named by TRUNKLINE_NATIVE");
  const root = join(__dirname, "..");
  // In the source tree, `cargo xtask build` copies the library to bindings-node/trunkline.node.
  const built = join(root, "trunkline.node");
  if (existsSync(built)) return open(built, "built from source");
  const platform = platformName();
  const beside = join(root, `trunkline.${platform}.node`);
  if (existsSync(beside)) return open(beside, "beside the package");
  const packageName = `@trunkline/${platform}`;
  try {
    return createRequire(__filename)(packageName) as Native;
  } catch (error) {
    const { version } = createRequire(__filename)("../package.json") as { version: string };
    const missing = (error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND";
    throw new Error(
      missing
        ? `trunkline needs its native library for ${platform}, the optional package ${packageName}, which is not installed. ` +
            `Run: npm install ${packageName}@${version} (in a checkout of the source: cargo xtask build)`
        : `trunkline's native library ${packageName} is installed but does not load: ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** Loads a file with any extension. */
function open(file: string, what: string): Native {
  const module = { exports: {} };
  try {
    process.dlopen(module, file);
  } catch (error) {
    throw new Error(`trunkline's native library ${file} (${what}) does not load: ${(error as Error).message}`, { cause: error });
  }
  return module.exports as Native;
}

/** Such as `linux-x64-gnu`, `linux-arm64-musl`, `darwin-arm64`, `win32-x64-msvc`. */
function platformName(): string {
  const base = `${process.platform}-${process.arch}`;
  if (process.platform === "win32") return `${base}-msvc`;
  return process.platform === "linux" ? `${base}-${isMusl() ? "musl" : "gnu"}` : base;
}

function isMusl(): boolean {
  const { report } = process;
  // Otherwise the report resolves the host names of open sockets.
  const settings = report as typeof report & { excludeNetwork?: boolean };
  const before = settings.excludeNetwork;
  settings.excludeNetwork = true;
  const { header } = report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  if (before !== undefined) settings.excludeNetwork = before;
  return header.glibcVersionRuntime === undefined;
}
