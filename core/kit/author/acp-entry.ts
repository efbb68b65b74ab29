import * as z from "zod";
import valid from "semver/functions/valid.js";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { quoteWord } from "../../ground/config/grant-command.ts";
import { basename } from "../../ground/platform/files/paths.ts";
import { architecture, platform } from "../../ground/platform/engine/platform.ts";
import type { AcpAgent } from "./acp-files.ts";
import type { KeyNames } from "./key-names.ts";
import { plainPackage } from "./npm-program.ts";

const variable = z.object({ name: z.string(), value: z.string().optional(), default: z.string().optional() });
const start = {
  args: z.array(z.string().max(1024)).max(64).optional(),
  /** Values by name as the registry has them; also descriptions by name, and lists of names, which ask for a value. */
  env: z.union([z.record(z.string(), z.unknown()), z.array(z.union([z.string(), variable]))]).optional(),
};
const packaged = z.object({ package: z.string().min(1).max(512), ...start });
const archived = z.object({ archive: z.string(), cmd: z.string().min(1).max(512), ...start });

/** An entry of the registry of agents that speak the Agent Client Protocol, as far as a plugin needs it. */
const entrySchema = z.object({
  id: z.string().min(1).max(256),
  name: z.string().min(1).max(128),
  version: z.string().min(1).max(64),
  description: z.string().min(1).max(1024),
  license: z.string().min(1).max(64).optional(),
  distribution: z.object({
    binary: z.record(z.string(), archived).optional(),
    npx: packaged.optional(),
    uvx: packaged.optional(),
  }),
});

type Entry = z.infer<typeof entrySchema>;
type Distribution = Entry["distribution"];
type Archive = z.infer<typeof archived>;
type Start = Pick<z.infer<typeof packaged>, "args" | "env">;

interface RegisteredAgent extends AcpAgent {
  id: string;
  name: string;
}

interface AcpEntryOptions {
  /** The program, where its name is known to the operator. */
  command?: string | undefined;
  /** This machine, as the registry names it; default: the one this runs on. */
  machine?: string;
  /** Finds the program of an npm package; null where that cannot be found. */
  programOf?: (packageSpec: string) => Promise<string | null>;
  /** Variables from which known programs read their keys. */
  keyNames?: KeyNames;
}

const systems: Readonly<Record<string, string>> = { win32: "windows" };
const processors: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };

/** This machine as the registry names it, such as `linux-x86_64`. */
export const thisMachine: string = `${systems[platform] ?? platform}-${processors[architecture] ?? architecture}`;

/**
 * Reads an entry of the registry of agents, `agent.json`. The program is what the operator installs: a plugin downloads
 * nothing.
 * @throws {BulkheadError} `invalid_config`, `unsupported` where it has no program for this machine
 */
export async function readAcpEntry(value: unknown, options: AcpEntryOptions = {}): Promise<RegisteredAgent> {
  const read = entrySchema.safeParse(value);
  if (!read.success) {
    const problems = read.error.issues.map(({ path, message }) => `${path.join(".") || "the file"}: ${message}`);
    throw new BulkheadError("invalid_config", `Cannot import ${entryLabel(value)}: ${problems.join("; ")}.`, {
      hint: "Correct the entry, or import another one.",
    });
  }
  const { id, name, version, description, license = "UNLICENSED", distribution } = read.data;
  const way = wayOf(read.data, options);
  const { program, guessedFrom } = await programIn(distribution, way, options);
  const { values, names } = variablesOf(way.start);
  const known = (options.keyNames?.(program) ?? []).filter((one) => !Object.hasOwn(values, one));
  const envNames = [...new Set([...names, ...known])];
  const plain = plainVersion(version);
  return {
    id,
    name,
    version: plain,
    description,
    license,
    args: way.start.args ?? [],
    env: values,
    envNames,
    binary: program,
    install: way.install,
    notes: [
      ...(guessedFrom === null ? [] : [guessNote(program, guessedFrom)]),
      ...(plain === version ? [] : [`The registry calls the version ${version}; the plugin says ${plain}.`]),
      envNote(envNames),
    ],
  };
}

/** Names an entry that may be of any form. */
function entryLabel(value: unknown): string {
  const id: unknown = typeof value === "object" && value !== null && "id" in value ? value.id : undefined;
  return typeof id === "string" ? `agent "${id}"` : "this agent";
}

function guessNote(program: string, packageName: string): string {
  return `Guessed the program: ${program}, from the package ${packageName}. ` +
    "If it is another one, import the agent again with --command <program>.";
}

function envNote(names: readonly string[]): string {
  return names.length === 0
    ? "It gets no variable of yours: if it reads a key from one, add its name to env in plugin.yaml."
    : `It gets these variables where they are set: ${names.join(", ")}.`;
}

