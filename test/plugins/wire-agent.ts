import type { RunningProcess } from "../../plugin-sdk/context.ts";
import { BatchQueue } from "../../plugin-sdk/batch-queue.ts";
import type { JsonFields } from "../../plugin-sdk/json-fields.ts";

/** What the agent does with a message: the messages that it sends back. */
export interface Script {
  steers?: boolean;
  capabilities?: JsonFields;
  /** Its answer to the opening of a session. */
  session?: JsonFields;
  prompt(tools: Tools): object[];
  steer?(tools: Tools): object[];
  cancel?(tools: Tools): object[];
  /** Takes the answer to a request of the agent. */
  answered?(tools: Tools): object[];
}

/** What a script is made of. */
export interface Tools {
  /** Counts prompts from 1. */
  turn: number;
  message: JsonFields;
  update(update: JsonFields, sessionId?: string): object;
  say(text: string): object;
  /** Answers the prompt. */
  end(answer?: JsonFields): object;
  /** Answers this message. */
  reply(result: JsonFields): object;
  ask(id: number, toolCall: JsonFields): object;
}

/** An agent on the other side of a connection in memory; `wire` has its prompts, and how many were open at once. */
export function agentOf(script: Script) {
  const wire = { methods: [] as string[], prompts: [] as string[], steers: [] as JsonFields[], open: 0, most: 0 };
  let prompt: JsonFields = {};
  const answer = (text: string): string[] => {
    const message = JSON.parse(text) as JsonFields;
    const { id, method = "answer" } = message;
    wire.methods.push(String(method));
    const rpc = (fields: object) => ({ jsonrpc: "2.0", ...fields });
    const tools: Tools = {
      turn: wire.prompts.length,
      message,
      update: (update, sessionId = "s") => rpc({ method: "session/update", params: { sessionId, update } }),
      say: (said) => tools.update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: said } }),
      end: (result = { stopReason: "end_turn" }) => {
        wire.open--;
        return rpc({ id: prompt["id"], result });
      },
      reply: (result) => rpc({ id, result }),
      ask: (asked, toolCall) =>
        rpc({
          id: asked,
          method: "session/request_permission",
          params: { sessionId: "s", toolCall, options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }] },
        }),
    };
    const sent = (): object[] => {
      switch (method) {
        case "initialize":
          // A first sign of it, before there is a session.
          return [
            rpc({ method: "_auth/status_update", params: {} }),
            tools.reply({
              protocolVersion: 1,
              agentInfo: { name: "a" },
              agentCapabilities: script.capabilities ?? {},
              _meta: { steering: { supported: script.steers === true } },
            }),
          ];
        case "session/new":
          return [tools.reply({ sessionId: "s", ...script.session })];
        case "session/prompt": {
          prompt = message;
          wire.most = Math.max(wire.most, ++wire.open);
          const params = message["params"] as { prompt: { text: string }[] };
          wire.prompts.push(params.prompt.map((one) => one.text).join(""));
          return script.prompt({ ...tools, turn: wire.prompts.length });
        }
        case "_session/steering":
          wire.steers.push(message["params"] as JsonFields);
          return script.steer?.(tools) ?? [];
        case "session/cancel":
          return script.cancel?.(tools) ?? [];
        default:
          return script.answered?.(tools) ?? [];
      }
    };
    return sent().map((one) => JSON.stringify(one));
  };
  return { wire, answer };
}

/** That agent as a program. */
export class WireProcess implements RunningProcess {
  readonly stdout: AsyncIterable<string>;
  readonly stderr: AsyncIterable<string>;
  readonly exit: RunningProcess["exit"];
  readonly #out = new BatchQueue<string>();
  readonly #err = new BatchQueue<string>();
  readonly #answer: (text: string) => string[];
  isKilled = false;
  isLeft = false;
  #gone: () => void = () => {};

  constructor(answer: (text: string) => string[]) {
    this.#answer = answer;
    this.stdout = texts(this.#out);
    this.stderr = texts(this.#err);
    this.exit = new Promise((resolve) => this.#gone = () => resolve({ exit_code: 0, signal: null }));
  }

  readonly stdin = {
    write: (text: string): Promise<void> => {
      for (const line of text.split("\n").filter((one) => one !== "")) {
        this.#answer(line).forEach((one) => this.print(one));
      }
      return Promise.resolve();
    },
    close: (): Promise<void> => {
      this.isLeft = true;
      this.leave();
      return Promise.resolve();
    },
  };

  /** Prints a line. */
  print(line: string): void {
    this.#out.push([`${line}\n`]);
  }

  /** Prints a line on its error output. */
  warn(line: string): void {
    this.#err.push([`${line}\n`]);
  }

  /** It ends. */
  leave(): void {
    this.#out.end();
    this.#err.end();
    this.#gone();
  }

  kill(): Promise<void> {
    this.isKilled = true;
    this.leave();
    return Promise.resolve();
  }
}

async function* texts(queue: BatchQueue<string>): AsyncGenerator<string, void, void> {
  for await (const batch of queue.batches()) yield* batch;
}
