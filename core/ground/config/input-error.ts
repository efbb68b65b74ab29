import type { TSchema } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { omitUndefined } from "../../../plugin-sdk/optional-fields.ts";
import { faultsOf } from "./check-against.ts";
import { pathText } from "./yaml-problems.ts";

/** Problems that one error lists, at most. */
const listed = 10;
const maxPath = 256;
/** Fields whose values may be secrets. */
const hiddenFields = /^(?:env|mcp_servers)\b/;

/** One problem of an input. A type alias, because `details` must be JSON. */
type InputProblem = { path: string; expected: string; found: string; hint?: string };

/**
 * Makes the `invalid_request` for an input that does not fit its schema, with the first problems in
 * `details.problems`.
 * @param what begins the sentence, for example `The body`
 */
export function inputError(what: string, schema: TSchema, value: unknown): BulkheadError {
  const problems = inputProblems(schema, value);
  const texts = problems.map(({ path, expected, found, hint }) => {
    const says = `${path || "all of it"}: expected ${expected}, found ${found}`;
    return hint === undefined ? `${says}.` : `${says}; ${hint}`;
  });
  const [first] = problems;
  return new BulkheadError("invalid_request", [`${what} is not valid.`, ...texts].join(" "), {
    details: { problems, ...omitUndefined({ path: first?.path }) },
  });
}

function inputProblems(schema: TSchema, value: unknown): InputProblem[] {
  const problems = new Map<string, InputProblem>();
  for (const { path: keys, of, expected, found, hint } of faultsOf(schema, value)) {
    if (problems.size === listed) break;
    const path = pathText(keys).slice(0, maxPath);
    if (problems.has(path)) continue;
    const shown = of === "value" && hiddenFields.test(path) && found !== "nothing" ? "something else" : found;
    problems.set(path, { path, expected, found: shown, ...omitUndefined({ hint }) });
  }
  return [...problems.values()];
}
