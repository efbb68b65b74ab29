import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { ErrorCode } from "../../../plugin-sdk/errors.ts";
import { readFile } from "../../ground/platform/files/files.ts";
import { fileURLToPath, join } from "../../ground/platform/files/paths.ts";

/** Every page of the documentation with its topic, in reading order. To add one: also a file in `.github/docs/`. */
export const helpPages = {
  "get-started": "install, run an agent you have, keep a daemon running",
  agents: "the agents that come with Bulkhead, and what each can do",
  sessions: "requests, results, retries, routing, events of the host",
  conversations: "talk with an agent while it works and after",
  console: "see everything that runs, waits or was refused on one page",
  worktrees: "let an agent work on a copy, then take or leave its changes",
  permissions: "what a plugin may do, how to grant it, why it was denied",
  secrets: "keys that a plugin's code never sees",
  walls: "what holds a hostile adapter, and what does not",
  wire: "calls of models: what is counted, and how a budget stops the next",
  replay: "record the calls of a model, and run a session again offline",
  "install-plugins": "install, update, block and remove plugins",
  manifest: "every key of plugin.yaml and bulkhead.yaml",
  limits: "every limit with its default",
  daemon: "run Bulkhead as a service",
  performance: "what a session costs, beside other ways to an agent",
  cluster: "several machines as one",
  backups: "back up, move to another machine, upgrade and go back",
  journal: "retention, verification and export of the log",
  notify: "a call when something waits for you and no page is open",
  telemetry: "traces and metrics of sessions, sent to a collector",
  "http-api": "routes, tokens, streams and the client",
  "mcp-acp": "MCP clients, editors, and MCP servers for agents",
  "write-an-adapter": "ctx, events, templates, packages",
  "yaml-adapters": "known agents driven without code, written out",
  "conformance-kit": "prove that a plugin keeps the contract",
  errors: "every error code and exit code",
  words: "what other hosts call it, and its name here",
} as const;

type HelpPage = keyof typeof helpPages;

/** The page that explains an error, where one helps. */
export const pageOfError: { readonly [C in ErrorCode]?: HelpPage } = {
  invalid_manifest: "manifest",
  invalid_config: "manifest",
  invalid_package: "install-plugins",
  duplicate_plugin: "manifest",
  blocked_plugin: "install-plugins",
  unaccepted_change: "walls",
  grant_needed: "permissions",
  permission_denied: "permissions",
  env_missing: "secrets",
  conflict: "worktrees",
  limit_exceeded: "limits",
  budget_exceeded: "wire",
  too_large: "limits",
  busy: "sessions",
  unavailable: "agents",
  binary_missing: "agents",
  quarantined: "walls",
  unenforceable: "sessions",
  unauthorized: "http-api",
  forbidden: "http-api",
  journal_error: "journal",
  git_missing: "worktrees",
  bundle_failed: "write-an-adapter",
  load_failed: "write-an-adapter",
  adapter_incomplete: "write-an-adapter",
};

const own = import.meta.url;
const folder = fileURLToPath(new URL(own.endsWith(".ts") ? "../../../.github/docs" : "../../../../.github/docs", own));

/** Whether a word names a page. */
export function isHelpPage(word: string): word is HelpPage {
  return Object.hasOwn(helpPages, word);
}

/**
 * The Markdown of a page.
 * @throws {BulkheadError} `not_found` where the package came without its documentation
 */
export async function readHelpPage(page: HelpPage): Promise<string> {
  const file = join(folder, `${page}.md`);
  return await readFile(file, "utf8").catch(() => {
    throw new BulkheadError("not_found", `Cannot show the page "${page}": "${file}" does not exist.`, {
      hint: "Install Bulkhead again, or read the page in the repository.",
    });
  });
}
