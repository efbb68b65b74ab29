import { type TSchema, Type } from "@sinclair/typebox";
import type { BundleInputs } from "./bundle-inputs.ts";
import type { BundleOrder } from "./bundle-order.ts";
import type { Edit } from "../manifest/edits.ts";

/** Job for a bundler: a plugin's script, or a module for its package. */
export interface BundleJob {
  form: "script" | "module";
  order: BundleOrder;
}

/** Why it was not made. */
interface BundleRefusal {
  type: "refused";
  code: "bundle_failed" | "too_large";
  message: string;
  hint?: string | undefined;
  details: Record<string, unknown>;
}

/** It was made. Its texts came before this, each on its lane; one that is empty did not. */
export interface BundleMade {
  type: "made";
  edits: readonly Edit[];
  /** Inputs that it was made from; null when one changed meanwhile, and for a module. */
  inputs: BundleInputs | null;
}

/** The last frame for a job. */
export type BundleAnswer = BundleRefusal | BundleMade;

/** Lanes of the channel from a bundler. */
export const bundleLanes: Readonly<Record<"answer" | "text" | "sourceMap" | "bundled", number>> = {
  answer: 0,
  text: 1,
  sourceMap: 2,
  bundled: 3,
};

/** Most edits of a script. */
export const mostEdits = 100_000;

/** Bytes of an answer, which holds the edits and the inputs. */
export const mostAnswerBytes: number = 8 * 1024 * 1024;

/** How many times the bytes of the largest script its source map may have. */
export const sourceMapFactor = 3;

const closed = { additionalProperties: false };
const offset = Type.Integer({ minimum: 0 });
const path = Type.String({ minLength: 1, maxLength: 8192 });
const hash = Type.Union([Type.String({ pattern: "^[0-9a-f]{64}$" }), Type.Null()]);
const hashed = Type.Array(Type.Tuple([path, hash]), { maxItems: 50_000 });

/** A bundler reads what strangers wrote, so what it answers is checked like theirs. */
export const bundleAnswerSchema: TSchema = Type.Union([
  Type.Object({
    type: Type.Literal("refused"),
    code: Type.Union([Type.Literal("bundle_failed"), Type.Literal("too_large")]),
    message: Type.String({ maxLength: 16_384 }),
    hint: Type.Optional(Type.String({ maxLength: 1024 })),
    details: Type.Record(Type.String(), Type.Union([Type.String({ maxLength: 16_384 }), Type.Number()])),
  }, closed),
  Type.Object({
    type: Type.Literal("made"),
    edits: Type.Array(
      Type.Object({ start: offset, removed: offset, inserted: Type.String({ maxLength: 16 }) }, closed),
      { maxItems: mostEdits },
    ),
    inputs: Type.Union([
      Type.Object({
        files: hashed,
        folders: hashed,
        links: Type.Array(Type.Tuple([path, Type.Union([path, Type.Null()])]), { maxItems: 50_000 }),
      }, closed),
      Type.Null(),
    ]),
  }, closed),
]);
