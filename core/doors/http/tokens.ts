import { Type } from "@sinclair/typebox";
import { Check } from "@sinclair/typebox/value";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { chmod, mkdir, readFile, stat } from "../../ground/runtime/files.ts";
import { isSameText, randomId, randomSecret, sha256Hex } from "../../ground/runtime/hash.ts";
import { withLockFile } from "../../ground/runtime/lock-file.ts";
import { dirname, join } from "../../ground/runtime/paths.ts";
import { readPlainFile } from "../../ground/runtime/read-plain-file.ts";
import { replaceFile } from "../../ground/runtime/replace-file.ts";
import { type Caller, owner, scopes, type TokenScope } from "./scopes.ts";

/** A stored token, without the secret that would let a reader use it. */
export interface TokenRecord {
  id: string;
  name: string;
  scopes: TokenScope[];
  /** As in {@link Caller}. */
  workdirs?: string[];
  /** RFC 3339, UTC. */
  created_at: string;
  /** Null: it is valid until it is revoked. */
  expires_at: string | null;
  /** SHA-256 of the whole token. */
  sha256: string;
}

/** Fields of a new token. */
interface NewToken {
  name: string;
  scopes: readonly TokenScope[];
  /** As in {@link Caller}. */
  workdirs?: readonly string[] | undefined;
  /** RFC 3339; null: never. */
  expires_at?: string | null;
}

/** The tokens of one state folder. Other programs may change them at any time; each call reads the current state. */
export interface TokenStore {
  /** Returns the caller of a token; null for one that is unknown, revoked or expired. */
  check(token: string): Promise<Caller | null>;
  /** Whether a caller's token is still valid. */
  holds(caller: Caller): Promise<boolean>;
  /** Returns the key that proves to a client that the server knows its token; null for an unknown one. */
  keyOf(id: string): Promise<string | null>;
  list(): Promise<TokenRecord[]>;
  /**
   * Creates a token. It is returned once and never stored.
   * @throws {BulkheadError} `already_exists` for a name in use, `limit_exceeded`
   */
  create(wanted: NewToken): Promise<{ token: string; record: TokenRecord }>;
  /** Creates a token for a page of the console, and removes those of pages that have expired. */
  createForConsole(wanted: Pick<NewToken, "scopes" | "expires_at">): Promise<{ token: string; record: TokenRecord }>;
  /** Revokes the token of this id or name, and expired ones of that name; null when there is none. */
  revoke(idOrName: string): Promise<TokenRecord | null>;
  /** Keeps a token that another machine of the cluster has; an expired or known one is left as it is. */
  keep(record: TokenRecord): Promise<void>;
  /** Returns the file of the first token, which has all scopes; creates both where they are missing. */
  first(): Promise<{ file: string; token: string }>;
}

const record = exactly<TokenRecord>()(Type.Object({
  id: Type.String({ pattern: "^[0-9a-f]{32}$" }),
  name: Type.String({ minLength: 1, maxLength: 64 }),
  scopes: Type.Array(Type.Union([Type.Literal("read"), Type.Literal("run"), Type.Literal("admin")]), { minItems: 1 }),
  workdirs: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  created_at: Type.String(),
  expires_at: Type.Union([Type.String(), Type.Null()]),
  sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
}, closed));

const fileSchema = Type.Object({ tokens: Type.Literal(1), entries: Type.Array(record) }, closed);

const mostTokens = 1000;
const maxFileBytes = 1024 * 1024;
const firstName = "first";
/** Begin of the names of tokens of the console's pages: many are made, and none is missed once it has expired. */
const consolePrefix = "console-";

/** Opens the store of a state folder; reads and creates nothing before it is needed. */
export function openTokens(stateDir: string): TokenStore {
  return new TokenFiles(join(stateDir, "http"));
}

class TokenFiles implements TokenStore {
  readonly #folder: string;
  readonly #file: string;
  readonly #firstFile: string;
  #known: { version: string; records: ReadonlyMap<string, TokenRecord> } = { version: "", records: new Map() };

  constructor(folder: string) {
    this.#folder = folder;
    this.#file = join(folder, "tokens.json");
    this.#firstFile = join(folder, "token");
  }

