import process from "node:process";
import { rm } from "node:fs/promises";
import { createHost, type Host } from "bulkhead";
import { expect } from "vitest";
import { readManifest } from "../../../core/packages/manifest/read-manifest.ts";
import { requestedWith } from "../../../core/packages/permissions/requested-permissions.ts";
import type { MessageTerms } from "../../../plugin-sdk/conversation.ts";
import type { Envelope } from "../../../plugin-sdk/envelope.ts";
import type { AttachmentPart, Delivery, Part } from "../../../plugin-sdk/messages.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import type { MockModel, ModelRun } from "../mock-model/mock-model.ts";
import type { ScenarioName } from "../mock-model/scenarios.ts";
import { type Agent, bundledFor } from "./agent.ts";
import { leftBehind, openPlace, type Place, processesOf } from "./place.ts";

export const patience = { timeout: 120_000, interval: 100 };

/** A session that is kept. */
export interface Talk {
  envelopes: Envelope[];
  place: Place;
  say(text: string, delivery?: Delivery, terms?: MessageTerms): string;
  /** Says something with an image. */
  show(text: string, image: Uint8Array): Promise<void>;
  stop(): void;
  /** Allows each request for permission, now and later. */
  allow(): void;
  /** Ends the session; resolves when it is over. */
  end(): Promise<void>;
  /** Begins another session in the same folder, with the same model. */
  again(request: Partial<SessionRequest>): Promise<Talk>;
  ended(turn: number): Promise<Extract<Envelope["event"], { type: "turn_ended" }>>;
  outcomes(): string[];
  requests: string[];
  /** Whether a helper of the agent has asked the model. */
  isHelped(): boolean;
  scenario(name: ScenarioName): void;
}

/** What a talk begins with. */
export interface TalkOptions {
  scenario: ScenarioName;
  request?: Partial<SessionRequest>;
  /** Tokens of each call's input that the model's cache has. */
  cached?: number;
  /** Goes with the first prompt. */
  attached?: { bytes: Uint8Array; name?: string };
}

/** Runs a talk with an agent on a host of its own; returns the processes that it left behind. */
export async function talkWith(
  agent: Agent,
  { models, scenario, request = {}, cached = 0, attached }: TalkOptions & { models: MockModel },
  act: (talk: Talk) => Promise<void>,
): Promise<string[]> {
  const place = await openPlace();
  const model = models.open(scenario, { workdir: place.workdir, offersTools: agent.tools, cached });
  const prepared = await agent.prepare({ name: scenario === "helper" ? scenario : "text", model, place });
  const { folder, config = {}, grant } = prepared;
  const host = await createHost({
    root: place.root,
    stateDir: `${place.root}/state`,
    bundledDir: bundledFor(prepared),
    writeLog: () => {},
  });
  try {
    const asked = grant ?? requestedWith(await readManifest(folder), config);
    const net = [new URL(model.url).host];
    const plugin = await host.registry.register(folder, { isolation: "process", grant: { ...asked, net }, config });
    const content = attached ? { content: [await attach(host, attached)] } : {};
    const whole = { ...prepared.request, ...request, ...content };
    await act(await begin(host, { adapter: plugin.id, place, model, request: whole }));
    await host.close();
    return await leftBehind(place);
  } finally {
    await host.close();
    for (const { pid } of await processesOf(place)) process.kill(pid, "SIGKILL");
    await rm(place.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/** Uploads bytes; those with a name are a file, others an image. */
async function attach(host: Host, { bytes, name }: { bytes: Uint8Array; name?: string }): Promise<AttachmentPart> {
  const { sha256, mime_type } = await host.attach(bytes);
  return name === undefined ? { type: "image", sha256, mime_type } : { type: "file", sha256, mime_type, name };
}

async function begin(
  host: Host,
  { adapter, place, model, request }: {
    adapter: string;
    place: Place;
    model: ModelRun & { scenario?: ScenarioName };
    request: object;
  },
): Promise<Talk> {
  const whole = { prompt: "Say the word wharf.", keep_ms: 120_000, retry: "never", approval: "all" } as const;
  const session = await host.runSession({ workdir: place.workdir, ...whole, ...request }, { adapter });
  const { conversations } = host.sessions;
  const envelopes: Envelope[] = [];
  let allows = false;
  const answer = ({ event }: Envelope): void => {
    if (!allows || event.type !== "permission_request") return;
    const yes = event.options.find(({ kind }) => kind === "allow_once")!;
    void session.answer(event.request_id, yes.id);
  };
  void (async () => {
    for await (const envelope of session.events()) {
      envelopes.push(envelope);
      answer(envelope);
    }
  })();
  let said = 0;
  const give = (content: Part[], { delivery, terms }: { delivery: Delivery; terms?: MessageTerms | undefined }) => {
    const message_id = `m${++said}`;
    const words = { message_id, content, delivery, ...(terms === undefined ? {} : { with: terms }) };
    void conversations.say(session.id, words);
    return message_id;
  };
  return {
    envelopes,
    place,
    requests: model.requests,
    isHelped: () => model.isHelped,
    scenario: (name) => void (model.scenario = name),
    say: (text, delivery = "queue", terms) => give([{ type: "text", text }], { delivery, terms }),
    async show(text, image) {
      give([{ type: "text", text }, await attach(host, { bytes: image })], { delivery: "queue" });
    },
    stop: () => void conversations.stop(session.id),
    allow() {
      allows = true;
      envelopes.forEach(answer);
    },
    async end() {
      await session.interrupt();
    },
    again: (more) => begin(host, { adapter, place, model, request: { ...request, ...more } }),
    async ended(turn) {
      const find = () =>
        envelopes.flatMap(({ event }) => event.type === "turn_ended" && event.turn === turn ? [event] : []);
      await expect.poll(() => find().length + Number(envelopes.at(-1)?.event.type === "session_ended"), patience)
        .toBeGreaterThan(0);
      const [event] = find();
      if (event === undefined) throw new Error(JSON.stringify(envelopes.at(-1)?.event));
      return event;
    },
    outcomes: () =>
      envelopes.flatMap(({ event }) =>
        event.type === "message_delivered"
          ? [`${event.message_id} ${event.how} ${event.turn}`]
          : event.type === "message_dropped"
          ? [`${event.message_id} ${event.reason}`]
          : []
      ),
  };
}
