// Completion of prompt arguments and of resource template variables.
import type { Context } from "../context.js";
import type { Completion, CompletionReference } from "../generated/model.js";
import { valueOf } from "../returns.js";
import { checkHandler, type Feature } from "./feature.js";

/** Suggests values for an incomplete one. `arguments` are the other arguments that are known. */
export type CompletionHandler = (
  value: string,
  known: { arguments: Record<string, string> },
  context: Context,
) => readonly string[] | Completion | Promise<readonly string[] | Completion>;

interface Body {
  argument: { value: string };
  context?: { arguments?: Record<string, string> };
}

export function completionFeature(ref: CompletionReference, argument: string, handler: CompletionHandler): Feature {
  checkHandler(handler, `the completion of ${JSON.stringify(argument)}`);
  return {
    kind: "completion",
    description: { ref, argument },
    callable: {
      run: ({ argument, context: known }: Body, context) => handler(argument.value, { arguments: known?.arguments ?? {} }, context),
      answer: valueOf,
    },
  };
}
