import type { AskGrant, MissingGrant } from "../../walls/broker/session-broker.ts";
import { isPinned } from "../../walls/broker/resolve-binary.ts";
import { readRunTarget } from "../../ground/config/grant-command.ts";
import { workingDirectory } from "../../ground/platform/engine/platform.ts";
import { programPath } from "./program-path.ts";
import { asTyped } from "./render/as-typed.ts";
import { permissionWords } from "./render/permission-words.ts";
import type { Questions } from "./questions.ts";

interface AskGrantOptions {
  /** Path of the host manifest; undefined when there is none to write to. */
  manifestFile: string | undefined;
}

/** The answers that are offered; "always" and "never" are written to the host manifest. */
type GrantAnswer = "once" | "always" | "no" | "never";

/**
 * Asks for missing grants: once, no, or an answer that the host manifest keeps, always or never. The same question is
 * not asked twice.
 */
export function createAskGrant(questions: Questions, options: AskGrantOptions): AskGrant {
  const answers = new Map<string, Promise<boolean | null>>();
  return async (missing, signal) => {
    const key = JSON.stringify([missing.plugin_id, missing.permission, missing.target]);
    while (!signal.aborted) {
      const answer = answers.get(key) ?? ask(missing, { questions, signal, ...options });
      answers.set(key, answer);
      const said = await answer;
      if (said !== null) return said;
      // The session that asked is over; this one still wants to know.
      if (answers.get(key) === answer) answers.delete(key);
    }
    return false;
  };
}

/** Returns null when the question was withdrawn. */
async function ask(
  missing: MissingGrant,
  { questions, manifestFile, signal }: AskGrantOptions & { questions: Questions; signal: AbortSignal },
): Promise<boolean | null> {
  const words: GrantAnswer[] = manifestFile === undefined ? ["once", "no"] : ["once", "always", "no", "never"];
  const answer = await questions.choose(await grantQuestion(missing, { isKept: manifestFile !== undefined }), {
    choices: words.map((word) => ({ word, value: word })),
    signal,
    withdrawn: `No answer: "${missing.plugin_id}" ended without it.`,
  });
  if (answer === null) return signal.aborted ? null : false;
  if (manifestFile !== undefined && answer === "always") await keep(missing, { manifestFile, under: "grant" });
  if (manifestFile !== undefined && answer === "never") await keep(missing, { manifestFile, under: "deny" });
  return answer === "once" || answer === "always";
}

/** Asks in plain words for what a plugin lacks, and says where a grant alone will not do. */
export async function grantQuestion(
  { plugin_id, permission, target, grant_command }: MissingGrant,
  { isKept = true }: { isKept?: boolean } = {},
): Promise<string> {
  const binary = readRunTarget(target)?.binary ?? target;
  const words = permissionWords({ permission, target, breadth: "bounded", ...(permission === "run" && { binary }) });
  const isMissing = permission === "run" && isPinned(binary) &&
    await programPath(binary, workingDirectory()) === null;
  return [
    `The plugin "${plugin_id}" asks to ${words}`,
    ...(isMissing ? ["  That program is not on this machine now."] : []),
    ...(isKept ? [`  "always" and "never" are kept. "always" saves it: ${asTyped(grant_command)}`] : []),
  ].join("\n");
}

async function keep(
  missing: MissingGrant,
  { manifestFile, under }: { manifestFile: string; under: "grant" | "deny" },
): Promise<void> {
  const [{ addGrant }, { changeManifest }] = await Promise.all([
    import("../../packages/manifest/edit-host-manifest.ts"),
    import("../../packages/install/manifest-transaction.ts"),
  ]);
  await changeManifest(manifestFile, async ({ text, writeText }) => {
    await writeText(addGrant(text, { pluginId: missing.plugin_id, ...missing, under }, { file: manifestFile }));
  });
}
