// The common part of all features of a server.
import type { Context } from "../context.js";
import { checkFunction } from "../errors.js";
import type { Answer } from "../returns.js";
import type { Owner } from "../scope.js";
import { inMilliseconds } from "../times.js";

/** The handler of a feature, as its calls use it. Both steps may be asynchronous. */
export interface Callable {
  /** Calls the handler with the body of a call. Returns its value, or already an {@link Answer}. */
  run: (body: never, context: Context) => unknown;
  /** Converts the handler's return value to an answer. By default, it is any JSON value. */
  answer?: ((returned: unknown) => Answer | Promise<Answer>) | undefined;
  /** Checks arguments that the core rejected: true if a schema library accepts them. */
  explain?(args: object): Promise<boolean>;
  /** The feature and the place of its registration, for errors. */
  where?: string | undefined;
  /** The server of the feature; undefined for a client's handlers. */
  owner?: Owner | undefined;
}

/**
 * Called after an error thrown by a handler was logged, if the caller only gets a generic message.
 * Not called for a ToolError or ProtocolError, which the caller receives. Errors thrown by the hook
 * are logged.
 */
export type ErrorHook = (error: unknown, context: Context) => void;

/** A feature to register. */
export interface Feature {
  kind: "tool" | "resource" | "resourceTemplate" | "prompt" | "skill" | "directory" | "completion" | "completer" | "provider" | "middleware" | "requestHandler" | "mount" | "proxy" | "visibility" | "verifier";
  /** The name in errors. Default: the kind. */
  name?: string | undefined;
  /** The rest of the `register` message. */
  description: object;
  /** Absent for a skill or a directory, whose files the core serves. */
  callable?: Callable | undefined;
  /** Decides which callers see and may call the feature. */
  visible?: Callable | undefined;
  /** Completions of its arguments, by name. */
  completers?: ReadonlyMap<string, Callable> | undefined;
}

/** The hook of tools, resources, resource templates and prompts. */
export interface VisibleOption {
  /**
   * Decides for each request whether its caller can see and call the feature. To other callers it
   * does not exist. Errors are logged and count as `false`.
   */
  visible?: ((context: Context) => boolean | Promise<boolean>) | undefined;
}

/** The options of features that are functions, or have functions as members. */
export const featureHooks: readonly (keyof VisibleOption | "complete")[] = ["visible", "complete"];

/** Splits a definition into the named options, the members of its descriptor, and its hook. */
export function partsOf({ visible, ...config }: VisibleOption, names: readonly string[], times: readonly string[]): { options: object; members: object; visible?: Callable | undefined } {
  const options: Record<string, unknown> = {};
  const members: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(config)) (names.includes(name) ? options : members)[name] = value;
  if (visible !== undefined) checkHandler(visible, "a feature's visibility");
  return { options: inMilliseconds(options, times), members, visible: visible && { run: (_: never, context) => visible(context) } };
}

/** A registered feature. */
export interface Registration {
  /** Removes the feature and notifies connected clients. Calling it again has no effect. */
  remove(): void;
}

/**
 * A registered tool, resource, resource template or prompt. Connected clients are notified of
 * changes; running calls are unaffected.
 */
export interface ChangeableRegistration<C> extends Registration {
  /**
   * Changes the definition, the name or URI, or the handler. Omitted members keep their values;
   * `undefined` removes one.
   *
   * @throws {@link InvalidArgumentError} if the changed definition is invalid, which leaves the
   *   feature unchanged.
   */
  update(changes: Changes<C>): void;
  /** Shows the feature again. */
  enable(): void;
  /** Hides the feature: it is not listed, and calls of it fail as if it did not exist. */
  disable(): void;
}

/** Changes to a registered feature. */
export type Changes<C> = { [K in keyof C]?: C[K] | undefined } & { handler?: (...args: never[]) => unknown };

/** Throws unless the handler is a function. `of` names its feature. */
export function checkHandler(handler: unknown, of: string): void {
  checkFunction(handler, `the handler of ${of}`);
}
