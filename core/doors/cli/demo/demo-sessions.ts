import type { Permissions } from "../../../../plugin-sdk/permissions.ts";
import type { SessionRequest } from "../../../../plugin-sdk/request.ts";
import type { HostManifest, PluginSettings } from "../../../ground/config/host-manifest.ts";
import type { Limits } from "../../../ground/config/limits.ts";

interface DemoSession {
  adapter: string;
  /** The session in a few words. */
  about: string;
  prompt: string;
  grant: Permissions;
  limits?: Partial<Limits>;
}

/** The three sessions that run at once: two honest, one hostile. */
export const demoSessions: readonly DemoSession[] = [
  {
    adapter: "repo-census",
    about: "a tool defined in YAML alone: counts the repository and writes a report into it",
    prompt: "Count this repository.",
    grant: { run: [{ binary: "@runtime" }] },
  },
  {
    adapter: "replay",
    about: "a recorded session of a real agent CLI that edits files, at its recorded speed",
    prompt: "Replay the recorded session.",
    grant: { read: ["plugin", "workdir"], write: ["workdir"] },
  },
  {
    adapter: "memory-hog",
    about: "hostile: allocates memory without end",
    prompt: "Take all you can get.",
    grant: {},
    limits: { heap_mb: 48 },
  },
];

/** Returns a host manifest that enables the demo's plugins with exactly the grants they need. */
export function demoManifest(): HostManifest {
  return {
    bulkhead: 1,
    plugins: Object.fromEntries(demoSessions.map((session) => [session.adapter, settingsOf(session)])),
    tools: {},
    routing: { agent: "auto" },
    limits: {},
  };
}

/** Returns the request for one of the demo's sessions. A crash is not retried: the demo must show it. */
export function demoRequest({ prompt }: DemoSession, workdir: string): SessionRequest {
  return { workdir, prompt, retry: "never", timeout_ms: 60_000, labels: { demo: "three-at-once" } };
}

function settingsOf({ grant, limits = {} }: DemoSession): PluginSettings {
  return { enabled: true, trusted: false, isolation: "process", grant, deny: {}, limits, config: {} };
}
