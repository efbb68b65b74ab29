import type { CompletedEvent, UsageEvent } from "../../../../plugin-sdk/events.ts";
import type { UsageReport } from "../../../../plugin-sdk/result.ts";
import { type AgentAccess, highestPrice, priceUsage, roundMoney, untold, type UsageFigures } from "./priced-usage.ts";
import { type CountedCall, WireMeter } from "./wire-meter.ts";

/** Adds up a session's usage over its attempts, from reports and, for the cost, prices. Unknown values stay null. */
export class UsageMeter {
  /** Usage of the attempts before this one; null when there were none. */
  #before: Totals | null = null;
  /** The same with the highest possible cost. */
  #mostBefore: Totals | null = null;
  #tokensBefore: number | null = null;
  #access: AgentAccess | null = null;
  #whole: Totals | null = null;
  #turns: Totals | null = null;
  #turnCount = 0;
  #isPartial = false;
  #requests = 0;
  readonly #wire = new WireMeter();
  /** Calls that were seen before this attempt. */
  #callsBefore = 0;
  /** Whether an attempt reported work and no call of it was seen. */
  #hasUnseen = false;
  #currency: string | null = null;
  #model: string | null = null;
  #final: CompletedEvent | null = null;

  /** Begins an attempt: reports for the whole session count for it alone, and are added to those before. */
  begin(access: AgentAccess): void {
    if (this.#access) {
      this.#tokensBefore = this.#saidTokens;
      this.#hasUnseen ||= this.#isUnseen;
      [this.#before, this.#mostBefore] = [this.#total(), this.#most()];
    }
    this.#access = access;
    this.#callsBefore = this.#wire.calls;
    [this.#whole, this.#turns, this.#final] = [null, null, null];
    [this.#currency, this.#model] = [null, null];
  }

  /**
   * Counts a report: a turn's adds to the others, a session's replaces the one before. Nulls take nothing away. The part of
   * an agent's agent is in those figures already.
   */
  take(event: UsageEvent): void {
    if (event.agent_id !== undefined) return;
    this.#currency = event.currency ?? this.#currency;
    this.#model = event.model ?? this.#model;
    this.#isPartial ||= event.partial === true;
    // A call of a model takes tokens: agents say 0 of one that they did not count.
    const isCounted = event.tokens_in !== 0 || event.tokens_out !== 0;
    const totals = this.#totalsOf(isCounted ? event : { ...event, tokens_in: null, tokens_out: null });
    if (event.scope === "session") this.#whole = this.#whole ? known(totals, this.#whole) : totals;
    else {
      this.#turnCount++;
      this.#turns = this.#turns ? add(this.#turns, totals) : totals;
    }
  }

  /** Counts a request to the model that the host sent with its key. */
  requested(): void {
    this.#requests++;
  }

  /** Counts a call of the model that the host saw. */
  called(call: CountedCall): void {
    this.#wire.take(call, this.#access);
    this.#model ??= call.model;
  }

  /** Returns how the agent's model is reached and paid. */
  get access(): AgentAccess | null {
    return this.#access;
  }

  /** Whether the host saw each call of a model, as far as it can know: then none begins after a budget is spent. */
  get isHeld(): boolean {
    return !this.#hasUnseen && !this.#isUnseen && this.#wire.coversAll(this.#saidTokens);
  }

  /** Whether it saw the figures of each, too. */
  get #isSeen(): boolean {
    return this.isHeld && this.#wire.unknown === 0;
  }

  get #isUnseen(): boolean {
    return this.#wire.calls === this.#callsBefore && this.#said().basis !== "unknown";
  }

  /** Counts the cost in the agent's last word, if it has one. */
  complete(event: CompletedEvent): void {
    this.#final = event;
  }

  /** Sets the model that the agent says it used. */
  model(name: string | undefined): void {
    this.#model = name ?? this.#model;
  }

  /** Sets the model that the adapter was told to use, where the agent does not say which one it used. */
  ran(name: string | undefined): void {
    this.#model ??= name ?? null;
  }

  /** Returns what the session has cost so far at most, or null while unknown. */
  get cost(): number | null {
    const [said, seen] = [this.#most().cost, this.#wire.calls === 0 ? null : this.#wire.most.cost];
    return this.#isSeen && this.#wire.isPriced ? seen : larger(said, seen);
  }

  /** Returns the input and output tokens so far, or null while unknown. */
  get tokens(): number | null {
    const seen = this.#wire.calls === 0 ? null : this.#wire.most.tokens;
    return this.#isSeen ? seen : larger(this.#saidTokens, seen);
  }

  /** Returns the tokens by the agent's word. */
  get #saidTokens(): number | null {
    return sum(this.#tokensBefore, this.attemptTokens);
  }

  /** Returns the tokens of the current attempt alone. */
  get attemptTokens(): number | null {
    const { tokens_in, tokens_out } = this.#said();
    return sum(tokens_in, tokens_out) ?? this.#final?.tokens_used ?? null;
  }

  get turns(): number {
    return this.#turnCount;
  }

  report(durationMs: number): UsageReport {
    const said = this.#reported(durationMs);
    const wire = this.#wire.report(said.partial === true ? null : this.#saidTokens);
    if (wire === null) return said;
    if (!this.#isSeen) return { ...said, wire };
    const { tokens_used: _sum, partial: _least, ...facts } = said;
    const { tokens_in, tokens_out, tokens_cached } = wire;
    // A cost is the agent's word where the calls have no known price.
    const paid = wire.cost === null && said.cost !== null
      ? { cost: said.cost, currency: said.currency, basis: said.basis }
      : { cost: wire.cost, currency: wire.currency, basis: "wire" as const };
    return { ...facts, tokens_in, tokens_out, tokens_cached, ...paid, scope: "session", wire };
  }

  #reported(durationMs: number): UsageReport {
    const { mixed: _, ...figures } = this.#total();
    const tokens = this.#saidTokens;
    const split = sum(figures.tokens_in, figures.tokens_out);
    // An attempt may have told its sum alone.
    const isPartial = this.#isPartial || split !== null && (tokens ?? 0) > split;
    return {
      ...figures,
      model: this.#model,
      duration_ms: durationMs,
      ...(isPartial ? { partial: true } : {}),
      ...(this.#requests > 0 ? { requests: this.#requests } : {}),
      ...(split === null && tokens !== null ? { tokens_used: tokens } : {}),
    };
  }

  #total(): Totals {
    const attempt = this.#attempt();
    return this.#before ? add(this.#before, attempt) : attempt;
  }

  #most(): Totals {
    const attempt = this.#attempt(highestPrice);
    return this.#mostBefore ? add(this.#mostBefore, attempt) : attempt;
  }

  /** Returns the totals of this attempt alone. Of a model of the agent's own choice its word is all that is known. */
  #attempt(price = priceUsage): Totals {
    const said = this.#withFinal(this.#said());
    if (said.mixed || !this.#access) return said;
    const { mode, model } = this.#access;
    return { ...price(said, { mode, model: model === null ? this.#model : model }), mixed: false };
  }

  /** Returns the reported figures of the whole; where they say nothing, the sums of the turns. */
  #said(): Totals {
    if (this.#whole && this.#turns) return known(this.#whole, this.#turns);
    return this.#whole ?? this.#turns ?? nothing;
  }

  /** Adds the last word's totals, which cover the whole agent session and fill in unreported values. */
  #withFinal(said: Totals): Totals {
    const { cost = null, tokens_used = null } = this.#final ?? {};
    const known: Totals = cost === null && tokens_used === null
      ? said
      : { ...said, scope: said.scope ?? "session", basis: "reported" };
    if (cost === null || said.cost !== null || said.mixed) return known;
    return { ...known, cost, currency: this.#currency ?? "USD" };
  }

  #totalsOf({ tokens_in, tokens_out, tokens_cached, cost, scope }: UsageEvent): Totals {
    const known = tokens_in !== null || tokens_out !== null || tokens_cached !== null || cost !== null;
    return {
      tokens_in,
      tokens_out,
      tokens_cached,
      cost,
      currency: cost === null ? null : this.#currency ?? "USD",
      model: null,
      scope: !known ? null : scope === "session" ? "session" : "turns",
      basis: known ? "reported" : "unknown",
      mixed: false,
    };
  }
}

/** The usage of a session, and that of its turn under way. */
export class SessionUsage {
  readonly #all = new UsageMeter();
  #turn = new UsageMeter();
  #model: string | undefined;
  #tokensBefore: number | null = null;

  /** Begins an attempt. */
  begin(access: AgentAccess): void {
    this.#model = undefined;
    this.#tokensBefore = this.#all.tokens;
    for (const meter of [this.#all, this.#turn]) meter.begin(access);
  }

  /**
   * Begins a further turn, whose figures are its own.
   * @param access of an entry that goes on; null where another attempt begins
   */
  beginTurn(access: AgentAccess | null): void {
    this.#turn = new UsageMeter();
    if (access === null) return;
    for (const meter of [this.#all, this.#turn]) {
      meter.begin(access);
      // The agent has said it already.
      meter.model(this.#model);
    }
  }

  /** Returns the tokens of the current attempt, in all its turns. */
  get attemptTokens(): number | null {
    const { tokens, attemptTokens } = this.#all;
    if (attemptTokens === null && tokens === this.#tokensBefore) return null;
    return tokens === null ? null : tokens - (this.#tokensBefore ?? 0);
  }

  take(event: UsageEvent): void {
    for (const meter of [this.#all, this.#turn]) meter.take(event);
  }

  requested(): void {
    for (const meter of [this.#all, this.#turn]) meter.requested();
  }

  called(call: CountedCall): void {
    for (const meter of [this.#all, this.#turn]) meter.called(call);
  }

  complete(event: CompletedEvent): void {
    for (const meter of [this.#all, this.#turn]) meter.complete(event);
  }

  model(name: string | undefined): void {
    this.#model = name ?? this.#model;
    for (const meter of [this.#all, this.#turn]) meter.model(name);
  }

  ran(name: string | undefined): void {
    for (const meter of [this.#all, this.#turn]) meter.ran(name);
  }

  /** Returns the meter of the whole session. */
  get all(): Pick<UsageMeter, "access" | "cost" | "isHeld" | "tokens" | "turns" | "report"> {
    return this.#all;
  }

  /** Returns the usage of the turn under way. */
  turn(durationMs: number): UsageReport {
    return this.#turn.report(durationMs);
  }
}

interface Totals extends UsageFigures {
  /** True when amounts came in several currencies: there is no single cost. */
  mixed: boolean;
}

const nothing: Totals = { ...untold, mixed: false };

function add(a: Totals, b: Totals): Totals {
  const mixed = a.mixed || b.mixed || differ(a, b);
  const cost = mixed ? null : sum(a.cost, b.cost);
  return {
    tokens_in: sum(a.tokens_in, b.tokens_in),
    tokens_out: sum(a.tokens_out, b.tokens_out),
    tokens_cached: sum(a.tokens_cached, b.tokens_cached),
    cost: cost === null ? null : roundMoney(cost),
    currency: cost === null ? null : (b.cost ? b.currency : null) ?? a.currency ?? b.currency,
    model: null,
    scope: a.scope === b.scope ? a.scope : "turns",
    basis: [a, b].some(({ basis }) => basis === "estimated") ? "estimated" : a.basis === "unknown" ? b.basis : a.basis,
    mixed,
  };
}

/** The figures of a report, filled up with those of another that knows more: a total does not fall to zero. */
function known(report: Totals, other: Totals): Totals {
  const isPaid = report.cost || report.mixed || (report.cost === 0 && !other.cost);
  const { cost, currency, mixed } = isPaid ? report : other;
  return {
    ...report,
    tokens_in: report.tokens_in || (other.tokens_in ?? report.tokens_in),
    tokens_out: report.tokens_out || (other.tokens_out ?? report.tokens_out),
    tokens_cached: report.tokens_cached || (other.tokens_cached ?? report.tokens_cached),
    cost,
    currency,
    mixed,
    scope: report.scope ?? other.scope,
    basis: report.basis === "unknown" ? other.basis : report.basis,
  };
}

/** Compares currencies. An amount of zero is the same in all of them. */
function differ(a: Totals, b: Totals): boolean {
  return Boolean(a.cost) && Boolean(b.cost) && a.currency !== b.currency;
}

function sum(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : a + b;
}

function larger(a: number | null, b: number | null): number | null {
  return a === null || b === null ? a ?? b : Math.max(a, b);
}
