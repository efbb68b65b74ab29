import {
  type AdapterContext,
  type AdapterEvents,
  BulkheadError,
  defineAdapter,
  errorDataOf,
  type SessionRequest,
  type Turn,
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
  if (steps.some(({ kind }) => kind === "turn")) await turns.next();
  let now = 0;
  for (const step of steps) {
    if (step.kind === "turn") {
      const { done, value: turn } = await turns.next();
      if (done === true) return;
      if (turn.prompt !== step.text) throw driftError(turn, step.text);
      now = step.at_ms;
      continue;
    }
    if (speed > 0 && step.at_ms > now) await ctx.sleep((step.at_ms - now) / speed);
    now = step.at_ms;
    if (step.kind === "event") yield step.event;
    else await applyFileStep(step, ctx.fs);
  }
}

function driftError({ number, prompt }: Turn, recorded: string): BulkheadError {
  const [said, was] = [prompt, recorded].map((text) => JSON.stringify(text.slice(0, 200)));
  return new BulkheadError(
    "invalid_request",
    `DRIFT: turn ${number} begins with ${said}, and was recorded with ${was}.`,
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
