import { Type } from "@sinclair/typebox";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { lazyCheck } from "../../ground/checks/lazy-check.ts";
import { parseYaml } from "../../ground/config/yaml.ts";
import { readdir, readFile } from "../../ground/platform/files/files.ts";
import { fileURLToPath, join } from "../../ground/platform/files/paths.ts";

/** Kinds of things that an agent's walls guard. */
export const guardedThings = [
  "keys in the home",
  "the host's state",
  "settings in the home",
  "other projects and disks",
  "the operator's key",
  "another session",
  "servers of the person",
  "what a project's programs obey",
  "what the person's git runs",
  "what a host acts on",
] as const;

/** Those who act in cases: a stranger's repository, programs, sessions, the person's editor and git, the next start. */
export const caseActors = ["repository", "first", "next", "second_host", "person", "start"] as const;

const closed = { additionalProperties: false };
const text = Type.String({ minLength: 1 });
const script = Type.Optional(text);

const stepActors = ["repository", "first", "beside", "next", "second_host", "outside", "person", "start"] as const;
const stepSchema = Type.Object(
  Object.fromEntries(stepActors.map((name) => [name, script])) as Record<keyof WalledStep, typeof script>,
  { ...closed, minProperties: 1 },
);

const thing = Type.Union(guardedThings.map((name) => Type.Literal(name)));
const actor = Type.Union(caseActors.map((name) => Type.Literal(name)));

const caseSchema = Type.Object({
  id: Type.String({ pattern: "^[A-Z]+[0-9]+$" }),
  name: text,
  thing,
  actors: Type.Array(actor, { minItems: 1 }),
  forms: Type.Optional(Type.Record(Type.String(), text)),
  needs: Type.Optional(Type.Object({ script: text, or: text }, closed)),
  home: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  client_env: Type.Optional(Type.Record(Type.String(), Type.String())),
  adapter_env: Type.Optional(Type.Record(Type.String(), Type.String())),
  steps: Type.Array(stepSchema, { minItems: 1 }),
  untouched: Type.Optional(Type.Array(text)),
  starts: Type.Optional(Type.Record(Type.String(), text)),
}, closed);

const fileSchema = Type.Object({
  cases: Type.Array(caseSchema),
  not_tried: Type.Optional(Type.Array(Type.Object({
    things: Type.Array(thing),
    actors: Type.Array(actor),
    why: text,
  }, closed))),
}, closed);

const check = lazyCheck(fileSchema);

/**
 * Shell scripts of those who act at the same time. `repository` is what a stranger ships, `outside` the person's editor,
 * git or shell while agents work, `person` the same afterwards: these three have all rights. `first` and `beside` are
 * programs of one contained session, `next` is one of another, `second_host` one of a host with a state of its own. A
 * session ends after the last step that names it. `start` is the program of an agent of a host that starts in the
 * project then, with the host manifest that it finds.
 */
export type WalledStep = Partial<Record<typeof stepActors[number], string>>;

type GuardedThing = typeof guardedThings[number];
type CaseActor = typeof caseActors[number];

/** An attack on an agent's walls in which several act: programs, sessions, a repository, the person. */
export interface WalledCase {
  id: string;
  name: string;
  /** Its aim. */
  thing: GuardedThing;
  /** Those whose part it tries; each acts in one of its steps. */
  actors: readonly CaseActor[];
  /** Spelling of it, which scripts find in `FORM`. */
  form?: string;
  /** Script that fails where the case cannot be tried, and why. */
  needs?: { script: string; or: string };
  /** `HOME` of the host; absent: the stage's. `null`: it has none. */
  home?: string | null;
  /** Environment of the session's client. `${ECHO}` is a granted server, `${ROOT}` the stage. */
  client_env?: Readonly<Record<string, string>>;
  /** Environment that a hostile adapter gives its program. */
  adapter_env?: Readonly<Record<string, string>>;
  steps: readonly WalledStep[];
  /** Files of the stage that are at the end what they were when the first agent started. */
  untouched?: readonly string[];
  /**
   * Programs that start what an agent may leave in the project, by path. What a script of the person names with `found`
   * must have been told before, with these programs; the case falls where it was not.
   */
  starts?: Readonly<Record<string, string>>;
}

/** A case as it stands in a file: each of its forms is one. */
interface WrittenCase extends WalledCase {
  forms?: Readonly<Record<string, string>>;
}

/** Cells of the table of actors and guarded things that no case tries: each of these actors against each of these things. */
interface NotTried {
  things: readonly GuardedThing[];
  actors: readonly CaseActor[];
  why: string;
}

interface CaseFile {
  cases: readonly WrittenCase[];
  not_tried?: readonly NotTried[];
}

/** The cases of this package, and what they leave out. */
interface WalledCases {
  cases: readonly WalledCase[];
  notTried: readonly NotTried[];
}

const own = import.meta.url;
const folder = fileURLToPath(
  new URL(own.endsWith(".ts") ? "../../../test/hostile/cases" : "../../../../test/hostile/cases", own),
);

/**
 * Reads the cases that come with this package, each form as one.
 * @throws {BulkheadError} `invalid_manifest` for a file that is none of cases
 */
export async function readWalledCases(): Promise<WalledCases> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".yaml")).sort();
  const files = await Promise.all(names.map((name) => readCases(join(folder, name))));
  return {
    cases: files.flatMap(({ cases }) => cases.flatMap(formsOf)),
    notTried: files.flatMap(({ not_tried = [] }) => not_tried),
  };
}

async function readCases(file: string): Promise<CaseFile> {
  const { value } = parseYaml(await readFile(file, "utf8"), { file, maxBytes: 1_000_000, maxAliases: 0 });
  const checked = check();
  if (checked.Check(value)) return value;
  const [error] = checked.Errors(value);
  throw new BulkheadError("invalid_manifest", `Cannot read "${file}": ${error?.path} ${error?.message}.`);
}

function formsOf({ forms, ...one }: WrittenCase): WalledCase[] {
  if (forms === undefined) return [one];
  return Object.entries(forms).map(([name, form], index) => ({
    ...one,
    id: `${one.id}.${index + 1}`,
    name: `${one.name}: ${name}`,
    form,
  }));
}
