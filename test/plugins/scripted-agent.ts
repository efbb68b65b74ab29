import { fileURLToPath } from "node:url";
import type { RegistrySettings } from "bulkhead";
import { requestedWith } from "../../core/packages/permissions/requested-permissions.ts";
import { readManifest } from "../../core/packages/manifest/read-manifest.ts";
import type { Permissions } from "../../plugin-sdk/permissions.ts";
import { openStandIn, type StandIn } from "./stand-in.ts";

const program = fileURLToPath(new URL("../fixtures/acp/scripted-agent.mjs", import.meta.url));
const folder = fileURLToPath(new URL("../../plugins/acp", import.meta.url));

/** A host whose `acp` plugin runs the scripted agent as if it were a known one, with the smallest grant for it. */
export function openScriptedAgent(
  config: Record<string, unknown> = {},
  { grant, manifest = "", ...settings }: RegistrySettings & { manifest?: string } = {},
): Promise<StandIn> {
  return openStandIn("acp", {
    binary: "gemini",
    program,
    manifest,
    settings: { ...settings, grant: grant ?? { run: [{ binary: "gemini" }] }, config: { agent: "gemini", ...config } },
  });
}

/** The same agent under a name that only the operator knows. */
export function openOwnAgent(config: Record<string, unknown>, grant: Permissions): Promise<StandIn> {
  return openStandIn("acp", { binary: "my-agent", program, settings: { grant, config } });
}

/** All that the manifest asks for with that known agent. */
export async function allRequested(): Promise<Permissions> {
  return requestedWith(await readManifest(folder), { agent: "gemini" });
}
