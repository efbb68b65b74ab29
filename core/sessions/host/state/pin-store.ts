import { Type } from "@sinclair/typebox";
import { parseRecord } from "../../../ground/checks/read-record.ts";
import { swapFile } from "../../../ground/platform/files/replace-file.ts";
import { BulkheadError } from "../../../../plugin-sdk/errors.ts";
import { closed, exactly, type SchemaOf } from "../../../../plugin-sdk/schema.ts";
import type { BinaryPin } from "../../../../plugin-sdk/plugin-report.ts";
import type { BinaryPins } from "../../../walls/broker/binary-pins.ts";
import { markOf } from "../../../ground/platform/files/file-mark.ts";
import { absent, isMissing } from "../../../ground/errors/write-fault.ts";
import { mkdir, readdir, readFile } from "../../../ground/platform/files/files.ts";
import { sha256Hex } from "../../../ground/platform/files/hash.ts";
import { join } from "../../../ground/platform/files/paths.ts";

const path = Type.String({ minLength: 1, maxLength: 4096 });

/** Checks a {@link BinaryPin} as it was written to its file. */
export const binaryPinSchema: SchemaOf<BinaryPin> = exactly<BinaryPin>()(
  Type.Object({
    binary: path,
    path,
    real: path,
    owner: Type.Integer(),
    pinned_at: Type.String({ maxLength: 64 }),
  }, closed),
);

/** Stores the pins of all plugins' programs below the state folder, which no plugin may write. */
export interface PinStore {
  of(pluginId: string): BinaryPins;
}

/** A pin as it was read, and the mark of its file. */
interface KnownPin {
  mark: string;
  pin: BinaryPin;
}

/** Opens the folder of pins that all hosts of one state folder share; creates nothing before the first pin. */
export function openPins(folder: string): PinStore {
  // One for each program that is granted.
  const known = new Map<string, KnownPin>();
  return { of: (pluginId) => pinsIn(join(folder, encodeURIComponent(pluginId)), known) };
}

/** @param known by the path of their files */
function pinsIn(folder: string, known: Map<string, KnownPin>): BinaryPins {
  // A program's name may be a path, so the file name is a hash and the file names the program.
  const fileOf = (binary: string): string => join(folder, `${sha256Hex(binary).slice(0, 32)}.json`);

  return { read, write, list };

  async function read(binary: string): Promise<BinaryPin | null> {
    const file = fileOf(binary);
    const last = known.get(file);
    const mark = await markOf([file], { before: Date.now() });
    if (last !== undefined && last.mark === mark) return last.pin;
    known.delete(file);
    const pin = await readPin(file);
    if (mark !== null && pin?.binary === binary) known.set(file, { mark, pin });
    if (pin === undefined || pin?.binary === binary) return pin ?? null;
    // Treating a damaged pin as missing would pin the program that is there now.
    throw new BulkheadError("io_error", `Cannot tell where "${binary}" is pinned: "${fileOf(binary)}" is damaged.`, {
      hint: "Grant the program again, which writes it again.",
    });
  }

  async function write(pin: BinaryPin): Promise<void> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await swapFile(fileOf(pin.binary), JSON.stringify(pin));
  }

  async function list(): Promise<BinaryPin[]> {
    const names = (await readdir(folder).catch(absent) ?? []).filter((name) => name.endsWith(".json"));
    const pins = await Promise.all(names.map((name) => readPin(join(folder, name))));
    return pins.filter((pin) => pin !== undefined && pin !== null).sort((a, b) => (a.binary < b.binary ? -1 : 1));
  }
}

/** Returns undefined when there is no such file, null when it is unreadable or damaged. */
async function readPin(file: string): Promise<BinaryPin | null | undefined> {
  const text = await readFile(file, "utf8").catch((error: unknown) => isMissing(error) ? undefined : absent(error));
  return typeof text === "string" ? parseRecord(text, binaryPinSchema) : text;
}
