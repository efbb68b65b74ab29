import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { CommandHandler, Invocation } from "./command.ts";

/**
 * Wraps a command: where it may not use a file because that changed while an agent could write it, the person at the
 * terminal sees the difference and decides with one key. The command then begins again.
 */
export function accepting(handler: CommandHandler): CommandHandler {
  return async (call) => {
    for (;;) {
      try {
        return await handler(call);
      } catch (error) {
        if (!(error instanceof BulkheadError) || error.code !== "unaccepted_change") throw error;
        if (!(await isAccepted(error, call))) throw error;
      }
    }
  };
}

async function isAccepted({ details }: BulkheadError, { terminal, json }: Invocation): Promise<boolean> {
  const path = details?.["path"];
  if (typeof path !== "string" || json) return false;
  const { Questions } = await import("./questions.ts");
  if (!Questions.possible(terminal)) return false;
  const [{ changeAt }, { acceptChange }] = await Promise.all([
    import("../../ground/recorded/demand-recorded.ts"),
    import("../../ground/recorded/accept-change.ts"),
  ]);
  // Only what is found here and now is shown and accepted, whatever the error says.
  const change = await changeAt(path);
  if (change === null) return false;
  const { digest, difference } = change.details as { digest: string; difference: string[] };
  const question = [change.message, ...difference.map((line) => `  ${line}`), "Did you, or a tool of yours, do that?"];
  const answer = await new Questions(terminal).choose(question.join("\n"), {
    choices: [{ word: "accept", value: true }, { word: "no", value: false }],
  });
  if (answer === true) await acceptChange(path, digest);
  return answer === true;
}
