import { spawn } from "node:child_process";
import { once } from "node:events";

/** Runs with a process, which ends with it. */
export async function withProcess(command, args, use) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "close");
  try {
    return await use(child);
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}
