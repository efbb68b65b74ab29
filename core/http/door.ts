import { BulkheadError } from "../../plugin-sdk/errors.ts";
import type { Permissions } from "../../plugin-sdk/permissions.ts";
import type { Limits } from "../config/limits.ts";
import type { LogRecord } from "../host/host.ts";
import type { SessionHost } from "../host/session-host.ts";
import type { Signal } from "../log/prometheus-text.ts";
import type { RegistryChanges } from "../registry/registry.ts";
import type { RequestSource } from "../runtime/http-server.ts";
import { authenticate } from "./authenticate.ts";
import { checkOrigin } from "./check-origin.ts";
import type { PluginFacts } from "./plugin-facts.ts";
import { problem } from "./problem.ts";
import { createRouter } from "./router.ts";
import { secure } from "./security-headers.ts";
import type { SessionOwners } from "./session-owners.ts";
import { Meters } from "./meters.ts";
import type { TokenStore } from "./tokens.ts";

/** Limits of the door. */
export type HttpLimits = Pick<Limits, Extract<keyof Limits, `http_${string}`> | "message_depth">;

/** Whether the host takes sessions. */
export interface Readiness {
  ready: boolean;
  /** One sentence: why not. */
  reason?: string;
}

/** What a reload changed. */
export interface ReloadChanges extends RegistryChanges {
  /** Settings that changed in the file and take effect only after a restart, by their path. */
  restart_needed: string[];
}

/** What the door asks of the host besides its sessions. */
export interface HostFacts {
  plugins: PluginFacts;
  /**
   * Writes what the operator grants a plugin, in place of what was granted, and puts it into effect; null: nothing.
   * @throws {BulkheadError} `not_found`, `invalid_config`, `unsupported` where there is no host manifest
   */
  setGrants(pluginId: string, grant: Permissions | null): Promise<void>;
  /**
   * Puts the host manifest that is there now into force, and tells what changed.
   * @throws {BulkheadError} what is wrong with it; then the old one stays in force. `not_found` where there is none
   */
  reload(): Promise<ReloadChanges>;
  signals(): Signal[];
  readiness(): Readiness;
}

/** What a door is made from. */
export interface HttpDoorOptions {
  sessions: SessionHost;
  facts: HostFacts;
  tokens: TokenStore;
  owners: SessionOwners;
  /** What a request over TCP may name as its host, each with the port: the places where the server listens. */
  hosts(): readonly string[];
  limits: HttpLimits;
  writeLog?: (record: LogRecord) => void;
}

/** The HTTP API, for whatever server takes its requests. */
export interface HttpDoor {
  /** Answers a request; never rejects. */
  fetch(request: Request, from: RequestSource): Promise<Response>;
  /** Ends all streams; requests are refused from now on. */
  close(): void;
}

/** Makes the HTTP API of a host. */
export function createHttpDoor(options: HttpDoorOptions): HttpDoor {
  const { limits, tokens, writeLog = () => {} } = options;
  const closing = new AbortController();
  const meters = new Meters(limits);
  const router = createRouter({ ...options, writeLog, meters, closing: closing.signal });

  return {
    fetch: async (request, from) => {
      try {
        return secure(await answer(request, from));
      } catch (error) {
        return secure(problem(error, { writeLog, method: request.method, path: new URL(request.url).pathname }));
      }
    },
    close: () => closing.abort(closed()),
  };

  async function answer(request: Request, from: RequestSource): Promise<Response> {
    checkOrigin(request, from, options.hosts());
    if (closing.signal.aborted) throw closed();
    const open = router.openTo(request);
    if (open) return await router.fetch(request, null);
    const caller = await authenticate(request, { from, tokens, meters });
    meters.count(caller);
    return await router.fetch(request, caller);
  }
}

function closed(): BulkheadError {
  return new BulkheadError("host_closed", "Cannot serve the request: the host is shutting down.", {
    hint: "Try again when it is up.",
  });
}
