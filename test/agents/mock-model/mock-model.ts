import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropicMessages } from "./anthropic-messages.ts";
import type { Protocol } from "./exchange.ts";
import { geminiContent } from "./gemini-content.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";
import { Garbled, isOfHelper, type ScenarioName, scenarios } from "./scenarios.ts";

const protocols: readonly Protocol[] = [anthropicMessages, openaiResponses, openaiChat, geminiContent];

/** A model server on loopback that answers as its scenarios say. */
export interface MockModel {
  /** Gives an agent a base URL of its own, where the model does what a scenario says. */
  open(scenario: ScenarioName, place: { workdir: string; offersTools: boolean; cached?: number }): ModelRun;
  close(): Promise<void>;
}

/** What one agent is told and asked. */
export interface ModelRun {
  /** Base URL without a version and without a slash at its end. */
  url: string;
  /** Bodies of the requests to the model, in order. */
  requests: string[];
  /** Requests for which there is no answer: `METHOD path`. */
  strange: string[];
  /** Whether a helper of the agent has asked. */
  isHelped: boolean;
}

interface OpenRun extends ModelRun {
  scenario: ScenarioName;
  workdir: string;
  /** The agent offers tools when it asks for its answer; what it asks without them is a title or the like. */
  offersTools: boolean;
  /** Tokens of the input that its cache has. */
  cached?: number;
}

/** Starts the server on a free port. */
export async function startMockModel(): Promise<MockModel> {
  const runs = new Map<string, OpenRun>();
  const server = createServer((request, response) => {
    answer(request, response, runs).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    open(scenario, place) {
      const id = crypto.randomUUID();
      const run = {
        url: `http://127.0.0.1:${port}/${id}`,
        requests: [],
        strange: [],
        isHelped: false,
        scenario,
        ...place,
      };
      runs.set(id, run);
      return run;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, runs: Map<string, OpenRun>): Promise<void> {
  const [, id = "", path = ""] = /^\/([^/]+)(\/[^?]*)/.exec(request.url ?? "") ?? [];
  const run = runs.get(id);
  const text = await bodyOf(request);
  const protocol = protocols.find((one) => one.takes(path));
  if (!run) return reply(response, { status: 404, body: { error: { message: "There is no such run." } } });
  if (!protocol) return reply(response, aside(request, path, run));
  run.requests.push(text);
  const asked = { ...protocol.read(JSON.parse(text), path), cached: run.cached ?? 0 };
  run.isHelped ||= isOfHelper(asked);
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const isAside = run.offersTools && asked.tools.length === 0;
  const said = scenarios[isAside ? "text" : run.scenario](asked, { workdir: run.workdir, signal: gone.signal });
  if (typeof said === "string") return reply(response, protocol.fail(said));
  if (!asked.streams) return reply(response, { status: 200, body: await protocol.whole(said, asked) });
  await stream(response, protocol.stream(said, asked));
}

/** What agents ask beside the model's answers. */
function aside({ method }: IncomingMessage, path: string, run: OpenRun): { status: number; body: unknown } {
  if (path.endsWith("/count_tokens")) return { status: 200, body: { input_tokens: 100 } };
  if (path.endsWith(":countTokens")) return { status: 200, body: { totalTokens: 100 } };
  if (method === "HEAD") return { status: 200, body: {} };
  if (method === "GET" && path.endsWith("/models")) {
    return { status: 200, body: { object: "list", data: [], models: [] } };
  }
  run.strange.push(`${method} ${path}`);
  return { status: 404, body: { error: { message: "The mock model has no such path." } } };
}

async function stream(response: ServerResponse, frames: AsyncIterable<string>): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  try {
    for await (const frame of frames) {
      if (response.destroyed) return;
      if (!response.write(frame)) await drained(response);
    }
  } catch (error) {
    if (!(error instanceof Garbled)) throw error;
    response.write('data: {"type": "half of a fra\n\ndata: not JSON at all\n\n\u0000\u0001\n\n');
  }
  response.end();
}

async function drained(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const go = () => {
      response.off("drain", go).off("close", go);
      resolve();
    };
    response.on("drain", go).on("close", go);
  });
}

function reply(
  response: ServerResponse,
  { status, headers = {}, body }: { status: number; headers?: Record<string, string>; body: unknown },
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of request) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}
