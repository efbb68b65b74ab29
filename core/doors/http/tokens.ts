import { parseJson } from "../../../plugin-sdk/json-fields.ts";
import { absent } from "../../ground/errors/write-fault.ts";
import { Type } from "@sinclair/typebox";
import { Check } from "@sinclair/typebox/value";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { chmod, mkdir, readFile, stat } from "../../ground/platform/files/files.ts";
import { isSameText, randomId, randomSecret, sha256Hex } from "../../ground/platform/files/hash.ts";
import { withLockFile } from "../../ground/platform/state/lock-file.ts";
import { dirname, join } from "../../ground/platform/files/paths.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";
import { type Caller, owner, scopes, type TokenScope } from "./scopes.ts";
import { adminWithFolders, makerEnded, taken, tooMany } from "./token-errors.ts";

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
  /** Id of the token that made this one for a page of the console; this one is valid only while that one is. */
  parent?: string;
}

interface NewToken {
  name: string;
  scopes: readonly TokenScope[];
  /** As in {@link Caller}. */
  workdirs?: readonly string[] | undefined;
  /** RFC 3339; null: never. */
  expires_at?: string | null;
}

interface NewPageToken {
  /** The caller that opens the page. */
  maker: Caller;
  scope: TokenScope;
  /** RFC 3339; the token ends with its maker's where that ends first. */
  expires_at: string;
}

/** The tokens of one state folder. Other programs may change them at any time; each call reads the current state. */
export interface TokenStore {
  /** Returns the caller of a token; null for one that is unknown, revoked or expired. */
  check(token: string): Promise<Caller | null>;
  holds(caller: Caller): Promise<boolean>;
  /** Returns the key that proves to a client that the server knows its token; null for an unknown one. */
  keyOf(id: string): Promise<string | null>;
  list(): Promise<TokenRecord[]>;
  /**
   * Creates a token. It is returned once and never stored.
   * @throws {BulkheadError} `already_exists` for a name in use, `limit_exceeded`, `invalid_config` for the scope `admin`
   * with folders
   */
  create(wanted: NewToken): Promise<{ token: string; record: TokenRecord }>;
  /**
   * Creates a token for a page of the console, and removes those of pages that have expired. It ends with its maker's
   * token.
   * @throws {BulkheadError} `unauthorized` when that has ended, `limit_exceeded`
   */
  createForConsole(wanted: NewPageToken): Promise<{ token: string; record: TokenRecord }>;
  /** Revokes the token of this id or name, expired ones of that name, and those of their pages; null for no token. */
  revoke(idOrName: string): Promise<TokenRecord | null>;
  /** Keeps a token that another machine of the cluster has; an expired, known or revoked one is left as it is. */
  keep(record: TokenRecord): Promise<void>;
  /** Revokes a token that was revoked on another machine of the cluster, for good, also one that is not known here. */
  bury(id: string): Promise<void>;
  /**
   * Notes which tokens have expired: they stay so when the clock is set back. Each check of a token does the same.
   * @returns their ids
   */
  expired(): Promise<ReadonlySet<string>>;
  /** Returns the ids of tokens that were revoked: they are never kept again. The newest are last. */
  buried(): Promise<readonly string[]>;
  /** Returns the file of the first token, which has all scopes; creates both where they are missing. */
  first(): Promise<{ file: string; token: string }>;
}

interface StoredTokens {
  tokens: 1;
  entries: TokenRecord[];
  /** Ids of revoked tokens: another machine may offer one again. */
  revoked?: string[];
  /** Ids of tokens that were seen to be expired. */
  expired?: string[];
}

const tokenId = Type.String({ pattern: "^[0-9a-f]{32}$" });

const record = exactly<TokenRecord>()(Type.Object({
  id: tokenId,
  name: Type.String({ minLength: 1, maxLength: 64 }),
  scopes: Type.Array(Type.Union([Type.Literal("read"), Type.Literal("run"), Type.Literal("admin")]), { minItems: 1 }),
  workdirs: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  created_at: Type.String(),
  expires_at: Type.Union([Type.String(), Type.Null()]),
  sha256: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  parent: Type.Optional(tokenId),
}, closed));

const fileSchema = exactly<StoredTokens>()(Type.Object({
  tokens: Type.Literal(1),
  entries: Type.Array(record),
  revoked: Type.Optional(Type.Array(tokenId)),
  expired: Type.Optional(Type.Array(tokenId)),
}, closed));

