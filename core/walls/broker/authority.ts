import type { CapabilityEvent } from "../../../plugin-sdk/envelope.ts";
import { BulkheadError } from "../../../plugin-sdk/errors.ts";
import type { PermissionUses } from "../../../plugin-sdk/result.ts";
import type { PermissionCall, Rights } from "../../packages/permissions/decide.ts";
import { cleanLine } from "../../ground/log/terminal-text.ts";
import { grantCommand } from "../../ground/config/grant-command.ts";
import { Turns } from "../../ground/platform/engine/turns.ts";
import { countHost } from "./add-uses.ts";
import { manifestEntry } from "./manifest-entry.ts";
import type { AskGrant, MissingGrant, SessionBrokerOptions } from "./session-broker.ts";

/** A use of authority that needs a grant. */
export interface Demand {
  permission: MissingGrant["permission"];
  /** Target of the missing grant, in the words of a grant. */
  target: string;
  /** Subject of the action, for the journal; default: the target. */
  subject?: string;
  /** Exact scope of a person's approval when no ceiling bounds it; default: the target. */
  exactly?: string;
  /** Entry of a manifest's permissions that asks for exactly this; default: the target. */
  entry?: unknown;
  /** One sentence: the reason for the denial, unless a grant is merely missing. */
  because?: string;
  /** The session's permissions never suffice: a person must approve, where one can be asked. */
  mustBeAsked?: boolean;
  /** The operator alone decides, and the manifest does not bound it. */
  unbounded?: boolean;
  /** No person is asked, and no answer that one gave before counts. */
  isUnasked?: boolean;
  /** The operator denies it, maybe in answer to the question about it: no grant lifts that. */
  isDenied?(): boolean;
  /** A program can do without it: a denial is told quietly. */
  isHousekeeping?: boolean;
  /** Reports a denial alone: the caller calls `allowed` once it knows the rest. */
  isReportedLater?: boolean;
  /** For a denial: what to do, where a grant is not all that it takes. Sentences. */
  reason?: string;
  /** Facts for the error's details. */
  details?: Record<string, string>;
  /** The call that the session's lists decide; absent: they do not allow it. */
  call?: PermissionCall;
  /** Answer of the operator's own list, where that alone decides. */
  isGranted?: boolean;
}

const outOfReach =
  "it is not granted, and granting it would not help: plugin.yaml does not ask for it, or the request or a denial " +
  "takes it away";
const unasked = "plugin.yaml does not ask for it";

const verbs: { readonly [P in Demand["permission"]]: string } = {
  run: "run",
  read: "read",
  write: "write",
  net: "connect to",
  env: "read the variable",
  secrets: "use the secret",
  mcp_servers: "hand MCP servers to",
  kv: "use",
};

/** Says what a plugin is not allowed to do: for a reason, or only not yet, since a grant is enough. */
function refusal(
  { pluginId, permission, subject }: { pluginId: string; permission: Demand["permission"]; subject: string },
  because: string | null,
): string {
  const what = `Plugin "${pluginId}" is not allowed to ${verbs[permission]} "${subject}"`;
  return because === null ? `${what} yet.` : `${what}: ${because}.`;
}
const maxEvents = 10_000;
const maxDenialsOfOneKind = 10;
const maxShownLength = 1024;
/** Hosts of programs that a person is asked about in one session, and at once: the other programs wait. */
const maxHostsAsked = 32;
const hostsAskedAtOnce = 3;
/** Hosts whose denial to a program is listed, each once: a program tries again and again. */
const maxListedHosts = 32;

type Decision = ReturnType<Rights["decide"]>;

/** Decides each action of a session when it happens, and reports it to the journal. */
export class Authority {
  /** Counts of this session's uses and denials. */
  readonly uses: PermissionUses = { allowed: 0, denied: 0, by: {} };
  #options: SessionBrokerOptions;
  #over: AbortSignal;
  #answers = new Map<string, Promise<boolean>>();
  #questions = new Turns(hostsAskedAtOnce);
  #hostsAsked = 0;
  #open = 0;
  #answeredAt = -Infinity;
  #reported = new Map<string, number>();
  #told = new WeakSet<BulkheadError>();
  #events = 0;
  #hostsListed = 0;

  /** @param over withdraws every open question */
  constructor(options: SessionBrokerOptions, over: AbortSignal) {
    this.#options = options;
    this.#over = over;
  }

  /** Whether a person was being asked at any moment of the last so many milliseconds. */
  askedWithin(ms: number): boolean {
    return this.#open > 0 || Date.now() - this.#answeredAt < ms;
  }

