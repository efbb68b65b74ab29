/** Address of a remote agent. */
export interface RemoteAgent {
  /** `http:`, `https:`, `ws:` or `wss:`. */
  url: string;
  /** Name of the secret that it wants as a bearer token. */
  secret: string | undefined;
}

/** Host and port of the agent, for people. */
export function hostOf({ url }: RemoteAgent): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
