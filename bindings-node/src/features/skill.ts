// Agent skills, and directories of files.
import { fileURLToPath } from "node:url";

import { base64 } from "../content.js";
import { invalid } from "../errors.js";
import type { CacheScope } from "../generated/model.js";
import { checkNames } from "../option-names.js";
import { milliseconds } from "../times.js";
import type { Feature } from "./feature.js";

/** A skill's directory, or its files by path, such as `references/factors.md`. A string is text. */
export type SkillFiles = string | URL | Readonly<Record<string, string | Uint8Array>>;

/** Options of a skill. */
export interface SkillOptions {
  /**
   * The URI of the folder, such as `skill://team/pdf-tools`, whose last segment is the name of the
   * skill. Default: `skill://` and the name.
   */
  root?: string | undefined;
  /** Milliseconds that clients may cache the files. Default: 0. */
  ttl?: number | undefined;
  /** Scope of the caches. Default: `private`. */
  cacheScope?: CacheScope | undefined;
}

/** Options of a directory whose files are served as resources. */
export interface DirectoryOptions {
  /** Include files and directories whose names begin with a dot. Default: false. */
  hidden?: boolean | undefined;
  /** Maximum size of a file that can be read, in bytes. Default: 4 MiB. */
  maxFileBytes?: number | undefined;
}

export function directoryFeature(uri: string, path: string | URL, options: DirectoryOptions): Feature {
  checkNames(options, ["hidden", "maxFileBytes"]);
  const { hidden, maxFileBytes } = options;
  return { kind: "directory", description: { uri, path: folderOf(path), hidden, maxFileBytes } };
}

export function skillFeature(files: SkillFiles, options: SkillOptions): Feature {
  checkNames(options, ["root", "ttl", "cacheScope"]);
  const { root, ttl, cacheScope } = options;
  return { kind: "skill", description: { ...contentsOf(files), root, ttlMs: milliseconds(ttl, "ttl"), cacheScope } };
}

function contentsOf(files: SkillFiles): object {
  if (typeof files === "string" || files instanceof URL) return { folder: folderOf(files) };
  return { files: Object.entries(files).map(([path, file]) => fileOf(path, file)) };
}

function folderOf(folder: string | URL): string {
  if (typeof folder === "string") return folder;
  if (folder.protocol !== "file:") throw invalid(`a folder must be a path or a file: URL, not ${folder.href}`);
  return fileURLToPath(folder);
}

function fileOf(path: string, file: unknown): object {
  if (typeof file === "string") return { path, text: file };
  if (file instanceof Uint8Array) return { path, blob: base64(file) };
  throw invalid(`the file ${JSON.stringify(path)} of a skill must be a string or bytes, not ${file === null ? "null" : typeof file}`);
}
