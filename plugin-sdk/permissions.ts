import { Type } from "@sinclair/typebox";
import { closed, exactly, type SchemaOf } from "./schema.ts";

/** A program the adapter may start. */
export interface RunPermission {
  /**
   * Name looked up on the host's PATH, an absolute path, a path inside the plugin's folder (`./tool`),
   * or `@runtime`: the Node or Deno that runs the host.
   */
  binary: string;
  /**
   * Allowed argument lists, each written as one line and split on blanks (quotes group, a backslash makes the
   * next character stand for itself). `{}` stands for one argument that does not begin with `-` or `@`, `{*}` for
   * one argument of any form, `{...}` for any number of arguments of any form. Within an argument (`--model={}`)
   * `{}` and `{*}` stand for any text, but an argument that begins with `{}` never begins with `-` or `@`.
   * In a manifest absent means: no arguments. In a grant absent means: as the manifest asks.
   */
  args?: string[];
  /** Names of environment variables the child may be given. */
  env?: string[];
}

/** Ceilings that the plugin asks for, or the operator sets. The smaller one holds. */
export interface PermissionLimits {
  /** Child processes alive at once. */
  children?: number;
  /** Bytes for one file read or written. */
  file_bytes?: number;
  /** Bytes for one network response, after decompression. */
  response_bytes?: number;
}

/**
 * What adapter code may do. Absent and empty both mean none.
 * A session's effective permissions are manifest ∩ grant ∩ request − deny − built-in deny.
 */
export interface Permissions {
  run?: RunPermission[];
  /** Roots that may be read: `workdir`, `data`, `plugin` (the plugin's own folder), `config:<tool>`, or absolute paths. */
  read?: string[];
  /** Roots that may be written: `workdir`, `data`, `config:<tool>`, or absolute paths. */
  write?: string[];
  /** `host:port` pairs; `*.example.com:443` allows sub-domains. */
  net?: string[];
  /** Names of the host's environment variables that may be read. */
  env?: string[];
  /** Names of secrets that the broker may put into a child's environment or a request header. */
  secrets?: string[];
  /** A small durable key-value store of the plugin's own. */
  kv?: boolean;
  limits?: PermissionLimits;
}

const line = Type.String({ minLength: 1, maxLength: 1024 });
const name = Type.String({ minLength: 1, maxLength: 256 });
const positive = Type.Integer({ minimum: 1 });

/** Checks {@link Permissions} as a manifest or a session request writes them. */
export const permissionsSchema: SchemaOf<Permissions> = exactly<Permissions>()(
  Type.Object({
    run: Type.Optional(Type.Array(
      Type.Object({
        binary: line,
        args: Type.Optional(Type.Array(Type.String({ maxLength: 4096 }), { maxItems: 64 })),
        env: Type.Optional(Type.Array(name, { maxItems: 64 })),
      }, closed),
      { maxItems: 64 },
    )),
    read: Type.Optional(Type.Array(line, { maxItems: 64 })),
    write: Type.Optional(Type.Array(line, { maxItems: 64 })),
    net: Type.Optional(Type.Array(name, { maxItems: 64 })),
    env: Type.Optional(Type.Array(name, { maxItems: 64 })),
    secrets: Type.Optional(Type.Array(name, { maxItems: 64 })),
    kv: Type.Optional(Type.Boolean()),
    limits: Type.Optional(Type.Object({
      children: Type.Optional(positive),
      file_bytes: Type.Optional(positive),
      response_bytes: Type.Optional(positive),
    }, closed)),
  }, closed),
);
