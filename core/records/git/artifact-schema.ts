import { Type } from "@sinclair/typebox";
import type { Artifact } from "../../../plugin-sdk/result.ts";
import { exactly, type SchemaOf } from "../../../plugin-sdk/schema.ts";

const count = Type.Integer({ minimum: 0 });

/** Checks an {@link Artifact}. */
export const artifactSchema: SchemaOf<Artifact> = exactly<Artifact>()(Type.Object({
  path: Type.String(),
  change: Type.Union([
    Type.Literal("created"),
    Type.Literal("modified"),
    Type.Literal("deleted"),
    Type.Literal("renamed"),
    Type.Literal("untracked"),
  ]),
  from: Type.Optional(Type.String()),
  kind: Type.Union([Type.Literal("file"), Type.Literal("symlink"), Type.Literal("submodule")]),
  sha256: Type.Union([Type.String(), Type.Null()]),
  bytes: Type.Union([count, Type.Null()]),
  lines: Type.Optional(Type.Object({ added: count, removed: count })),
}));