  async check(token: string): Promise<Caller | null> {
    const id = /^bh_([0-9a-f]{32})_/.exec(token)?.[1] ?? "";
    const found = (await this.#current()).get(id);
    const same = isSameText(sha256Hex(token), found?.sha256 ?? "");
    return found !== undefined && same && isCurrent(found) ? callerOf(found) : null;
  }

  async holds({ id }: Caller): Promise<boolean> {
    const records = await this.#current();
    const found = id === owner.id ? [...records.values()].find(isFirst) : records.get(id);
    return found !== undefined && isCurrent(found);
  }

  async keyOf(id: string): Promise<string | null> {
    const found = (await this.#current()).get(id);
    return found !== undefined && isCurrent(found) ? found.sha256 : null;
  }

  async list(): Promise<TokenRecord[]> {
    return [...(await this.#current()).values()];
  }

  async create({ name, scopes: wanted, workdirs, expires_at = null }: NewToken): ReturnType<TokenStore["create"]> {
    const id = randomId();
    const token = `bh_${id}_${randomSecret()}`;
    const made: TokenRecord = {
      id,
      name,
      scopes: scopes.filter((scope) => wanted.includes(scope)),
      ...(workdirs === undefined ? {} : { workdirs: [...workdirs] }),
      created_at: new Date().toISOString(),
      expires_at,
      sha256: sha256Hex(token),
    };
    await this.#change((records) => {
      const old = records.filter((one) => one.name.startsWith(consolePrefix) && !isCurrent(one));
      for (const one of old) records.splice(records.indexOf(one), 1);
      if (records.some((other) => other.name === name && isCurrent(other))) throw taken(name);
      if (records.length >= mostTokens) throw tooMany();
      records.push(made);
    });
    return { token, record: made };
  }

  createForConsole(wanted: Pick<NewToken, "scopes" | "expires_at">): ReturnType<TokenStore["create"]> {
    return this.create({ ...wanted, name: `${consolePrefix}${randomId().slice(0, 8)}` });
  }

  revoke(idOrName: string): Promise<TokenRecord | null> {
    return this.#change((records) => {
      const found = records.filter(({ id, name }) => id === idOrName || name === idOrName);
      for (const one of found) records.splice(records.indexOf(one), 1);
      return found.at(-1) ?? null;
    });
  }

  async keep(kept: TokenRecord): Promise<void> {
    await this.#change((records) => {
      const isThere = records.some(({ id }) => id === kept.id);
      if (!isThere && isCurrent(kept) && records.length < mostTokens) records.push(kept);
    });
  }

  async first(): Promise<{ file: string; token: string }> {
    const file = this.#firstFile;
    const kept = await readFile(file, "utf8").then((text) => text.trim(), () => null);
    if (kept !== null && (await this.check(kept)) !== null) return { file, token: kept };
    await this.#change((records) => {
      const at = records.findIndex(({ name }) => name === firstName);
      if (at !== -1) records.splice(at, 1);
    });
    const { token } = await this.create({ name: firstName, scopes });
    await replaceFile(file, `${token}\n`);
    return { file, token };
  }

  async #current(): Promise<ReadonlyMap<string, TokenRecord>> {
    const version = await versionOf(this.#file);
    if (version !== this.#known.version) this.#known = { version, records: byId(await readRecords(this.#file)) };
    return this.#known.records;
  }

  async #change<T>(act: (records: TokenRecord[]) => T): Promise<T> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await chmod(this.#folder, 0o700);
    return await withLockFile(`${this.#file}.lock`, { what: "the list of tokens", waitMs: 2000 }, async () => {
      const records = await readRecords(this.#file);
      const given = act(records);
      await replaceFile(this.#file, `${JSON.stringify({ tokens: 1, entries: records })}\n`);
      return given;
    });
  }
}

function callerOf(record: TokenRecord): Caller {
  const { id, scopes: given, workdirs } = record;
  return isFirst(record) ? owner : { id, scopes: given, workdirs };
}

/** Whether a token is for this machine alone: the one of its owner, and those of the console's pages. */
export function isOfOneMachine({ name }: TokenRecord): boolean {
  return name === firstName || name.startsWith(consolePrefix);
}

/** Parses a token's record; null for anything else. */
export function parseToken(text: string): TokenRecord | null {
  const value = parse(text);
  return Check(record, value) ? value : null;
}

/** Any token may take the name, so the other fields must match, too. */
function isFirst({ name, scopes: given, workdirs }: TokenRecord): boolean {
  return name === firstName && given.length === scopes.length && workdirs === undefined;
}

function isCurrent({ expires_at }: TokenRecord): boolean {
  return expires_at === null || Date.parse(expires_at) > Date.now();
}

function byId(records: readonly TokenRecord[]): ReadonlyMap<string, TokenRecord> {
  return new Map(records.map((one) => [one.id, one]));
}

/** Includes the inode: a replaced file may keep its times. */
async function versionOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => null);
  return found === null ? "none" : `${found.ino}.${found.mtimeMs}.${found.size}`;
}

async function readRecords(file: string): Promise<TokenRecord[]> {
  const bytes = await readPlainFile(file, maxFileBytes);
  if (bytes === null) {
    if ((await versionOf(file)) === "none") return [];
    throw damaged(file);
  }
  const value = parse(new TextDecoder().decode(bytes));
  if (!Check(fileSchema, value)) throw damaged(file);
  return value.entries;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function damaged(file: string): BulkheadError {
  return new BulkheadError("invalid_config", `Cannot read the tokens: "${file}" is damaged.`, {
    hint: `Move it away, in "${dirname(file)}", and make new tokens.`,
  });
}

function taken(name: string): BulkheadError {
  return new BulkheadError("already_exists", `Cannot make the token "${name}": one of that name is there.`, {
    hint: `Choose another name, or "bulkhead token revoke ${name}" first.`,
  });
}

function tooMany(): BulkheadError {
  return new BulkheadError("limit_exceeded", `Cannot make a token: there are ${mostTokens} already.`, {
    hint: 'Revoke unused ones: "bulkhead token list".',
  });
}
