import { typedCommand } from "../../../ground/platform/processes/own-command.ts";

/** Writes commands as the person can type them, such as with `npx bulkhead`. Do not pass text of others. */
export function asTyped(sentence: string): string {
  return sentence.replace(commands, () => `${typedCommand()} `);
}

// Where a path or another kind of word follows, "bulkhead" is an argument of another program.
const commands = /(?<![\w./@:-])(?<!npx )bulkhead (?=\[|[a-z-]+(?![\w/]))/g;
