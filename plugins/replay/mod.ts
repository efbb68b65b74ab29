import {
  type AdapterContext,
  type AdapterEvent,
  type AdapterEvents,
  BulkheadError,
  defineAdapter,
  errorDataOf,
  type SessionRequest,
  type Turn,
  type TurnMessage,
} from "bulkhead/plugin-sdk";
import { applyFileStep } from "./file-steps.ts";
import { parseRecording } from "./recording.ts";

/** Plays a recording as if its agent ran now. */
export default defineAdapter({
  id: "replay",
  name: "Replay",
  version: "1.0.0",
  capabilities: { testing: true, multi_file: true },
  runSession: replay,
});

async function* replay(request: SessionRequest, ctx: AdapterContext): AdapterEvents {
  const { recording = "edit-session", speed = 1 } = request.params ?? {};
  if (typeof recording !== "string" || typeof speed !== "number" || !(speed >= 0)) {
    throw new BulkheadError(
      "invalid_request",
      'Cannot replay: "recording" must be a text and "speed" a number from 0.',
    );
  }
  const steps = parseRecording(await readRecording(recording, ctx), recording);
  const turns = ctx.turns[Symbol.asyncIterator]();
  const isTalk = steps.some(({ kind }) => kind === "turn" || kind === "steer");
  let turn: Turn | undefined = isTalk ? (await turns.next()).value : undefined;
  let now = 0;
  for (const step of steps) {
    if (step.kind === "turn") {
      turn = (await turns.next()).value;
      if (turn === undefined) return;
      if (turn.prompt !== step.text) throw driftError(`turn ${turn.number} begins with`, turn.prompt, step.text);
      now = step.at_ms;
      continue;
    }
    if (step.kind === "steer") {
      // No client talks with a session that is not kept: it plays what the agent did after it.
      if (turn?.kept === true) yield await recordedWord(turn, step.text, ctx);
      now = step.at_ms;
      continue;
    }
    if (speed > 0 && step.at_ms > now) await ctx.sleep((step.at_ms - now) / speed);
    now = step.at_ms;
    if (step.kind === "event") yield step.event;
    else await applyFileStep(step, ctx.fs);
  }
}

/** How long a word that was recorded is waited for, and how often it is looked for. Milliseconds. */
const wordMs = 30_000;
const lookMs = 20;

/** Waits for the word into a turn that comes now in the recording. */
async function recordedWord({ number, messages }: Turn, recorded: string, ctx: AdapterContext): Promise<AdapterEvent> {
  const words: TurnMessage[] = [];
  const asking = messages[Symbol.asyncIterator]().next().then(({ value }) => void (value && words.push(value)));
  for (let waited = 0; words.length === 0 && waited < wordMs; waited += lookMs) await ctx.sleep(lookMs);
  const [word] = words;
  if (word?.text !== recorded) throw driftError(`turn ${number} gets`, word?.text ?? null, recorded);
  await asking;
  return { type: "message", message_id: word.message_id, state: "taken" };
}

function driftError(what: string, said: string | null, recorded: string): BulkheadError {
  const shown = (text: string) => JSON.stringify(text.slice(0, 200));
  return new BulkheadError(
    "invalid_request",
    `DRIFT: ${what} ${said === null ? "no word" : shown(said)}, and was recorded with ${shown(recorded)}.`,
  );
}

async function readRecording(recording: string, ctx: AdapterContext): Promise<string> {
  const ours = !/[\\/]/.test(recording);
  const folder = `${ctx.plugin_dir}/recordings`;
  const path = ours ? `${folder}/${recording.replace(/\.jsonl$/, "")}.jsonl` : recording;
  try {
    return await ctx.fs.readText(path);
  } catch (error) {
    if (errorDataOf(error)?.code !== "not_found") throw error;
    const names = ours ? (await ctx.fs.list(folder)).map((name) => name.replace(/\.jsonl$/, "")) : [];
    throw new BulkheadError("not_found", `Cannot replay "${recording}": there is no such recording.`, {
      hint: ours
        ? `There is: ${names.sort().join(", ") || "none"}. A path needs a slash, such as ./my.jsonl.`
        : undefined,
    });
  }
}
