import { nullIfNotFound } from "../../ground/errors/to-error-data.ts";
import { Turns } from "../../ground/platform/engine/turns.ts";
import { Type } from "@sinclair/typebox";
import { lazyCheck, parseChecked } from "../../ground/checks/lazy-check.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { closed, exactly } from "../../../plugin-sdk/schema.ts";
import { mkdir } from "../../ground/platform/files/files.ts";
import { readContained, writeContained } from "./contained-file.ts";
import { kvFile } from "./forbidden-paths.ts";
import { type BrokerScope, type Operation, operation } from "./operation.ts";

/** Names may hold `/` to make groups, but no `..`. */
const key = Type.String({ pattern: "^(?!.*\\.\\.)[A-Za-z0-9_./-]{1,256}$" });
const oneKey = exactly<{ key: string }>()(Type.Object({ key }, closed));

/** The plugin's durable values: one JSON file, an array of pairs, so that no key is special. */
export const kvOperations: readonly Operation[] = [
  operation("kv_get", {
    args: oneKey,
    perform: (scope, args) => withStore(scope, (store) => store.get(args.key) ?? null),
  }),
  operation("kv_set", {
    args: exactly<{ key: string; value: unknown }>()(Type.Object({ key, value: Type.Unknown() }, closed)),
    perform: (scope, args) => change(scope, (store) => store.set(args.key, args.value ?? null)),
  }),
  operation("kv_delete", {
    args: oneKey,
    perform: (scope, args) => change(scope, (store) => store.delete(args.key)),
  }),
  operation("kv_list", {
    args: exactly<{ prefix: string }>()(Type.Object({ prefix: Type.String({ maxLength: 256 }) }, closed)),
    perform: (scope, args) =>
      withStore(scope, (store) => [...store.keys()].filter((name) => name.startsWith(args.prefix)).sort()),
  }),
];

const fileSchema = Type.Object({
  kv: Type.Literal(1),
  entries: Type.Array(Type.Tuple([Type.String(), Type.Unknown()])),
}, closed);
const check = lazyCheck(fileSchema);

type Store = Map<string, unknown>;

/** One operation at a time for each plugin: its sessions share the file. */
const turns = new Turns(1);

async function withStore<T>(scope: BrokerScope, act: (store: Store) => T): Promise<T> {
  await demandKv(scope);
  return await turns.take(scope.options.dataDir, async () => act(await load(scope)));
}

async function change(scope: BrokerScope, act: (store: Store) => void): Promise<null> {
  await demandKv(scope);
  return await turns.take(scope.options.dataDir, async () => {
    const store = await load(scope);
    act(store);
    const text = JSON.stringify({ kv: 1, entries: [...store] });
    const maxBytes = scope.options.limits.kv_bytes;
    if (new TextEncoder().encode(text).byteLength > maxBytes) {
      throw new BulkheadError("limit_exceeded", `Cannot store the value: the store would pass ${maxBytes} bytes.`, {
        details: { kv_bytes: maxBytes },
      });
    }
    scope.signal.throwIfAborted();
    await mkdir(scope.options.dataDir, { recursive: true, mode: 0o700 });
    await writeContained(kvFile(scope.options.dataDir), text, { maxBytes });
    return null;
  });
}

async function demandKv({ authority }: BrokerScope): Promise<void> {
  await authority.demand({
    permission: "kv",
    target: "kv",
    call: { kind: "kv" },
  });
}

async function load({ options }: BrokerScope): Promise<Store> {
  const text = await readText(options.dataDir);
  if (text === null) return new Map();
  const file = parseChecked(text, check);
  if (file !== null) return new Map(file.entries);
  throw new BulkheadError("io_error", "Cannot read the key-value store: its file is damaged.", {
    hint: `Remove "${kvFile(options.dataDir)}" to begin with an empty store.`,
  });
}

async function readText(dataDir: string): Promise<string | null> {
  // Values stored under a higher limit must stay readable, or they could not be deleted.
  return await readContained(kvFile(dataDir), { maxBytes: 64 * 1024 * 1024 }).catch(nullIfNotFound);
}
