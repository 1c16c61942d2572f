// Completion of prompt arguments and resource template variables.
import type { Context } from "../context.js";
import type { Completion, CompletionReference } from "../generated/model.js";
import { checkHandler, type Callable, type Feature } from "./feature.js";

/**
 * Suggests completions for a partial value. `arguments` contains the other arguments that the user
 * has already filled in.
 */
export type CompletionHandler = (
  value: string,
  known: { arguments: Record<string, string> },
  context: Context,
) => readonly string[] | Completion | Promise<readonly string[] | Completion>;

interface Body {
  argument: { value: string };
  context?: { arguments?: Record<string, string> };
}

/** Completion functions, by the argument or variable that they complete. */
export type Completions<Names extends string = string> = Readonly<Partial<Record<Names, CompletionHandler | undefined>>>;

/** Returns the completion functions of a definition, by argument. */
export function completersOf(complete: Completions = {}): Map<string, Callable> {
  const defined = Object.entries(complete).filter((entry): entry is [string, CompletionHandler] => entry[1] !== undefined);
  return new Map(defined.map(([argument, handler]) => [argument, callableOf(argument, handler)]));
}

export function completionFeature(ref: CompletionReference, argument: string, handler: CompletionHandler): Feature {
  return { kind: "completion", name: `the completion of ${JSON.stringify(argument)}`, description: { ref, argument }, callable: callableOf(argument, handler) };
}

function callableOf(argument: string, handler: CompletionHandler): Callable {
  checkHandler(handler, `the completion of ${JSON.stringify(argument)}`);
  return { run: ({ argument, context: known }: Body, context) => handler(argument.value, { arguments: known?.arguments ?? {} }, context) };
}