interface Way {
  start: Start;
  install: string;
  /** Of npm, with its version; null for other ways. */
  npmPackage: string | null;
  /** The program's name that follows from the way itself; null where it does not. */
  program: string | null;
}

function wayOf({ id, distribution }: Entry, { command, machine = thisMachine }: AcpEntryOptions): Way {
  const { npx, uvx, binary = {} } = distribution;
  if (npx) {
    const install = `npm install -g ${quoteWord(npx.package)}`;
    return { start: npx, install, npmPackage: npx.package, program: null };
  }
  if (uvx) {
    const install = `uv tool install ${quoteWord(uvx.package)}`;
    // uvx starts the program that is called as the package.
    return { start: uvx, install, npmPackage: null, program: plainPackage(uvx.package) };
  }
  const own = Object.hasOwn(binary, machine) ? binary[machine] : undefined;
  if (own !== undefined) return archiveWay(own);
  const [first] = Object.values(binary);
  if (command !== undefined) {
    return {
      ...(first === undefined ? { start: {} } : archiveWay(first)),
      install: "",
      npmPackage: null,
      program: null,
    };
  }
  const hint = "If you have its program, name it with --command <program>.";
  const machines = Object.keys(binary).join(", ");
  if (first === undefined) {
    const message = `Cannot import agent "${id}": its distribution names neither npx, uvx nor binary.`;
    throw new BulkheadError("unsupported", message, { hint });
  }
  const message = `Cannot import agent "${id}": it has no program for ${machine}, only for ${machines}.`;
  throw new BulkheadError("unsupported", message, { hint });
}

/** Some entries write the first arguments behind the program's path. */
function archiveWay({ archive, cmd, args = [], ...rest }: Archive): Way {
  const [path = "", ...own] = cmd.trim().split(/\s+/);
  return {
    start: { ...rest, args: [...own, ...args] },
    // Some are the program itself.
    install: `${/\.(?:zip|tar|tgz|tar\.\w+)$/i.test(archive) ? "unpack" : "download"} ${archive} onto your PATH`,
    npmPackage: null,
    program: programAt(path),
  };
}

async function programIn(
  { binary = {} }: Distribution,
  { npmPackage, program }: Way,
  { command, machine = thisMachine, programOf }: AcpEntryOptions,
): Promise<{ program: string; guessedFrom: string | null }> {
  const spec = npmPackage ?? "";
  const sure = command ?? program ?? await programOf?.(spec) ?? null;
  if (sure !== null) return { program: sure, guessedFrom: null };
  const own = Object.hasOwn(binary, machine) ? binary[machine] : undefined;
  const [named, ...others] = new Set(
    (own === undefined ? Object.values(binary) : [own]).map((one) => archiveWay(one).program),
  );
  if (typeof named === "string" && others.length === 0) return { program: named, guessedFrom: null };
  const packageName = plainPackage(spec);
  return { program: packageName.replace(/^@[^/]+\//, ""), guessedFrom: packageName };
}

/** Name of a program in an archive: `.\\bin\\goose.exe` is `goose`. */
function programAt(cmd: string): string {
  return basename(cmd.replaceAll("\\", "/")).replace(/\.(?:exe|cmd|bat)$/i, "");
}

/** Values that an entry sets, and names that it only describes: the agent gets the operator's value of those. */
function variablesOf({ env = {} }: Start): { values: Record<string, string>; names: string[] } {
  const all: (readonly [string, unknown])[] = Array.isArray(env)
    ? env.map((one) => typeof one === "string" ? [one, undefined] : [one.name, one.value ?? one.default])
    : Object.entries(env);
  const valid = all.filter(([name]) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
  const isSet = (value: unknown): value is string => typeof value === "string" && !/^(?:|\$.*|<.*>)$/s.test(value);
  return {
    values: Object.fromEntries(valid.flatMap(([name, value]) => isSet(value) ? [[name, value]] : [])),
    names: valid.flatMap(([name, value]) => isSet(value) ? [] : [name]),
  };
}

/** Returns the nearest semantic version: `2026.08.11` becomes `2026.8.11`, and a text without numbers `0.1.0`. */
export function plainVersion(text: string): string {
  const whole = valid(text);
  if (whole !== null) return whole;
  const [, numbers, rest = ""] = /^v?(\d+(?:\.\d+)*)(?:[-+.](.*))?$/.exec(text.trim()) ?? [];
  if (numbers === undefined) return "0.1.0";
  const [major = 0, minor = 0, patch = 0, ...more] = numbers.split(".").map(Number);
  const after = [...more.map(String), ...rest.split(/[^0-9A-Za-z-]+/).filter((part) => part !== "")];
  const tail = after.map((part) => /^\d+$/.test(part) ? String(Number(part)) : part).join(".");
  return valid(`${major}.${minor}.${patch}${tail === "" ? "" : `-${tail}`}`) ?? "0.1.0";
}
