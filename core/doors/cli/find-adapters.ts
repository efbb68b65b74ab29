import type { AgentCapabilities } from "../../../plugin-sdk/capabilities.ts";
import type { Host } from "../../sessions/host/host.ts";
import { passedOverLine } from "../../sessions/routing/demand-candidate.ts";
import type { Route } from "../../sessions/routing/choose-route.ts";
import type { Invocation } from "./command.ts";
import { safeLine } from "./render/agent-text.ts";
import { createPaint } from "./render/paint.ts";
import { whileWaiting } from "./while-waiting.ts";

/** Options of {@link findAdapters}. */
export interface AdapterSearch {
  host: Host;
  /** An id, a chain of ids, or `auto`. */
  wanted: string | string[];
  prompt: string;
  /** Print nothing about the choice. */
  quiet: boolean;
}

/**
 * Ids of the adapters that may take the session, best first, and tells on standard error which was chosen and why
 * others were passed over. One that was named alone is taken as it is.
 * @throws {BulkheadError} when none can, saying for each why
 */
export async function findAdapters(call: Invocation, search: AdapterSearch): Promise<[string, ...string[]]> {
  const { host, wanted, prompt, quiet } = search;
  const { terminal, options } = call;
  const require = options["require"] as AgentCapabilities | undefined;
  if (typeof wanted === "string" && wanted !== "auto" && require === undefined) return [wanted];
  const { model, systemPrompt: system_prompt } = options;
  const route = await whileWaiting("Asking the agents …", {
    terminal,
    work: host.route({
      adapter: wanted,
      ...(require === undefined ? {} : { require }),
      request: {
        prompt,
        ...(typeof model === "string" ? { model } : {}),
        ...(typeof system_prompt === "string" ? { system_prompt } : {}),
      },
    }),
  });
  if (!quiet) await terminal.stderr.write(routeText(route, terminal.colours.stderr));
  const [first, ...others] = route.candidates.map(({ adapter_id }) => adapter_id);
  return [first!, ...others];
}

/** A route as lines for people. */
function routeText({ candidates, passed_over }: Route, colours: boolean): string {
  const paint = createPaint(colours);
  const [first, ...others] = candidates.map(({ adapter_id, access_mode }) =>
    access_mode === null ? adapter_id : `${adapter_id} (${access_mode.type})`
  );
  const next = others.length === 0 ? "" : paint("dim", `, then ${others.join(", ")}`);
  const lines = passed_over.map((one) => paint("dim", `  not ${safeLine(passedOverLine(one))}`));
  return `${[`agent: ${paint("bold", first ?? "none")}${next}`, ...lines].join("\n")}\n`;
}
