import { Sequence } from "../../ground/platform/engine/sequence.ts";
import { fieldsOrNone, parseJson } from "../../../plugin-sdk/json-fields.ts";
import { readPlainFile } from "../../ground/platform/files/read-plain-file.ts";
import { join } from "../../ground/platform/files/paths.ts";
import { replaceFile } from "../../ground/platform/files/replace-file.ts";

/** Things that wait and that a person put off: each comes back when something newer than this asks for it. */
export interface PutAside {
  /** Time up to which a thing is put off; RFC 3339, UTC. Empty: it is not. */
  until(id: string): Promise<string>;
  put(id: string, until: string): Promise<void>;
}

const mostKept = 1000;
const maxFileBytes = 1024 * 1024;

/** Opens what was put off in a state folder; the file is read at the first question. */
export function openPutAside(stateDir: string): PutAside {
  const file = join(stateDir, "http", "put-aside.json");
  let kept: Promise<Map<string, string>> | null = null;
  const writes = new Sequence();
  const read = () => kept ??= readAside(file);
  return {
    until: async (id) => (await read()).get(id) ?? "",
    async put(id, until) {
      const all = await read();
      all.delete(id);
      all.set(id, until);
      const oldest = all.size > mostKept ? all.keys().next().value : undefined;
      if (oldest !== undefined) all.delete(oldest);
      await writes.run(() => replaceFile(file, JSON.stringify(Object.fromEntries(all))));
    },
  };
}

/** Reads the file; one that cannot be read says nothing, and the next write replaces it. */
async function readAside(file: string): Promise<Map<string, string>> {
  const found = fieldsOrNone(parseJson(new TextDecoder().decode(await readPlainFile(file, maxFileBytes) ?? undefined)));
  return new Map(Object.entries(found).filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