  /**
   * Resolves with the decision that allows the demand; asks a person for a missing grant where possible.
   * @throws {BulkheadError} `permission_denied`, with the command that would grant it as its hint
   */
  async demand(demand: Demand): Promise<Decision> {
    const { rights: { reach }, askHost } = this.#options;
    const asker = this.#options.askGrant ?? (demand.unbounded === true ? askHost : undefined);
    const askGrant = demand.isUnasked === true ? undefined : asker;
    const decided = this.#decide(demand);
    if (demand.mustBeAsked !== true && decided.allowed) {
      if (demand.isReportedLater !== true) this.allowed(demand);
      return decided;
    }
    const most = reach !== undefined && demand.call !== undefined ? reach(demand.call) : decided;
    const reachable = reach === undefined || demand.unbounded === true || most.allowed;
    if (askGrant !== undefined && reachable && await this.#ask(demand, askGrant)) {
      if (demand.isReportedLater !== true) this.allowed(demand);
      return most;
    }
    throw this.deny(demand);
  }

  /** True when this was granted, or allowed by a person in this session. Reports nothing and asks no one. */
  async holds(demand: Demand): Promise<boolean> {
    if (this.#decide(demand).allowed) return true;
    return demand.isUnasked !== true && await this.#answers.get(this.#key(demand)) === true;
  }

  #decide({ isGranted, call }: Demand): Decision {
    if (isGranted !== undefined) return isGranted ? { allowed: true } : { allowed: false, against: "grant" };
    return call === undefined ? { allowed: false, against: "grant" } : this.#options.rights.decide(call);
  }

  /** Reports a use that a demand allowed. */
  allowed({ permission, target, subject = target }: Demand): void {
    this.#report(permission, subject, { decision: "allowed" });
  }

