import { z } from "zod";
import { basename } from "../../ground/runtime/paths.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { AcpAgent } from "./acp-files.ts";

const start = {
  args: z.array(z.string().max(1024)).max(64).optional(),
  env: z.record(z.string(), z.string()).optional(),
};
const packaged = z.object({ package: z.string().min(1).max(512), ...start });

/** An entry of the registry of agents that speak the Agent Client Protocol, as far as a plugin needs it. */
const entrySchema = z.object({
  id: z.string().regex(/^[a-z][a-z0-9-]*$/, "expected lowercase letters, digits and hyphens"),
  name: z.string().min(1).max(128),
  version: z.string().regex(/^\d+\.\d+\.\d+(?:-[\w.-]+)?$/, "expected a version such as 1.0.0"),
  description: z.string().min(1).max(1024),
  license: z.string().min(1).max(64).optional(),
  distribution: z.object({
    binary: z.record(z.string(), z.object({ archive: z.string(), cmd: z.string().min(1).max(512), ...start }))
      .optional(),
    npx: packaged.optional(),
    uvx: packaged.optional(),
  }),
});

type Entry = z.infer<typeof entrySchema>;

/** An agent of the registry. */
export interface RegisteredAgent extends AcpAgent {
  id: string;
  name: string;
}

/**
 * Reads an entry of the registry of agents, `agent.json`. The program is what the operator installs: a plugin downloads
 * nothing, so of a package it is the one that bears its name, and of an archive the file that the entry names.
 * @throws {BulkheadError} `invalid_config`
 */
export function readAcpEntry(value: unknown, { command }: { command?: string | undefined } = {}): RegisteredAgent {
  const read = entrySchema.safeParse(value);
  if (!read.success) {
    const problems = read.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`);
    throw new BulkheadError("invalid_config", `Cannot import this agent: ${problems.join("; ")}.`);
  }
  const { id, name, version, description, license = "UNLICENSED", distribution } = read.data;
  const way = wayOf(distribution);
  if (way === null) throw new BulkheadError("invalid_config", `Cannot import agent "${id}": it names no distribution.`);
  const binary = command ?? way.binary;
  return { id, name, version, description, license, ...way, binary };
}

function wayOf(
  { npx, uvx, binary = {} }: Entry["distribution"],
): Omit<AcpAgent, "version" | "description" | "license"> | null {
  if (npx) {
    return {
      ...startOf(npx),
      binary: programOf(npx.package),
      install: `Install it with \`npm install -g ${npx.package}\`.`,
    };
  }
  if (uvx) {
    return {
      ...startOf(uvx),
      binary: programOf(uvx.package),
      install: `Install it with \`uv tool install ${uvx.package}\`.`,
    };
  }
  const [platform, one] = Object.entries(binary)[0] ?? [];
  if (platform === undefined || one === undefined) return null;
  const program = basename(one.cmd.replaceAll("\\", "/")).replace(/\.exe$/i, "");
  return {
    ...startOf(one),
    binary: program,
    install: `Install its archive, for ${platform} ${one.archive}, on your PATH.`,
  };
}

function startOf({ args = [], env = {} }: { args?: string[] | undefined; env?: Record<string, string> | undefined }) {
  return { args, env };
}

/** `@scope/name@1.2.3` and `name==1.2.3` are called `name`. */
function programOf(packageName: string): string {
  return packageName.replace(/^@[^/]+\//, "").replace(/(?:@|==|\[).*$/, "");
}
