import type { HostManifest } from "../../ground/config/host-manifest.ts";
import { baitServer, breach } from "./attack-case.ts";

/** The host manifest of a host that attacks run against. */
export const attackManifest: HostManifest = {
  bulkhead: 1,
  plugins: {},
  tools: {},
  routing: { agent: "auto" },
  limits: {},
  mcp_servers: {
    [baitServer]: { url: "http://127.0.0.1:9/mcp", headers: { Authorization: `Bearer ${breach}` } },
  },
};