const mostTokens = 1000;
/** Revoked tokens that are remembered, the newest. */
const mostBuried = 10_000;
const maxFileBytes = 2 * 1024 * 1024;
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
  #known: { version: string; records: ReadonlyMap<string, TokenRecord>; buried: readonly string[] } = {
    version: "",
    records: new Map(),
    buried: [],
  };
  /** Tokens that were seen to be expired, here or in the file. */
  readonly #expired = new Set<string>();

  constructor(folder: string) {
    this.#folder = folder;
    this.#file = join(folder, "tokens.json");
    this.#firstFile = join(folder, "token");
  }

  async check(token: string): Promise<Caller | null> {
    const id = /^bh_([0-9a-f]{32})_/.exec(token)?.[1] ?? "";
    const found = (await this.#valid()).get(id);
    const same = isSameText(sha256Hex(token), found?.sha256 ?? "");
    return found !== undefined && same ? callerOf(found) : null;
  }

  async holds(caller: Caller): Promise<boolean> {
    const records = await this.#current();
    const found = recordOf(caller, [...records.values()]);
    await this.expired();
    return found !== undefined && this.#isValid(found, records);
  }

  async keyOf(id: string): Promise<string | null> {
    return (await this.#valid()).get(id)?.sha256 ?? null;
  }

  async expired(): Promise<ReadonlySet<string>> {
    const records = [...(await this.#current()).values()];
    const seen = records.filter((one) => isPast(one) && !this.#expired.has(one.id));
    if (seen.length === 0) return this.#expired;
    for (const { id } of seen) this.#expired.add(id);
    // Where it cannot be written, it holds as long as this process.
    await this.#change(() => {}).catch(() => {});
    return this.#expired;
  }

  async list(): Promise<TokenRecord[]> {
    return [...(await this.#current()).values()];
  }

  async create({ name, scopes: wanted, workdirs, expires_at = null }: NewToken): ReturnType<TokenStore["create"]> {
    if (workdirs !== undefined && wanted.includes("admin")) throw adminWithFolders();
    const fields = { name, scopes: scopes.filter((scope) => wanted.includes(scope)), expires_at };
    return await this.#add(() => workdirs === undefined ? fields : { ...fields, workdirs: [...workdirs] });
  }

  async createForConsole({ maker, scope, expires_at }: NewPageToken): ReturnType<TokenStore["create"]> {
    const name = `${consolePrefix}${randomId().slice(0, 8)}`;
    return await this.#add((records) => {
      const parent = recordOf(maker, records);
      if (parent === undefined || !this.#isValid(parent, byId(records))) throw makerEnded();
      return { name, scopes: [scope], expires_at: earlier(expires_at, parent.expires_at), parent: parent.id };
    });
  }

  /** Adds a token with the fields that the present tokens allow. */
  async #add(
    fieldsOf: (records: readonly TokenRecord[]) => Omit<TokenRecord, "id" | "created_at" | "sha256">,
  ): ReturnType<TokenStore["create"]> {
    const id = randomId();
    const token = `bh_${id}_${randomSecret()}`;
    const made = await this.#change((records) => {
      const old = records.filter((one) => one.name.startsWith(consolePrefix) && !this.#isCurrent(one));
      for (const one of old) records.splice(records.indexOf(one), 1);
      const { expires_at, ...fields } = fieldsOf(records);
      if (records.some((other) => other.name === fields.name && this.#isCurrent(other))) throw taken(fields.name);
      if (records.length >= mostTokens) throw tooMany(mostTokens);
      const one: TokenRecord = {
        id,
        ...fields,
        created_at: new Date().toISOString(),
        expires_at,
        sha256: sha256Hex(token),
      };
      records.push(one);
      return one;
    });
    return { token, record: made };
  }

  revoke(idOrName: string): Promise<TokenRecord | null> {
    return this.#change((records, buried) => {
      const found = records.filter(({ id, name }) => id === idOrName || name === idOrName);
      const ended = new Set(found.map(({ id }) => id));
      const kept = records.filter(({ id, parent = "" }) => !ended.has(id) && !ended.has(parent));
      records.splice(0, records.length, ...kept);
      for (const one of found) if (!isOfOneMachine(one)) buried.add(one.id);
      return found.at(-1) ?? null;
    });
  }

  async keep(kept: TokenRecord): Promise<void> {
    await this.#change((records, buried) => {
      const isThere = buried.has(kept.id) || records.some(({ id }) => id === kept.id);
      if (!isThere && this.#isCurrent(kept) && records.length < mostTokens) records.push(kept);
    });
  }

  async bury(id: string): Promise<void> {
    if (!Check(tokenId, id) || (await this.buried()).includes(id)) return;
    await this.#change((records, buried) => {
      const found = records.find((one) => one.id === id);
      // A page's and the operator's are no other machine's to revoke.
      if (found !== undefined && isOfOneMachine(found)) return;
      const kept = records.filter((one) => one.id !== id && one.parent !== id);
      records.splice(0, records.length, ...kept);
      buried.add(id);
    });
  }

  async buried(): Promise<readonly string[]> {
    await this.#current();
    return this.#known.buried;
  }

  async first(): Promise<{ file: string; token: string }> {
    const file = this.#firstFile;
    const kept = await readFile(file, "utf8").then((text) => text.trim(), absent);
    if (kept !== null && (await this.check(kept)) !== null) return { file, token: kept };
    await this.#change((records) => {
      const at = records.findIndex(({ name }) => name === firstName);
      if (at !== -1) records.splice(at, 1);
    });
    const { token } = await this.create({ name: firstName, scopes });
    await replaceFile(file, `${token}\n`);
    return { file, token };
  }

  /** Tokens that are good at this moment, by id. */
  async #valid(): Promise<ReadonlyMap<string, TokenRecord>> {
    await this.expired();
    const records = await this.#current();
    return new Map([...records].filter(([, one]) => this.#isValid(one, records)));
  }

  #isCurrent(one: TokenRecord): boolean {
    return !isPast(one) && !this.#expired.has(one.id);
  }

  /** Whether a token and the one that made it are current. */
  #isValid(one: TokenRecord, records: ReadonlyMap<string, TokenRecord>): boolean {
    const maker = one.parent === undefined ? one : records.get(one.parent);
    return this.#isCurrent(one) && maker !== undefined && this.#isCurrent(maker);
  }

  async #current(): Promise<ReadonlyMap<string, TokenRecord>> {
    const version = await versionOf(this.#file);
    if (version !== this.#known.version) {
      const { entries, revoked = [], expired = [] } = await readTokens(this.#file);
      for (const id of expired) this.#expired.add(id);
      this.#known = { version, records: byId(entries), buried: revoked };
    }
    return this.#known.records;
  }

  async #change<T>(act: (records: TokenRecord[], buried: Set<string>) => T): Promise<T> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await chmod(this.#folder, 0o700);
    return await withLockFile(`${this.#file}.lock`, { what: "the list of tokens", waitMs: 2000 }, async () => {
      const { entries, revoked = [], expired = [] } = await readTokens(this.#file);
      for (const id of expired) this.#expired.add(id);
      const buried = new Set(revoked);
      const given = act(entries, buried);
      const stored: StoredTokens = { tokens: 1, entries };
      if (buried.size > 0) stored.revoked = [...buried].slice(-mostBuried);
      const ended = entries.filter((one) => !this.#isCurrent(one)).map(({ id }) => id);
      if (ended.length > 0) stored.expired = ended;
      await replaceFile(this.#file, `${JSON.stringify(stored)}\n`);
      return given;
    });
  }
}

function callerOf(record: TokenRecord): Caller {
  const { id, scopes: given, workdirs } = record;
  if (isFirst(record)) return owner;
  // Stored by an older version: with "admin", the folders would bind nothing but the start of sessions.
  if (workdirs !== undefined && given.includes("admin")) return { id, scopes: ["read", "run"], workdirs };
  const caller = { id, scopes: given, workdirs };
  return record.name.startsWith(consolePrefix) ? { ...caller, isPage: true } : caller;
}

/** Returns the token of a caller, valid or not. */
function recordOf({ id }: Caller, records: readonly TokenRecord[]): TokenRecord | undefined {
  return records.find((one) => id === owner.id ? isFirst(one) : one.id === id);
}

/** Whether a token is for this machine alone: the one of its owner, and those of the console's pages. */
export function isOfOneMachine({ name }: TokenRecord): boolean {
  return name === firstName || name.startsWith(consolePrefix);
}

/** Parses a token's record; null for anything else. */
export function parseToken(text: string): TokenRecord | null {
  const value = parseJson(text);
  return Check(record, value) ? value : null;
}

/** Any token may take the name, so the other fields must match, too. */
function isFirst({ name, scopes: given, workdirs }: TokenRecord): boolean {
  return name === firstName && given.length === scopes.length && workdirs === undefined;
}

function isPast({ expires_at }: TokenRecord): boolean {
  return expires_at !== null && Date.parse(expires_at) <= Date.now();
}

function earlier(one: string, other: string | null): string {
  return other !== null && Date.parse(other) < Date.parse(one) ? other : one;
}

function byId(records: readonly TokenRecord[]): ReadonlyMap<string, TokenRecord> {
  return new Map(records.map((one) => [one.id, one]));
}

/** Includes the inode: a replaced file may keep its times. */
async function versionOf(file: string): Promise<string> {
  const found = await stat(file).catch(() => null);
  return found === null ? "none" : `${found.ino}.${found.mtimeMs}.${found.size}`;
}

async function readTokens(file: string): Promise<StoredTokens> {
  const bytes = await readPlainFile(file, maxFileBytes);
  if (bytes === null) {
    if ((await versionOf(file)) === "none") return { tokens: 1, entries: [] };
    throw damaged(file);
  }
  const value = parseJson(new TextDecoder().decode(bytes));
  if (!Check(fileSchema, value)) throw damaged(file);
  return value;
}

function damaged(file: string): BulkheadError {
  return new BulkheadError("invalid_config", `Cannot read the tokens: "${file}" is damaged.`, {
    hint: `Move it away, in "${dirname(file)}", and make new tokens.`,
  });
}
