import { type AccessMode, type AgentConfig, numberOf, textOf } from "bulkhead/plugin-sdk";

/** Prices of 1,000 tokens. */
export interface Prices {
  input: number;
  output: number;
  /** Of input from the server's cache; null when unknown. */
  cached: number | null;
  currency: string | null;
}

/** The server that answers, and what is known of it. */
export interface Access {
  type: "api" | "local";
  /** Base URL without a slash at its end. */
  endpoint: string;
  model: string;
  /** Name of the secret that goes into the authorization header. */
  secret: string | null;
  maxTokens: number | null;
  /** Prices of 1,000 tokens; null when unknown. A local model is free. */
  prices: Prices | null;
}

type ServerMode = Exclude<AccessMode, { type: "subscription" }>;

/** The server to ask: the first access mode that the operator's options leave, with what they say in its place. */
export function chooseAccess({ access_modes, custom = {} }: AgentConfig): Access | null {
  const wanted = textOf(custom["mode"]) ?? "auto";
  const mode = access_modes.find((one): one is ServerMode =>
    one.enabled && one.type !== "subscription" && (wanted === "auto" || one.type === wanted)
  );
  if (!mode) return null;
  const maxTokens = numberOf(custom["max_tokens"]);
  if (mode.type === "local") {
    return {
      type: "local",
      endpoint: baseUrl(textOf(custom["local_endpoint"]) ?? mode.endpoint),
      model: textOf(custom["local_model"]) ?? mode.model,
      secret: null,
      maxTokens,
      prices: { input: 0, output: 0, cached: 0, currency: null },
    };
  }
  const input = numberOf(custom["input_per_1k_tokens"]);
  const output = numberOf(custom["output_per_1k_tokens"]);
  return {
    type: "api",
    endpoint: baseUrl(mode.endpoint ?? ""),
    model: textOf(custom["model"]) ?? mode.model,
    secret: mode.api_key_env_var ?? null,
    maxTokens,
    prices: input === null || output === null ? null : {
      input,
      output,
      cached: numberOf(custom["cached_per_1k_tokens"]),
      currency: textOf(custom["currency"]) ?? mode.pricing.currency,
    },
  };
}

/**
 * Returns the API's model that the operator named, where a local server with another one would take its place; null
 * where it would not.
 */
export function replacedModel({ custom = {} }: AgentConfig, access: Access): string | null {
  const isOwn = textOf(custom["mode"]) === "local" || textOf(custom["local_model"]) !== undefined;
  return access.type === "local" && !isOwn ? textOf(custom["model"]) ?? null : null;
}

function baseUrl(endpoint: string): string {
  return endpoint.replace(/\/+$/, "");
}
