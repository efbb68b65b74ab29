import { fieldsOf, parseJson } from "../../../plugin-sdk/json-fields.ts";
import { toolModels } from "../../../plugin-sdk/tool-models.ts";
import { acceptedFields, type Manifest, type TalkAbility } from "../../../plugin-sdk/manifest.ts";
import type { SessionRequest } from "../../../plugin-sdk/request.ts";
import { isPinned } from "../../walls/broker/resolve-binary.ts";
import { toErrorData } from "../../ground/errors/to-error-data.ts";
import type { LogRecord } from "../../ground/log/log-record.ts";
import type { Isolation } from "../../packages/manifest/plugin.ts";
import { requestedWith } from "../../packages/permissions/requested-permissions.ts";
import { readdir, readFile, rm } from "../../ground/platform/files/files.ts";
import { sha256Hex } from "../../ground/platform/files/hash.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";
import type { KitHost } from "./kit-host.ts";
import { knownRateLimits, noSuchModel, otherFailures } from "./misbehaviour.ts";
import type { ConformanceScript, ScriptedServer, ScriptedSession } from "./script.ts";
import { type StandInPrograms, writeStandIns } from "./stand-in-programs.ts";
import { type Members, type Seen, type Take, type ToolMode, toolModes } from "./seen.ts";
import { runTake } from "./take.ts";
import { hangMs, trialLimits } from "./trial-limits.ts";
import { writeWatched } from "./watched-package.ts";
import { accepts, canTalk } from "../../sessions/session/enforceable.ts";
import { kitMark } from "./watched-source.ts";
import { deliveryOf, tries } from "./talk-deliveries.ts";

/** Maximum bytes of a `package.json`. */
const mostPackageBytes = 1024 * 1024;

/** A plugin under trial. */
export interface Subject {
  /** Real absolute path. */
  folder: string;
  manifest: Manifest;
  script: ConformanceScript;
  /** Its container. A thread is for code that the caller trusts. */
  isolation: Isolation;
}

/** Fields of a request that can be followed from the request to the agent, each with a value that nothing else has. */
const tracedFields: Readonly<Partial<SessionRequest>> = {
  system_prompt: "traced-system-prompt",
  continue_from: "00000000-0000-4000-8000-00000000c0de",
  allowed_tools: ["traced_tool"],
  max_turns: 7919,
  output_schema: {
    type: "object",
    properties: { traced_field: { type: "string" } },
    required: ["traced_field"],
    additionalProperties: false,
  },
};

/** A session, and the messages into it. */
interface Talk {
  session: ScriptedSession;
  messages: NonNullable<ScriptedSession["messages"]>;
}

/** Runs every session that rules need, one after another, and gives all that was seen. */
export async function observe(kit: KitHost, subject: Subject): Promise<Seen> {
  const trial = new Trial(kit, subject);
  try {
    return await trial.run();
  } finally {
    await trial.close();
  }
}

class Trial {
  readonly #kit: KitHost;
  readonly #subject: Subject;
  readonly #home: string;
  readonly #watchedId: string;
  #servers: ScriptedServer[] = [];
  #programs: StandInPrograms | null = null;
  readonly #seen: Seen;
  readonly #silence: (() => void)[] = [];

