// Completion of the arguments of prompts and of the variables of resource templates.
import type { Context } from "../context.js";
import type { Completion, CompletionReference } from "../model.js";
import { valueOf } from "../returns.js";
import { checkHandler, type Offer } from "./offer.js";

/** Suggests values for what was typed so far; `arguments` are the others that are known already. */
export type CompletionHandler = (
  value: string,
  known: { arguments: Record<string, string> },
  context: Context,
) => readonly string[] | Completion | Promise<readonly string[] | Completion>;

interface Body {
  argument: { value: string };
  context?: { arguments?: Record<string, string> };
}

export function completionOffer(ref: CompletionReference, argument: string, handler: CompletionHandler): Offer {
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
