import { typedCommand } from "../../../ground/platform/processes/own-command.ts";

/**
 * Writes the commands of a sentence of ours so that the person can type them: with the words by which this program was
 * called, such as `npx bulkhead`, where a shell would not find `bulkhead`. Do not pass text of others.
 */
export function asTyped(sentence: string): string {
  return sentence.replace(commands, () => `${typedCommand()} `);
}

// Where a path or another kind of word follows, "bulkhead" is an argument of another program.
const commands = /(?<![\w./@:-])(?<!npx )bulkhead (?=\[|[a-z-]+(?![\w/]))/g;
