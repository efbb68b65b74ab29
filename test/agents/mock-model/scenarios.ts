import { setTimeout as sleep } from "node:timers/promises";
import { callId, chooseCall, has, type Wish } from "./choose-tool.ts";
import type { Answer, Asked, Failure, OfferedTool } from "./exchange.ts";

/** What the model does, by name. */
export type Scenario = (asked: Asked, place: Place) => Answer | Failure;

/** Where the agent works. */
export interface Place {
  workdir: string;
  /** Aborts when whoever asked is gone. */
  signal: AbortSignal;
}

/** Thrown by a text that breaks off: what follows on the wire is no frame of the protocol. */
export class Garbled extends Error {}

/** Length of the answer of `long`, in bytes. */
export const longBytes = 204_800;
/** What `thinking` thinks. */
export const thought = "The request is short, so a short answer will do.";
/** What the tools' scenarios write. */
export const written = { name: "hello.txt", content: "hi from the model" };
/** A command that does not end within any test. */
export const sleeper = "tail -f /dev/null";

/** What the helper of `helper` is told. */
const helperTask = "Helper, look for the wharf.";
/** Milliseconds for which it works: longer than an agent may clean up. */
const helperMs = 4000;
/** What the model says while its helper works. */
export const interimAnswer = "I wait for the helper. ";

/** All scenarios. */
export const scenarios = {
  text: speak(),
  thinking: speak({ thinking: ["The request is short, ", "so a short answer will do."] }),
  write: callThenSpeak(({ workdir }) => ({ write: `${workdir}/${written.name}`, content: written.content })),
  command: callThenSpeak(({ workdir }) => ({ run: writing(workdir) })),
  command_unboxed: callThenSpeak(({ workdir }) => ({ run: writing(workdir), unboxed: true })),
  helper: helped,
  command_endless: callThenSpeak(() => ({ run: sleeper })),
  unauthorised: () => "unauthorised",
  forbidden: () => "forbidden",
  rate_limit: () => "rate_limit",
  rate_limit_wait: () => "rate_limit_wait",
  plan_limit: () => "plan_limit",
  server_error: () => "server_error",
  context_overflow: () => "context_overflow",
  long: speak({ text: longText }),
  endless: speak({ text: endlessText }),
  malformed: speak({ text: garbledText }),
  conversation: conversed,
} satisfies Record<string, Scenario>;

/** Name of a scenario. */
export type ScenarioName = keyof typeof scenarios;

interface Spoken {
  thinking?: string[];
  text?: (signal: AbortSignal) => AsyncIterable<string>;
}

function speak({ thinking = [], text = shortText }: Spoken = {}): Scenario {
  return (_asked, { signal }) => ({ thinking, text: text(signal), calls: [] });
}

function writing(workdir: string): string {
  return `printf '%s' '${written.content}' > '${workdir}/${written.name}'`;
}

function callThenSpeak(wishOf: (place: Place) => Wish): Scenario {
  return (asked, place) => {
    const call = asked.answered ? null : chooseCall(wishOf(place), asked.tools);
    if (call === null) return speak()(asked, place);
    return { thinking: [], text: pieces("I will ", "do it."), calls: [call] };
  };
}

/**
 * Starts a helper, once. Where it works in the background the model answers meanwhile, and again when the helper is done;
 * where another tool waits for it, the model calls that one.
 */
function helped(asked: Asked, { signal }: Place): Answer {
  const { tools, answered, calls = [] } = asked;
  if (isOfHelper(asked)) return { thinking: [], text: slowText(signal), calls: [] };
  const left = tools.filter(({ name }) => !calls.includes(name));
  const tool = answered
    ? left.find(({ name }) => name === "wait_agent")
    : left.find(({ name, schema }) => has(schema, /^subagent_type$/) || /^(spawn|invoke)_agent$/.test(name));
  if (tool === undefined) return { thinking: [], text: answered ? pieces(interimAnswer) : shortText(), calls: [] };
  return { thinking: [], text: pieces("I will ", "do it."), calls: [{ id: callId(), tool, input: orderOf(tool) }] };
}

/** Whether the helper of `helper` asks. */
export function isOfHelper({ begins = "" }: Asked): boolean {
  return begins.includes(helperTask);
}

/** What a helper's tool is told, by the arguments that it takes. */
function orderOf({ name, schema }: OfferedTool): Record<string, unknown> {
  const order = {
    description: "A task",
    prompt: helperTask,
    message: helperTask,
    task_name: "look",
    subagent_type: name === "task" ? "general" : "general-purpose",
    agent_name: "generalist",
    run_in_background: true,
    timeout_ms: 30_000,
  };
  return Object.fromEntries(Object.entries(order).filter(([key]) => has(schema, new RegExp(`^${key}$`))));
}

/** Prompts that the model of `conversation` obeys; any other is answered at once. */
export const orders = { command: "Run a slow command.", slowly: "Speak slowly.", endlessly: "Speak for ever." };

function conversed(asked: Asked, place: Place): Answer {
  const { ends = "", answered, tools } = asked;
  const wants = (order: string) => !answered && ends.includes(order);
  const call = wants(orders.command) ? chooseCall({ run: "sleep 3" }, tools) : null;
  if (call !== null) return { thinking: [], text: pieces("I will ", "do it."), calls: [call] };
  const text = wants(orders.endlessly) ? endlessText : wants(orders.slowly) ? countedText : shortText;
  return { thinking: [], text: text(place.signal), calls: [] };
}

async function* countedText(signal: AbortSignal): AsyncGenerator<string> {
  for (let at = 0; at < 15; at++) {
    yield `word ${at} `;
    await sleep(200, undefined, { signal });
  }
}

async function* slowText(signal: AbortSignal): AsyncGenerator<string> {
  await sleep(helperMs, undefined, { signal });
  yield "The helper is done.";
}

function shortText(): AsyncIterable<string> {
  return pieces("It is ", "done.");
}

async function* pieces(...texts: string[]): AsyncGenerator<string> {
  yield* texts;
}

/** The answer of `long`: numbered lines, none like another: one agent ends an answer that repeats itself. */
export async function* longText(): AsyncGenerator<string> {
  const width = 512;
  let state = 1;
  const letter = () => String.fromCharCode(97 + (state = (state * 48_271) % 2_147_483_647) % 26);
  for (let line = 0; line < longBytes / width; line++) {
    yield `${`line ${line} ${Array.from({ length: width }, letter).join("")}`.slice(0, width - 1)}\n`;
  }
}

async function* endlessText(signal: AbortSignal): AsyncGenerator<string> {
  for (let tick = 0; !signal.aborted; tick++) {
    yield `tick ${tick} `;
    await sleep(100);
  }
}

async function* garbledText(): AsyncGenerator<string> {
  yield "It is ";
  throw new Garbled();
}
