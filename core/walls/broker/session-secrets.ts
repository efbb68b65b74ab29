import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import { randomId } from "../../ground/platform/files/hash.ts";
import type { Authority } from "./authority.ts";
import { secretCommand } from "../../ground/config/secret-command.ts";
import { formatTarget, type NetTarget } from "../../ground/config/net-target.ts";
import { mayHoldSecret } from "./request-headers.ts";
import type { SessionBrokerOptions } from "./session-broker.ts";

/** Target of a request, and whether the connection is private. */
interface HeaderTarget {
  target: NetTarget;
  /** Encrypted, or never leaves this machine. */
  isPrivate: boolean;
}

const placeholderPrefix = "bulkhead-secret-";
const placeholderPattern = new RegExp(`${placeholderPrefix}[0-9a-f]{32}`, "g");

/**
 * The secrets of one session. Adapter code gets random placeholders, valid for this session only; the host replaces
 * them with the values where the permission allows it, at the last moment, on this side of the wall.
 */
export class SessionSecrets {
  readonly #options: SessionBrokerOptions;
  readonly #authority: Authority;
  readonly #names = new Map<string, string>();
  readonly #placeholders = new Map<string, string>();

  constructor({ options, authority }: { options: SessionBrokerOptions; authority: Authority }) {
    this.#options = options;
    this.#authority = authority;
  }

  /**
   * The placeholder of a secret, the same for the whole session.
   * @throws {BulkheadError} `permission_denied`; `env_missing` when it has no value
   */
  async use(name: string): Promise<string> {
    await this.#authority.demand({
      permission: "secrets",
      target: name,
      entry: { name },
      call: { kind: "secrets", name },
    });
    this.#valueOf(name);
    const known = this.#placeholders.get(name);
    if (known !== undefined) return known;
    const placeholder = `${placeholderPrefix}${randomId()}`;
    this.#placeholders.set(name, placeholder);
    this.#names.set(placeholder, name);
    return placeholder;
  }

  /**
   * An adapter's variables for a program, with the values of secrets filled in.
   * @throws {BulkheadError} `permission_denied` for a variable that the secret may not stand in
   */
  fillEnv(env: Readonly<Record<string, string>>): Promise<Record<string, string>> {
    return this.#fill(env, (name, variable) =>
      this.#authority.demand({
        permission: "secrets",
        target: name,
        subject: `${name} in ${variable}`,
        entry: { name, env: [variable] },
        exactly: `${name} in ${variable}`,
        call: { kind: "secrets", name, env: variable },
      }));
  }

  /**
   * Headers of one request, with the values of secrets filled in.
   * @throws {BulkheadError} `permission_denied` for a host or header that the secret may not go to, `invalid_request`
   */
  async fillHeaders(
    headers: Readonly<Record<string, string>>,
    { target, isPrivate }: HeaderTarget,
  ): Promise<Record<string, string>> {
    const host = formatTarget(target);
    return await this.#fill(headers, async (name, header) => {
      if (!mayHoldSecret(header)) throw this.#astray(name, `the header "${header}" is none for credentials`);
      if (!isPrivate) throw this.#astray(name, `the request to ${host} is not encrypted`);
      await this.#authority.demand({
        permission: "secrets",
        target: name,
        subject: `${name} to ${host}`,
        entry: { name, hosts: [host] },
        exactly: `${name} to ${host}`,
        call: { kind: "secrets", name, host: target },
      });
      if (/^[\t\u0020-\u007e]*$/.test(this.#valueOf(name))) return;
      throw new BulkheadError("invalid_request", `Cannot send secret "${name}" in a header: a header cannot hold it.`);
    });
  }

  /**
   * Denies a call with a placeholder anywhere but where its value may be put.
   * @throws {BulkheadError} `permission_denied`
   */
  refuseStray(operation: string, args: unknown): void {
    // Log records are for the operator, who may see a placeholder.
    if (this.#names.size === 0 || operation === "log") return;
    const name = this.#found(withoutPlaces(operation, args));
    if (name === null) return;
    throw this.#astray(name, "its placeholder may stand only in a variable of a program or a header of a request");
  }

  async #fill(
    values: Readonly<Record<string, string>>,
    check: (name: string, key: string) => Promise<unknown>,
  ): Promise<Record<string, string>> {
    if (this.#names.size === 0) return { ...values };
    const filled: [string, string][] = [];
    for (const [key, value] of Object.entries(values)) {
      for (const [placeholder] of value.matchAll(placeholderPattern)) {
        const name = this.#names.get(placeholder);
        if (name !== undefined) await check(name, key);
      }
      filled.push([
        key,
        value.replace(placeholderPattern, (found) => {
          const name = this.#names.get(found);
          return name === undefined ? found : this.#valueOf(name);
        }),
      ]);
    }
    return Object.fromEntries(filled);
  }

  #valueOf(name: string): string {
    const value = this.#options.secrets?.get(name);
    if (value !== undefined) return value;
    throw new BulkheadError("env_missing", `Cannot use secret "${name}": it has no value.`, {
      hint: secretCommand(name),
      details: { name },
    });
  }

  #astray(name: string, because: string): BulkheadError {
    return this.#authority.forbid("secrets", name, { because });
  }

  /** The secret whose placeholder stands somewhere in a value. */
  #found(value: unknown): string | null {
    // JSON escapes no character of a placeholder, so its text can be searched.
    for (const [placeholder] of (JSON.stringify(value) ?? "").matchAll(placeholderPattern)) {
      const name = this.#names.get(placeholder);
      if (name !== undefined) return name;
    }
    return null;
  }
}

/** The arguments of a call without the values that may hold placeholders. Their form has been checked. */
function withoutPlaces(operation: string, args: unknown): unknown {
  if (operation !== "run" && operation !== "fetch" && operation !== "socket_open") return args;
  const { options, ...rest } = args as { options: { env?: object; headers?: object } };
  const { env = {}, headers = {}, ...others } = options;
  return [rest, others, Object.keys(env), Object.keys(headers)];
}
