/** Options of a relay, as JSON in the variable {@link relayVariable}. */
export interface RelayOptions {
  /** Path of the proxy's unix socket, inside the walls. */
  socket: string;
  token: string;
  /** Port of the proxy on the agent's own loopback. */
  proxy_port: number;
  /** Ports of the machine's loopback that the agent may reach. */
  local_ports: number[];
}

/** Variable of the relay's environment that holds its options. */
export const relayVariable = "BULKHEAD_RELAY";
