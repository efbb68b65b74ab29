import { Type } from "@sinclair/typebox";
import type { HeldChange, HeldKind, InstallScripts } from "../../../plugin-sdk/held.ts";
import { closed, exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";
import type { HeldItem } from "./held-item.ts";

const kinds: readonly HeldKind[] = [
  "repository",
  "git_settings",
  "acted_on",
  "link_out",
  "set_user_id",
  "device",
  "unseen",
];

const heldFields = {
  path: Type.String(),
  kind: Type.Unsafe<HeldKind>(Type.Union(kinds.map((kind) => Type.Literal(kind)))),
  change: Type.Union([Type.Literal("new"), Type.Literal("changed")]),
  by: Type.String(),
  why: Type.String(),
  target: Type.Optional(Type.String()),
  files: Type.Optional(Type.Integer({ minimum: 0 })),
};

/** Checks a {@link HeldChange}. */
export const heldSchema: SchemaOf<HeldChange> = exactly<HeldChange>()(Type.Object(heldFields));

/** Checks {@link InstallScripts}. */
export const installScriptsSchema: SchemaOf<InstallScripts> = exactly<InstallScripts>()(Type.Object({
  path: Type.String(),
  names: Type.Array(Type.String()),
}));

const member = Type.Object({
  path: Type.String(),
  mark: Type.Union([Type.String(), Type.Null()]),
  is_new: Type.Boolean(),
  before: Type.Union([
    Type.Object({ mode: Type.String(), text: Type.String() }, closed),
    Type.Object({ mode: Type.String(), base64: Type.String() }, closed),
    Type.Null(),
  ]),
}, closed);

/** Checks a {@link HeldItem} as it was written to a file. */
export const heldItemSchema: SchemaOf<HeldItem> = exactly<HeldItem>()(
  Type.Object({ ...heldFields, members: Type.Array(member) }, closed),
);