  constructor(kit: KitHost, subject: Subject) {
    const { manifest, folder, script } = subject;
    this.#kit = kit;
    this.#subject = subject;
    const key = sha256Hex(`${manifest.id}:${folder}`).slice(0, 12);
    this.#home = join(kit.root, "trials", key);
    this.#watchedId = `watched-${key}`;
    const permissions = requestedWith(manifest, script.config);
    const binaries = [...new Set((permissions.run ?? []).map(({ binary }) => binary))].filter(isPinned);
    this.#seen = {
      folder,
      manifest,
      permissions,
      script,
      package_json: null,
      names: [],
      load_error: null,
      members: null,
      read_unasked: null,
      open_calls: null,
      missing: null,
      fields: null,
      traced: {},
      asked: [],
      plain: [],
      again: null,
      interrupted: null,
      wire: null,
      talks: [],
      late: permissions.read?.includes("plugin") ? null : [],
      modes: {},
      used: { net: [], secrets: [] },
      unscripted: binaries.filter((binary) => !script.programs.some((program) => program.binary === binary)),
      scripted: script.programs.length > 0 || script.servers.length > 0,
    };
  }

  async run(): Promise<Seen> {
    const seen = this.#seen;
    const { folder } = this.#subject;
    seen.names = await readdir(folder);
    seen.package_json = await readJson(join(folder, "package.json"));
    try {
      await this.#prepare();
    } catch (error) {
      seen.load_error = toErrorData(error);
      return seen;
    }
    await this.#look();
    await this.#play();
    if (seen.scripted && seen.unscripted.length === 0) await this.#misbehave();
    return seen;
  }

  async close(): Promise<void> {
    for (const stop of this.#silence) stop();
    const { registry } = this.#kit.host;
    for (const id of [this.#subject.manifest.id, this.#watchedId]) {
      if (registry.get(id)) await registry.remove(id);
    }
    await rm(this.#home, { recursive: true, force: true });
  }

  /** Both packages in service: the plugin itself, and the kit's own that looks at it from inside. */
  async #prepare(): Promise<void> {
    const { host, pins } = this.#kit;
    const { folder, manifest, script, isolation } = this.#subject;
    const { permissions } = this.#seen;
    const unscripted = this.#seen.unscripted.map((binary) => ({ binary, answers: [{ session: "" }] }));
    this.#programs = await writeStandIns([...script.programs, ...unscripted], {
      home: join(this.#home, "programs"),
      folder,
      workdir: this.#workdir,
    });
    await this.#programs.set("play", this.#first.name);
    for (const id of [manifest.id, this.#watchedId]) {
      await this.#programs.pin(pins.of(id));
      this.#silence.push(this.#kit.onLog(id, (record) => this.#note(record)));
    }
    const held = { isolation, trusted: isolation === "thread" };
    // The programs are the kit's own, and a trial must work on a machine that can contain none.
    const os_walls = { agents: "off" as const };
    const settings = { ...held, grant: permissions, limits: trialLimits, config: script.config, os_walls };
    const trust_tools = manifest.defaults?.trust_tools === true;
    await host.registry.register(folder, { ...settings, trust_tools });
    await host.load(manifest.id);
    const watched = await writeWatched(join(this.#home, "watched"), {
      id: this.#watchedId,
      folder,
      manifest,
      permissions,
    });
    await host.registry.register(watched, settings);
    this.#servers = await withBodies(folder, script.servers);
  }

  /** Looks at the adapter's members, and at its reading while the kit does not pull. */
  async #look(): Promise<void> {
    const seen = this.#seen;
    const { manifest, script } = this.#subject;
    const models = [...modelsOf(manifest), noSuchModel];
    const texts = [...knownRateLimits, ...script.rate_limits].map(({ text }) => text).concat(otherFailures);
    seen.members = await this.#ask<Members>("members", { models, texts });
    seen.open_calls = await this.#ask<string[]>("calls", {});
    if (seen.scripted) seen.missing = await this.#ask("missing", {});
    const traced = Object.fromEntries(
      acceptedFields.flatMap((field) =>
        field in tracedFields && accepts(manifest, field) ? [[field, tracedFields[field as keyof SessionRequest]]] : []
      ),
    );
    const [model] = modelsOf(manifest);
    seen.traced = { ...traced, ...(model === undefined ? {} : { model }) };
    if (Object.keys(seen.traced).length > 0) seen.fields = await this.#ask("fields", {}, seen.traced);
    if (seen.scripted) seen.read_unasked = await this.#ask("held", { mode: "floods" });
  }

  /** Sessions whose tools do what their script says. */
  async #play(): Promise<void> {
    const seen = this.#seen;
    const { sessions } = this.#subject.script;
    for (const session of sessions) {
      if (session.messages === undefined) seen.plain.push(await this.#session(session, "play"));
    }
    const first = this.#first;
    seen.again = await this.#session(first, "play");
    seen.interrupted = await this.#session(first, seen.scripted ? "hangs" : "play", { interrupt: true });
    for (const session of this.#talks()) seen.talks.push(await this.#talk(session));
  }

  async #misbehave(): Promise<void> {
    const session = this.#first;
    for (const mode of toolModes) {
      if (mode === "play" || mode === "missing") continue;
      this.#seen.modes[mode] = await this.#session(session, mode);
    }
  }

  /** Sessions with several turns: those of the script, and for an adapter without tools one for each way to talk. */
  #talks(): Talk[] {
    const { manifest, script: { sessions } } = this.#subject;
    if (!canTalk(manifest, "turns") || this.#seen.unscripted.length > 0) return [];
    const talks = sessions.flatMap((
      { messages, ...session },
    ) => (messages === undefined ? [] : [{ session, messages }]));
    const ways = Object.entries(deliveryOf).filter(([ability, delivery]) =>
      !this.#seen.scripted && canTalk(manifest, ability as TalkAbility) && !tries(talks, delivery)
    );
    return [
      ...talks,
      ...ways.map(([ability, delivery]) => {
        return { session: { ...this.#first, name: ability }, messages: [{ text: "Go on.", delivery }] };
      }),
    ];
  }

  /**
   * Runs a session with messages in the kit's own adapter, which sees when the next turn is asked for; in the plugin itself
   * where that reads its package.
   */
  async #talk({ session, messages }: Talk): Promise<Seen["talks"][number]> {
    await this.#programs!.set("play", session.name);
    const order = { take: "talk", prompt: session.prompt, session: session.name, servers: this.#servers };
    const isInside = this.#seen.late !== null;
    const take = await runTake(this.#kit.host, {
      adapter: isInside ? this.#watchedId : this.#subject.manifest.id,
      workdir: this.#workdir,
      session,
      mode: "play",
      request: isInside ? { prompt: JSON.stringify(order) } : {},
      messages,
    });
    return { messages, take };
  }

  /** The session that is run again, and whose tools misbehave. */
  get #first(): ScriptedSession {
    const { sessions } = this.#subject.script;
    return sessions.find(({ messages }) => messages === undefined) ?? sessions[0]!;
  }

  /** A session of the plugin itself; where servers are scripted, of the kit's adapter around it. */
  async #session(
    session: ScriptedSession,
    mode: ToolMode,
    { interrupt = false }: { interrupt?: boolean } = {},
  ): Promise<Take> {
    await this.#programs!.set(mode, session.name);
    const deadline = mode === "hangs" && !interrupt ? { idle_timeout_ms: hangMs } : {};
    const inside = this.#servers.length > 0;
    const order = { take: "session", prompt: session.prompt, mode, session: session.name, servers: this.#servers };
    return await runTake(this.#kit.host, {
      adapter: inside ? this.#watchedId : this.#subject.manifest.id,
      workdir: this.#workdir,
      session,
      mode,
      request: { ...deadline, ...(inside ? { prompt: JSON.stringify(order) } : {}) },
      interrupt,
    });
  }

  /** Returns the answer of the kit's own adapter; null when it could not give one. */
  async #ask<T>(take: string, order: object, request: Partial<SessionRequest> = {}): Promise<T | null> {
    const session = this.#first;
    const mode = (order as { mode?: ToolMode }).mode ?? "play";
    await this.#programs!.set(mode, session.name);
    const whole = { take, prompt: session.prompt, session: session.name, servers: this.#servers, ...order };
    const { envelopes } = await runTake(this.#kit.host, {
      adapter: this.#watchedId,
      workdir: this.#workdir,
      session,
      mode,
      request: { ...request, prompt: JSON.stringify(whole) },
    });
    this.#seen.asked.push(...envelopes);
    for (const { event } of envelopes) {
      if (event.type !== "progress" || !event.message.startsWith(kitMark)) continue;
      const said = JSON.parse(event.message.slice(kitMark.length)) as { part: string; value: T };
      if (said.part === take) return said.value;
    }
    return null;
  }

  #note({ message }: LogRecord): void {
    if (!message.startsWith(kitMark)) return;
    const said = JSON.parse(message.slice(kitMark.length)) as { net?: string; secret?: string; late?: string };
    const { net, secret, late } = said;
    if (late !== undefined) this.#seen.late?.push(late);
    if (net !== undefined) this.#seen.used.net.push(net);
    if (secret !== undefined) this.#seen.used.secrets.push(secret);
  }

  get #workdir(): string {
    return join(this.#home, "workdir");
  }
}

/** Models that a manifest says a session may name. */
function modelsOf({ models = [], cli, access_modes = [] }: Manifest): string[] {
  const ofModes = access_modes.flatMap((mode) => (mode.type === "subscription" || !mode.enabled ? [] : [mode.model]));
  return [...new Set([...models, ...Object.keys(toolModels(cli ?? {}) ?? {}), ...ofModes])];
}

async function withBodies(folder: string, servers: readonly ScriptedServer[]): Promise<ScriptedServer[]> {
  return await Promise.all(servers.map(async ({ host, answers }) => ({
    host,
    answers: await Promise.all(answers.map(async ({ body_file, ...answer }) => {
      return body_file === undefined ? answer : { ...answer, body: await readFile(join(folder, body_file), "utf8") };
    })),
  })));
}

async function readJson(file: string): Promise<Record<string, unknown> | null> {
  // A pipe in its place would keep the kit waiting.
  const bytes = await readPlainFile(file, mostPackageBytes);
  const fields = bytes === null ? null : fieldsOf(parseJson(new TextDecoder().decode(bytes)));
  return fields === null ? null : { ...fields };
}
