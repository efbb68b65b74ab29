import { Type } from "@sinclair/typebox";
import { closed, exactly, type SchemaOf } from "./schema.ts";

/** A program the adapter may start. */
export interface RunPermission {
  /**
   * Name looked up on the host's PATH, an absolute path, a path inside the plugin's folder (`./tool`), or `@runtime`:
   * the Node or Deno that runs the host. A name or absolute path is pinned to the file that is found when it is
   * granted, or first used.
   */
  binary: string;
  /**
   * Allowed argument lists, each written as one line and split on blanks (quotes group, a backslash makes the next
   * character literal). `{}` matches one argument that does not begin with `-` or `@`, `{*}` one argument of any form,
   * `{...}` any number of arguments of any form. Within an argument (`--model={}`) `{}` and `{*}` match any text, but
   * an argument that begins with `{}` never begins with `-` or `@`. Absent in a manifest: no arguments. Absent in a
   * grant: as the manifest requests.
   */
  args?: string[];
  /** Names of environment variables that the child may be given. */
  env?: string[];
  /**
   * Absent, for a plugin of type `cli`, `acp` or `agent`: the child writes the working directory, its own records and a
   * private home, sees no other process, no keys and no other project, and reaches only the hosts under `net`. Absent for
   * any other plugin: it runs with the rights of the host's user.
   *
   * `workdir`: it writes the working directory and the session's temporary folder, and reads all but the host's state and
   * the usual places of keys. `off`, in a grant: it runs with the rights of the host's user. A contained child does not
   * start on a system that cannot enforce that. Except for `off`, the strictest of all entries that match the call wins.
   */
  contain?: "workdir" | "off";
  /** True means `contain: workdir`, and no network, not even the machine's own. */
  contain_net?: boolean;
}

/**
 * A secret that the plugin may use without ever seeing its value, and where the value may go. In a manifest, and next
 * to `env` or `hosts`, absent means nowhere; a grant or denial of the name alone means everything that the manifest
 * requests.
 */
export interface SecretPermission {
  name: string;
  /** Environment variables of child processes that may hold it; the run permission must name them as well. */
  env?: string[];
  /** `host:port` that may get it in a request header; `*.example.com:443` allows sub-domains. */
  hosts?: string[];
}

/** Ceilings that the plugin requests or the operator sets. The smaller one wins. */
export interface PermissionLimits {
  /** Child processes alive at once. */
  children?: number;
  /** Bytes for one file read or written. */
  file_bytes?: number;
  /** Bytes for one network response, after decompression. */
  response_bytes?: number;
}

/**
 * Permissions of adapter code. Absent and empty both mean none. A call is allowed where manifest, grant and request each
 * allow it, and no denial matches it, neither the operator's nor a built-in one.
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
  /** Secrets that the broker may put into a child's environment or a request header. */
  secrets?: SecretPermission[];
  /**
   * Programs, named as in `run`, that may receive the MCP servers of a request, with the secrets in their definitions.
   * No other program of the plugin ever receives them. A grant of `run` does not include this.
   */
  mcp_servers?: string[];
  /** Grants a small durable key-value store for the plugin alone. */
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
        contain: Type.Optional(Type.Union([Type.Literal("workdir"), Type.Literal("off")])),
        contain_net: Type.Optional(Type.Boolean()),
      }, closed),
      { maxItems: 64 },
    )),
    read: Type.Optional(Type.Array(line, { maxItems: 64 })),
    write: Type.Optional(Type.Array(line, { maxItems: 64 })),
    net: Type.Optional(Type.Array(name, { maxItems: 64 })),
    env: Type.Optional(Type.Array(name, { maxItems: 64 })),
    secrets: Type.Optional(Type.Array(
      Type.Object({
        name,
        env: Type.Optional(Type.Array(name, { maxItems: 64 })),
        hosts: Type.Optional(Type.Array(name, { maxItems: 64 })),
      }, closed),
      { maxItems: 64 },
    )),
    mcp_servers: Type.Optional(Type.Array(line, { maxItems: 64 })),
    kv: Type.Optional(Type.Boolean()),
    limits: Type.Optional(Type.Object({
      children: Type.Optional(positive),
      file_bytes: Type.Optional(positive),
      response_bytes: Type.Optional(positive),
    }, closed)),
  }, closed),
);
