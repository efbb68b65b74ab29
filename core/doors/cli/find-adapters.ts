import type { Colours } from "../../ground/platform/terminal/terminal.ts";
import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { Host } from "../../sessions/host/host.ts";
import { passedOverLine } from "../../sessions/routing/demand-candidate.ts";
import type { PassedOver, Route } from "../../sessions/routing/choose-route.ts";
import type { Invocation } from "./command.ts";
import { safeLine } from "./render/agent-text.ts";
import { createPaint } from "./render/paint.ts";
import { buildRequest } from "./session-request.ts";
import { whileWaiting } from "./while-waiting.ts";
import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { type NamedPlugin, unknownAdapter } from "../../sessions/routing/unknown-adapter.ts";

interface AdapterSearch {
  host: Host;
  /** An id, a chain of ids, or `auto`. */
  wanted: string | string[];
  prompt: string;
  /** Whether sessions on all of them run at once, so that none takes over from another. */
  all: boolean;
  /** Print nothing about the choice. */
  quiet: boolean;
}

/** Adapters for a session. */
export interface FoundAdapters {
  /** The adapter that is tried first. */
  first: string;
  /** Choice for the session: an id, or ids in the order in which they are tried. */
  adapter: string | string[];
  /** Adapters that cannot take it, and why. */
  passed_over: readonly PassedOver[];
  /** Whether each of them has the required capabilities; a session then need not ask again. */
  isChecked: boolean;
}

/** Adapters that a daemon, or the session, finds by itself. */
export function unsearched(wanted: string | readonly string[]): FoundAdapters {
  const [first = "auto", ...others] = [wanted].flat();
  return { first, adapter: others.length === 0 ? first : [first, ...others], passed_over: [], isChecked: false };
}

/**
 * Finds the adapters that may take the session, and tells on standard error which is first and why others were passed
 * over. One that was named alone is taken as it is; a chain stays as it was named, so that the session tells what took
 * over from what.
 * @throws {BulkheadError} when none can, saying for each why
 */
export async function findAdapters(call: Invocation, search: AdapterSearch): Promise<FoundAdapters> {
  const { host, wanted, prompt, quiet } = search;
  const { terminal, options } = call;
  const require = options["require"] as AgentCapabilities | undefined;
  if (typeof wanted === "string" && wanted !== "auto" && require === undefined) {
    return unsearched(wanted);
  }
  const request = buildRequest({
    options: { ...options, param: undefined },
    prompt,
    cwd: terminal.cwd,
    config: undefined,
  });
  const route = await whileWaiting("Asking the agents …", {
    terminal,
    work: host.route({
      adapter: wanted,
      require,
      request,
    }),
  });
  if (!quiet) await terminal.stderr.write(routeText(route, { colours: terminal.colours.stderr, all: search.all }));
  const ids = route.candidates.map(({ adapter_id }) => adapter_id);
  const found = ids.length === 1 ? ids[0]! : ids;
  // A chain stays whole, so its session asks for the capabilities itself.
  const isChecked = typeof wanted === "string" || search.all;
  return { first: ids[0]!, adapter: isChecked ? found : wanted, passed_over: route.passed_over, isChecked };
}

/** A route as lines for people. */
function routeText(
  { candidates, passed_over }: Route,
  { colours, all }: { colours: Colours; all: boolean },
): string {
  const paint = createPaint(colours);
  const left = passed_over.map((one) => paint("dim", `  not ${safeLine(passedOverLine(one))}`));
  // Sessions that run at once have no first adapter to announce.
  if (all) return left.map((line) => `${line}\n`).join("");
  const [first, ...others] = candidates.map(({ adapter_id, access_mode, limited_until }) => {
    const through = access_mode === null ? adapter_id : `${adapter_id} (${access_mode.type})`;
    return limited_until === undefined ? through : `${through} (limited until ${limited_until})`;
  });
  const next = others.length === 0 ? "" : paint("dim", `, then ${others.join(", ")}`);
  return `${[`agent: ${paint("bold", first ?? "none")}${next}`, ...left].join("\n")}\n`;
}

interface ChooseAdapterOptions {
  /** From the command line: an id, several with commas, or `auto`. */
  given: string | undefined;
  plugins: readonly NamedPlugin[];
  routing: HostManifest["routing"] | undefined;
}

/**
 * Returns the wanted adapter: an id, a chain of ids or `auto`, from the command line or `routing.agent`. For `auto`
 * with a single enabled adapter it is that one, with no agents to ask first.
 * @throws {BulkheadError} `unknown_adapter` for an id that no enabled adapter has; `blocked_plugin`
 */
export function chooseAdapter({ given, plugins, routing }: ChooseAdapterOptions): string | string[] {
  const enabled = plugins.filter((plugin) => plugin.enabled).map((plugin) => plugin.id);
  const wanted = given?.split(",") ?? [routing?.agent ?? "auto"].flat();
  const [first = "auto", ...others] = wanted;
  if (others.length === 0 && first === "auto") return enabled.length === 1 ? enabled[0]! : "auto";
  // A chain goes on without one that cannot be used now; the session tells why.
  const passed = others.length === 0 ? [] : plugins.flatMap(({ id, stopped }) => stopped === undefined ? [] : [id]);
  const unknown = wanted.find((id) => !enabled.includes(id) && !passed.includes(id));
  if (unknown !== undefined) throw unknownAdapter(unknown, plugins);
  return others.length === 0 ? first : wanted;
}