  /** Reports a denial and returns the error to throw. */
  deny(demand: Demand): BulkheadError {
    const { pluginId } = this.#options;
    const { permission, target } = demand;
    const subject = demand.subject ?? target;
    const grant_command = grantCommand(pluginId, permission, { target });
    const place = this.#placeOf(permission);
    const outside = demand.isDenied?.() === true || this.#isOutside(demand);
    const entry = outside && !this.#options.narrowed?.has(permission) ? manifestEntry(demand) : null;
    const beyond = {
      ...(outside ? { grantable: false as const } : {}),
      ...(entry === null ? {} : { manifest_entry: entry }),
    };
    const told = demand.reason === undefined ? {} : { reason: demand.reason };
    const quiet = demand.isHousekeeping === true ? { needed: false as const } : {};
    const denied = { decision: "denied" as const, grant_command, ...beyond, ...quiet, ...place, ...told };
    this.#report(permission, subject, { ...denied, ofProgram: demand.unbounded });
    const because = demand.because ?? (entry !== null ? unasked : outside ? outOfReach : null);
    const refused = refusal({ pluginId, permission, subject: cleanLine(subject, maxShownLength) }, because);
    const message = [refused, demand.reason].filter(Boolean).join(" ");
    return this.#tell(
      new BulkheadError("permission_denied", message, {
        hint: entry !== null
          ? `Add to plugin.yaml: ${entry}`
          : outside
          ? `See: bulkhead plugin explain ${pluginId}`
          : grant_command,
        details: {
          permission,
          target: cleanLine(target, maxShownLength),
          grant_command,
          ...beyond,
          ...place,
          ...demand.details,
        },
      }),
    );
  }

  /**
   * Reports a denial that no grant lifts and returns the error to throw; `grantable` is for one that a grant written by
   * hand would lift, `at` for one that belongs to another permission.
   */
  forbid(
    permission: Demand["permission"],
    subject: string,
    { because, reason, grantable = false, at = permission }: {
      because: string;
      reason?: string;
      grantable?: boolean;
      at?: Demand["permission"];
    },
  ): BulkheadError {
    const place = grantable ? this.#placeOf(at) : {};
    this.#report(permission, subject, { decision: "denied", ...place, ...(reason === undefined ? {} : { reason }) });
    const { pluginId } = this.#options;
    const shown = cleanLine(subject, maxShownLength);
    return this.#tell(
      new BulkheadError(
        "permission_denied",
        [refusal({ pluginId, permission, subject: shown }, because), reason].filter(Boolean).join(" "),
        { details: { permission, target: shown, ...place, ...(grantable ? {} : { grantable }) } },
      ),
    );
  }

  /** Reports a denial made elsewhere, from the error's details; returns the same error, also when it is no denial. */
  noted(error: BulkheadError): BulkheadError {
    const { permission, target } = error.details ?? {};
    if (error.code !== "permission_denied" || this.#told.has(error) || typeof target !== "string") return error;
    if (isPermission(permission)) this.#report(permission, target, { decision: "denied" });
    return error;
  }

  /** Whether no grant of the operator could allow it. */
  #isOutside(demand: Demand): boolean {
    const { reach } = this.#options.rights;
    const { call, unbounded, because } = demand;
    if (reach === undefined || unbounded === true || because !== undefined) return false;
    return call === undefined || !reach(call).allowed;
  }

  /** File and line of the host manifest where a grant would go. */
  #placeOf(permission: Demand["permission"]): { grant_file?: string; grant_line?: number } {
    const place = this.#options.grantPlace?.(permission) ?? null;
    return place === null ? {} : { grant_file: place.file, grant_line: place.line };
  }

  #tell(error: BulkheadError): BulkheadError {
    this.#told.add(error);
    return error;
  }

  /** Asks once for each thing and keeps the answer for the session, so that no person is asked until they give in. */
  #ask(demand: Demand, askGrant: AskGrant): Promise<boolean> {
    const key = this.#key(demand);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const { pluginId } = this.#options;
    const ofProgram = demand.unbounded === true;
    if (ofProgram && ++this.#hostsAsked > maxHostsAsked) return Promise.resolve(false);
    this.#open += 1;
    const ask = () =>
      askGrant({
        plugin_id: pluginId,
        permission: demand.permission,
        target: cleanLine(demand.target, maxShownLength),
        grant_command: grantCommand(pluginId, demand.permission, { target: demand.target }),
      }, this.#over);
    const answer = (ofProgram ? this.#questions.take("hosts", ask) : ask()).then((yes) => yes === true, () => false)
      .finally(() => {
        this.#open -= 1;
        this.#answeredAt = Date.now();
      });
    this.#answers.set(key, answer);
    return answer;
  }

  #key(demand: Demand): string {
    const exactly = this.#options.rights.reach === undefined ? demand.exactly ?? demand.target : demand.target;
    return `${demand.permission} ${exactly}`;
  }

  /** A repeated use is not reported; a flood of different ones ends with an event that says so. */
  #report(
    permission: Demand["permission"],
    subject: string,
    { ofProgram = false, ...decided }:
      & Pick<
        CapabilityEvent,
        | "decision"
        | "grant_command"
        | "grantable"
        | "needed"
        | "manifest_entry"
        | "grant_file"
        | "grant_line"
        | "reason"
      >
      & { ofProgram?: boolean | undefined },
  ): void {
    const uses = this.uses.by[permission] ??= { allowed: 0, denied: 0 };
    uses[decided.decision] += 1;
    this.uses[decided.decision] += 1;
    if (permission === "write" && decided.decision === "allowed") this.#options.onWrite?.(subject);
    const target = cleanLine(subject, maxShownLength);
    const isQuiet = decided.needed === false;
    if (permission === "net") countHost(this.uses, target, { [isQuiet ? "not_needed" : decided.decision]: 1 });
    const loudly = `${decided.decision} ${permission} ${target}`;
    // Who knows of the denial learns nothing from a quiet one.
    if (isQuiet && this.#reported.has(loudly)) return;
    const key = isQuiet ? `${loudly} quietly` : loudly;
    const times = (this.#reported.get(key) ?? 0) + 1;
    const most = decided.decision === "allowed" || ofProgram ? 1 : maxDenialsOfOneKind;
    if (times > most || this.#events > maxEvents) return;
    if (ofProgram && this.#hostsListed++ >= maxListedHosts) {
      if (this.#hostsListed > maxListedHosts + 1) return;
      const rest = { permission, target: "(more hosts that are not listed)", decision: decided.decision };
      return this.#options.emit({ type: "capability", ...rest });
    }
    this.#reported.set(key, times);
    this.#events += 1;
    if (this.#events <= maxEvents) this.#options.emit({ type: "capability", permission, target, ...decided });
    else {
      const last = "(more uses follow that are not listed)";
      this.#options.emit({ type: "capability", permission, target: last, decision: decided.decision });
    }
  }
}

const permissionNames: ReadonlySet<unknown> = new Set<Demand["permission"]>([
  "run",
  "read",
  "write",
  "net",
  "env",
  "secrets",
  "mcp_servers",
  "kv",
]);

function isPermission(value: unknown): value is Demand["permission"] {
  return permissionNames.has(value);
}
