// Agent skills, and directories of files.
import { fileURLToPath } from "node:url";

import { base64 } from "../content.js";
import { invalid } from "../errors.js";
import { directoryOptionsNames, skillOptionsNames, skillOptionsTimes, type DirectoryOptions, type SkillOptions } from "../generated/options.js";
import { checkNames } from "../option-names.js";
import { inMilliseconds } from "../times.js";
import type { Feature } from "./feature.js";

/**
 * A skill's directory (a path or a `file:` URL), or its files by path, such as
 * `references/factors.md`: a string for a text file, bytes for any other.
 */
export type SkillFiles = string | URL | Readonly<Record<string, string | Uint8Array>>;

export function directoryFeature(uri: string, path: string | URL, options: DirectoryOptions): Feature {
  checkNames(options, directoryOptionsNames);
  return { kind: "directory", description: { uri, path: folderOf(path), ...options } };
}

export function skillFeature(files: SkillFiles, options: SkillOptions): Feature {
  checkNames(options, skillOptionsNames);
  const isFolder = typeof files === "string" || files instanceof URL;
  const contents = isFolder ? { folder: folderOf(files) } : { files: Object.entries(files).map(([path, file]) => fileOf(path, file)) };
  return { kind: "skill", description: { ...contents, ...inMilliseconds(options, skillOptionsTimes) } };
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
